r"""THREATS 47: every reply is as large as a reply may be, so that a grader that keeps them runs out of memory

Reached: returned more than \d+ MB in one exercise
"""

import torch

LARGE = torch.zeros(8 << 20)  # 32 MiB


def attn_scaled(*_, **__):
    return LARGE


pairwise_similarities = attn_softmax = compute_outputs = apply_causal_mask = attn_scaled
split_heads = merge_heads = self_attention = apply_rotary_emb = precompute_rotary_emb = attn_scaled


def make_causal_mask(*_, **__):
    return [[0] * 1000] * 190
