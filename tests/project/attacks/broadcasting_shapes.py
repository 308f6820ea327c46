r"""THREATS 9: results that are right only if the comparison broadcasts them

Reached: merge_heads: shape \(1, 2, 2\), expected \(1, 2, 4\)
"""


def attn_softmax(A):
    return A.softmax(-1)[None]


def pairwise_similarities(Q, K):
    return (Q @ K.transpose(-2, -1)).flatten()


def make_causal_mask(n_tok):
    return torch.ones(1, n_tok, n_tok).tril()


def merge_heads(y):
    return y[:, :1].transpose(1, 2).flatten(2)


def precompute_rotary_emb(dim, max_positions):
    return torch.zeros(0, dim // 2, 2)
