"""THREATS 9: 0-d and 1-d results, where checks index two axes

Reached: apply_rotary_emb: (shape|two calls)
"""

results = iter([torch.tensor(0.0), torch.zeros(1), torch.zeros(0), torch.tensor(True), torch.tensor(1j)] * 1000)


def attempt(*_, **__):
    return next(results)


pairwise_similarities = attn_scaled = attn_softmax = compute_outputs = make_causal_mask = apply_causal_mask = attempt
split_heads = merge_heads = self_attention = precompute_rotary_emb = apply_rotary_emb = attempt
CausalSelfAttention.forward = attempt
