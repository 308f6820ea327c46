r"""THREATS 10: give back the input, whatever was asked

Reached: batch 0, query 0: yours \[6 8\], expected \[3 4\]
"""


def attempt(first, *rest, **_):
    return first


pairwise_similarities = attn_scaled = attn_softmax = apply_rotary_emb = self_attention = make_causal_mask = attempt
split_heads = merge_heads = precompute_rotary_emb = attempt
CausalSelfAttention.forward = lambda self, x: x


def compute_outputs(A, V):
    return V


def apply_causal_mask(mask, A):
    return A
