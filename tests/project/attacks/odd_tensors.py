"""THREATS 7, 30: tensors that are none to most code: sparse, meta, quantised, conjugate, negative, of many axes

Reached: pairwise_similarities: returned sparse, quantised or meta tensor
"""

makers = [
    lambda: torch.zeros(3, 3).to_sparse(),
    lambda: torch.zeros(10**6, 10**6, device="meta"),
    lambda: torch.quantize_per_tensor(torch.zeros(3), 1.0, 0, torch.quint8),
    lambda: torch.zeros(3, dtype=torch.complex64).conj(),
    lambda: torch._neg_view(torch.zeros(3)),
    lambda: torch.zeros(3, dtype=torch.uint16),
    lambda: torch.zeros(3, dtype=torch.float8_e5m2),
    lambda: torch.zeros(0, 2**40, 2**22),
    lambda: torch.zeros([1] * 60),
    lambda: torch.tensor([2], dtype=torch.uint8).view(torch.bool),
]
tries = iter(makers * 100)


def attempt(*_):
    return next(tries)()


pairwise_similarities = attn_scaled = attn_softmax = merge_heads = self_attention = attempt
