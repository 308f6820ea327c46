r"""THREATS 18: name the type of the result after a hidden input, also as a key, a dtype and a shape

Reached: attn_scaled: returned LEAK\.LEAK \[6\.0
"""


def attn_scaled(A, n_embd, n_heads):
    return type(f"LEAK {A.flatten()[:9].tolist()}", (), {"__module__": "LEAK"})()


def merge_heads(y):
    return {f"LEAK {y.flatten()[0]}": 1}


def split_heads(x, n_heads):
    return torch.zeros(int(x.double().abs().sum() * 1000) % 99_999)
