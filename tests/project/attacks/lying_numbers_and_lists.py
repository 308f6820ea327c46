r"""THREATS 6: return subclasses of float, str, list, tuple and dict whose methods lie

Reached: attn_scaled: returned attention\.LEAK
"""

kinds = iter([float, int, str, list, tuple, dict, bytes, set, complex] * 1000)


def attempt(*_, **__):
    lies = dict.fromkeys(("__eq__", "__ne__", "__bool__", "__lt__", "__contains__"), lambda *_: True)
    return type("LEAK", (next(kinds),), lies | {"__hash__": lambda self: 0})()


pairwise_similarities = attn_scaled = attn_softmax = compute_outputs = make_causal_mask = apply_causal_mask = attempt
split_heads = merge_heads = self_attention = precompute_rotary_emb = apply_rotary_emb = attempt
