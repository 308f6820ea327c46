r"""THREATS 20: tell one bit of a hidden input by what goes wrong: a wrong type or a wrong shape, nothing more

Reached: attn_scaled: shape \(1,\), expected \(1, 2, 2\)
"""


def attn_scaled(A, n_embd, n_heads):
    return torch.zeros(1) if A.flatten()[0] > 0 else "LEAK"
