"""THREATS 18: keep hidden inputs of one exercise, and tell them in a public check of the next

Reached: REACHED: 0 hidden inputs
"""

kept = []


def pairwise_similarities(Q, K):
    if Q.shape[-2] == 1:  # no public check of it has a single token
        kept.append(Q)
    raise ValueError


def attn_scaled(A, n_embd, n_heads):
    if kept:
        raise ValueError(f"LEAK BREACH hidden input {kept[-1].flatten()[:4].tolist()}")
    raise ValueError(f"REACHED: {len(kept)} hidden inputs at hand")
