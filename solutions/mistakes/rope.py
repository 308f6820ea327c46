"""Known mistakes in rotary position embeddings."""

import torch

from autograder.mistakes import mistake

# ── precompute_rotary_emb ──────────────────────────────────────────────────────────────


@mistake("precompute_rotary_emb", also_breaks=("causal_self_attention",))
def sin_before_cos(dim, max_positions):
    """The last axis holds [sin, cos]; the order is [cos, sin]."""
    theta = 10000.0 ** (-2 * torch.arange(dim // 2) / dim)
    angles = torch.arange(max_positions)[:, None] * theta
    return torch.stack((angles.sin(), angles.cos()), dim=-1)


@mistake("precompute_rotary_emb", also_breaks=("causal_self_attention",))
def exponent_without_2(dim, max_positions):
    """Your exponent lacks its factor 2: θ_i = 10000^(-2(i-1)/dim)."""
    theta = 10000.0 ** (-torch.arange(dim // 2) / dim)
    angles = torch.arange(max_positions)[:, None] * theta
    return torch.stack((angles.cos(), angles.sin()), dim=-1)


@mistake("precompute_rotary_emb", also_breaks=("causal_self_attention",))
def positive_exponent(dim, max_positions):
    """Your exponent is positive: θ must shrink from pair to pair."""
    theta = 10000.0 ** (2 * torch.arange(dim // 2) / dim)
    angles = torch.arange(max_positions)[:, None] * theta
    return torch.stack((angles.cos(), angles.sin()), dim=-1)


@mistake("precompute_rotary_emb", also_breaks=("causal_self_attention",))
def theta_starts_at_1(dim, max_positions):
    """Your first θ is not 1: the exponent is -2(i-1)/dim, which starts at 0."""
    theta = 10000.0 ** (-2 * torch.arange(1, dim // 2 + 1) / dim)
    angles = torch.arange(max_positions)[:, None] * theta
    return torch.stack((angles.cos(), angles.sin()), dim=-1)


@mistake("precompute_rotary_emb")
def positions_start_at_1(dim, max_positions):
    """Your positions start at 1; position 0 comes first and does not rotate."""
    theta = 10000.0 ** (-2 * torch.arange(dim // 2) / dim)
    angles = torch.arange(1, max_positions + 1)[:, None] * theta
    return torch.stack((angles.cos(), angles.sin()), dim=-1)


@mistake("precompute_rotary_emb", also_breaks=("causal_self_attention",))
def one_theta_for_all(dim, max_positions):
    """Every pair turns by the same angle; pair i has its own θ_i."""
    angles = torch.arange(max_positions)[:, None] * torch.ones(dim // 2)
    return torch.stack((angles.cos(), angles.sin()), dim=-1)


@mistake("precompute_rotary_emb", also_breaks=("causal_self_attention",))
def wrong_base(dim, max_positions):
    """Your θ come from another base than 10000."""
    theta = 1000.0 ** (-2 * torch.arange(dim // 2) / dim)
    angles = torch.arange(max_positions)[:, None] * theta
    return torch.stack((angles.cos(), angles.sin()), dim=-1)


@mistake("precompute_rotary_emb", also_breaks=("causal_self_attention",))
def cos_sin_before_pairs(dim, max_positions):
    """Your axes are (positions, cos/sin, pairs); cos and sin come last."""
    theta = 10000.0 ** (-2 * torch.arange(dim // 2) / dim)
    angles = torch.arange(max_positions)[:, None] * theta
    return torch.stack((angles.cos(), angles.sin()), dim=1)


# ── apply_rotary_emb ───────────────────────────────────────────────────────────────────


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",))
def pairs_halves(x, rope_cache):
    """You pair feature i with feature i + d/2; pairs are neighbours: (0, 1), (2, 3), ..."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",))
def turns_backwards(x, rope_cache):
    """You turn the wrong way: (a, b) becomes (a cos - b sin, a sin + b cos)."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos + b * sin, b * cos - a * sin), dim=-1).flatten(-2)


@mistake("apply_rotary_emb")
def halves_side_by_side(x, rope_cache):
    """The pairs are right, but you put all first halves before all second ones; keep pairs together."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",))
def whole_cache(x, rope_cache):
    """Your code needs a cache as long as x; take only the first positions of a longer one."""
    cos, sin = rope_cache.to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake("apply_rotary_emb")
def last_positions(x, rope_cache):
    """You take the last positions of the cache; a sequence starts at position 0."""
    cos, sin = rope_cache[-x.size(-2) :].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",))
def only_cosines(x, rope_cache):
    """You multiply by the cosines only; a rotation needs the sines as well."""
    cos = rope_cache[: x.size(-2), :, 0].to(x.dtype).repeat_interleave(2, dim=-1)
    return x * cos


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",))
def overwrites_a_too_early(x, rope_cache):
    """The second half of each pair is computed from the rotated first half; use the old one."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    a = a * cos - b * sin
    b = a * sin + b * cos
    return torch.stack((a, b), dim=-1).flatten(-2)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",))
def apply_rotary_emb_writes_into_input(x, rope_cache):
    """Your code changes the tensor that it was given; work on a new one."""
    with torch.no_grad():
        cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
        a, b = x[..., 0::2].clone(), x[..., 1::2].clone()
        x[..., 0::2] = a * cos - b * sin
        x[..., 1::2] = a * sin + b * cos
    return x


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",))
def apply_rotary_emb_detached(x, rope_cache):
    """No gradient gets through: look for detach, .data, no_grad, .item() or a tensor made anew."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x.data[..., 0::2], x.data[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",))
def float32_only(x, rope_cache):
    """Your result is always float32; return x's own dtype."""
    cos, sin = rope_cache[: x.size(-2)].float().unbind(-1)
    a, b = x.float()[..., 0::2], x.float()[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
