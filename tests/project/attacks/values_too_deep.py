"""THREATS 30: lists a hundred thousand deep, in themselves, and a dict that multiplies

Reached: attn_softmax: your code raised RecursionError
"""


def attn_scaled(A, n_embd, n_heads):
    result = []
    for _ in range(100_000):
        result = [result]
    return result


def attn_softmax(A):
    result = []
    result.append(result)
    return result


def compute_outputs(A, V):
    result = {"LEAK": 0}
    for _ in range(60):
        result = {"a": result, "b": result}
    return result
