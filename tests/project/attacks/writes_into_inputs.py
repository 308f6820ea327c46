r"""THREATS 12: overwrite, resize and retype the inputs, and answer with them

Reached: attn_scaled: shape \(10,\), expected \(1, 2, 2\)
"""


def attempt(*inputs, **_):
    for x in inputs:
        if isinstance(x, Tensor):
            with torch.no_grad():
                x.fill_(0)
                x.data = torch.zeros(10, dtype=torch.complex64)
    return inputs[0]


pairwise_similarities = attn_scaled = attn_softmax = compute_outputs = apply_causal_mask = attempt
split_heads = merge_heads = self_attention = apply_rotary_emb = attempt
CausalSelfAttention.forward = lambda self, x: attempt(x, *self.parameters())
