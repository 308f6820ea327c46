r"""THREATS 6: return an object that claims to equal everything and to be any array

Reached: attn_scaled: returned attention\.LEAK
"""


class LEAK:
    shape, dtype, ndim, is_sparse, requires_grad = (), torch.float32, 0, False, False
    __eq__ = __ne__ = __lt__ = __le__ = __bool__ = __contains__ = lambda *_: True
    __abs__ = __sub__ = __rsub__ = __add__ = __getitem__ = __call__ = lambda self, *_, **__: self
    __array__ = lambda self, *_, **__: __import__("numpy").zeros(1)
    __float__ = lambda self: 0.0
    __len__ = __int__ = __index__ = lambda self: 0
    __hash__ = lambda self: 0
    __iter__ = lambda self: iter(())
    __getattr__ = lambda self, name: self
    __class__ = property(lambda self: Tensor)


def attempt(*_, **__):
    return LEAK()


pairwise_similarities = attn_scaled = attn_softmax = compute_outputs = make_causal_mask = apply_causal_mask = attempt
split_heads = merge_heads = self_attention = precompute_rotary_emb = apply_rotary_emb = attempt
