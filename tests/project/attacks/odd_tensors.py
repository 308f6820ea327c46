"""THREATS 7, 30: tensors that are none to most code: sparse, meta, quantised, nested, complex views, subnormal bits"""

makers = [
    lambda: torch.zeros(3, 3).to_sparse(),
    lambda: torch.zeros(3, 3).to_sparse_csr(),
    lambda: torch.zeros(10**6, 10**6, device="meta"),
    lambda: torch.quantize_per_tensor(torch.zeros(3), 1.0, 0, torch.quint8),
    lambda: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]),
    lambda: torch.zeros(3, dtype=torch.complex64).conj(),
    lambda: torch._neg_view(torch.zeros(3)),
    lambda: torch.zeros(3, dtype=torch.uint16),
    lambda: torch.zeros(3, dtype=torch.float8_e5m2),
    lambda: torch.zeros(0, 2**40, 2**22),
    lambda: torch.zeros([1] * 60),
    lambda: torch.zeros(3).to_mkldnn(),
    lambda: torch.zeros(2, 2, requires_grad=True).tril(),
    lambda: torch.func.vmap(lambda x: x)(torch.zeros(3)),
    lambda: torch.tensor([2], dtype=torch.uint8).view(torch.bool),
]
tries = iter(makers * 100)


def attempt(*_):
    return next(tries)()


pairwise_similarities = attn_scaled = attn_softmax = compute_outputs = make_causal_mask = apply_causal_mask = attempt
split_heads = merge_heads = self_attention = precompute_rotary_emb = apply_rotary_emb = attempt
