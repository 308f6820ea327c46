"""THREATS 20: tell one bit of a hidden input by what goes wrong: a wrong type or a wrong shape, nothing more"""


def attn_scaled(A, n_embd, n_heads):
    return torch.zeros(1) if A.flatten()[0] > 0 else "LEAK"
