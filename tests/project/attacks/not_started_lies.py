"""THREATS 15, 18: claim from deep inside that nothing was started, with a hidden input as the reason

Reached: attn_scaled: LEAK tensor
"""


def attn_scaled(A, n_embd, n_heads):
    raise NotImplementedError(f"LEAK {A}")


def merge_heads(y):
    raise type("NotImplementedError", (Exception,), {})(f"LEAK {y}")
