"""Known mistakes in the two matrix products, as beginners write them: comparing, and mixing values."""

import torch

from autograder.proving.mistakes import mistake

# ── pairwise_similarities ──────────────────────────────────────────────────────────────


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def reverses_all_axes(Q, K):
    """K.T reverses all axes, the batch too; swap only the last two: K.transpose(-2, -1)."""
    return Q @ K.T


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def no_transpose(Q, K):
    """You multiply Q by K as it is; swap the last two axes of K first: K.transpose(-2, -1)."""
    return Q @ K


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def entry_by_entry(Q, K):
    """You multiply entry by entry (*); a matrix product (@) compares every query with every key."""
    return Q * K


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def features_with_features(Q, K):
    """You compare features with features: transpose K, not Q, and let Q come first."""
    return Q.transpose(-2, -1) @ K


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def one_number_per_token(Q, K):
    """You get one number for each token: query i meets key i only. Every query meets every key (@)."""
    return (Q * K).sum(-1)


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def keys_with_keys(Q, K):
    """You compare the keys with themselves; Q is never used."""
    return K @ K.transpose(-2, -1)


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def softmax_too_early(Q, K):
    """You apply a softmax here already; that is a step of its own."""
    return torch.softmax(Q @ K.transpose(-2, -1), dim=-1)


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def pairwise_similarities_in_half_precision(Q, K):
    """Your numbers are only as exact as half precision; compute in the dtype of the inputs."""
    return (Q.half() @ K.half().transpose(-2, -1)).to(Q.dtype)


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def three_axes_only(Q, K):
    """Your product takes three axes only (bmm), but heads are a fourth; @ takes any number."""
    return torch.bmm(Q, K.transpose(1, 2))


@mistake("pairwise_similarities", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def swaps_the_first_axes(Q, K):
    """You swap axes 0 and 1 of K; swap the last two: K.transpose(-2, -1)."""
    return Q @ K.transpose(0, 1)


# ── compute_outputs ────────────────────────────────────────────────────────────────────


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def values_by_weights(A, V):
    """You multiply V by A; the weights come first: A @ V."""
    return V @ A


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def weights_times_values(A, V):
    """You multiply entry by entry (*); a matrix product (@) mixes the values by their weights."""
    return A * V


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def one_sum_for_each_query(A, V):
    """You multiply entry by entry and add up; a matrix product (@) mixes the values by their weights."""
    return (A * V).sum(-1)


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def one_sum_of_all(A, V):
    """You add everything up to one number; a matrix product (@) gives an output for each query."""
    return (A * V).sum()


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def nothing_is_mixed(A, V):
    """Your output is V itself: the values are not mixed."""
    return (A.unsqueeze(-1) * V.unsqueeze(-2)).sum(-2)


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def sums_over_queries(A, V):
    """You add up over the queries; the output of a query is a sum over the keys."""
    return (A.unsqueeze(-1) * V.unsqueeze(-3)).sum(-3)


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def values_transposed(A, V):
    """You transpose V; the values are mixed as they are: A @ V."""
    return A @ V.transpose(-2, -1)


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def transposed_values_by_weights(A, V):
    """You multiply the transposed V by A; the weights come first: A @ V."""
    return V.transpose(-2, -1) @ A


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def adds_values_unweighted(A, V):
    """You add up the values without their weights; A says how much of each."""
    return V.sum(-2, keepdim=True).expand(*A.shape[:-1], V.size(-1))


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def scales_the_outputs(A, V):
    """You divide the outputs by √(head size); scaling belongs to the scores."""
    return A @ V / V.size(-1) ** 0.5


@mistake("compute_outputs", also_breaks=("self_attention", "causal_self_attention"), alone=True)
def compute_outputs_in_half_precision(A, V):
    """Your numbers are only as exact as half precision; compute in the dtype of the inputs."""
    return (A.bfloat16() @ V.bfloat16()).to(V.dtype)
