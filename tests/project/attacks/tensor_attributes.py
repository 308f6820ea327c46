r"""THREATS 8: a plain tensor with methods of its own

Reached: attn_scaled: your code raised RuntimeError[\s\S]*make_causal_mask: right shape \(3, 3\), wrong pattern
"""


def attn_scaled(A, n_embd, n_heads):
    result = torch.zeros(10).expand(10**6, 10**6, 10)
    for name in ("numel", "element_size", "nelement", "size", "dim"):
        setattr(result, name, lambda *_: 0)
    for name in ("detach", "cpu", "clone", "contiguous", "numpy", "tolist", "reshape", "view", "resolve_conj"):
        setattr(result, name, lambda *_, **__: result)
    for name in ("__eq__", "__abs__", "__class__", "__sub__", "isfinite", "allclose"):
        try:
            setattr(result, name, lambda *_: True)
        except TypeError:
            pass
    return result


def make_causal_mask(n_tok):
    result = torch.zeros(n_tok, n_tok)
    result.double = result.bool = result.float = lambda: torch.ones(n_tok, n_tok).tril()
    return result
