"""THREATS 15: raise what a test runner takes for success or for a skipped test

Reached: XFailed: LEAK
"""

import unittest

import pytest

raised = iter([pytest.skip.Exception("LEAK"), pytest.xfail.Exception("LEAK"), unittest.SkipTest("LEAK")] * 1000)


def attempt(*_, **__):
    raise next(raised)


pairwise_similarities = attn_scaled = attn_softmax = compute_outputs = make_causal_mask = apply_causal_mask = attempt
split_heads = merge_heads = self_attention = precompute_rotary_emb = apply_rotary_emb = attempt
