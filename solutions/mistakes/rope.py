"""Known mistakes in rotary position embeddings."""

import torch

from autograder.proving.mistakes import mistake

# ── precompute_rotary_emb ──────────────────────────────────────────────────────────────


@mistake("precompute_rotary_emb", replaces="return", also_breaks=("causal_self_attention",))
def sin_before_cos(angles):
    """The last axis holds [sin, cos]; the order is [cos, sin]."""
    return torch.stack((angles.sin(), angles.cos()), dim=-1)


@mistake("precompute_rotary_emb", replaces="return", also_breaks=("causal_self_attention",))
def cos_sin_before_pairs(angles):
    """Your axes are (positions, cos/sin, pairs); cos and sin come last."""
    return torch.stack((angles.cos(), angles.sin()), dim=1)


@mistake("precompute_rotary_emb", replaces="return", also_breaks=("causal_self_attention",))
def cos_sin_in_front(angles):
    """Your axes are (cos/sin, positions, pairs); cos and sin come last."""
    return torch.stack((angles.cos(), angles.sin()))


@mistake("precompute_rotary_emb", replaces="return", also_breaks=("causal_self_attention",))
def angles_only(angles):
    """You return the angles themselves; cos and sin of them are asked for."""
    return torch.stack((angles, angles), dim=-1)


@mistake("precompute_rotary_emb", replaces="theta =", also_breaks=("causal_self_attention",))
def exponent_without_2(dim):
    """Your exponent lacks its factor 2: θ_i = 10000^(-2(i-1)/dim)."""
    theta = 10000.0 ** (-torch.arange(dim // 2) / dim)


@mistake("precompute_rotary_emb", replaces="theta =", also_breaks=("causal_self_attention",))
def positive_exponent(dim):
    """Your θ grow from pair to pair: is the exponent positive, or do you divide by θ? They must shrink."""
    theta = 10000.0 ** (2 * torch.arange(dim // 2) / dim)


@mistake("precompute_rotary_emb", replaces="theta =", also_breaks=("causal_self_attention",))
def theta_starts_at_1(dim):
    """Your first θ is not 1: the exponent is -2(i-1)/dim, which starts at 0."""
    theta = 10000.0 ** (-2 * torch.arange(1, dim // 2 + 1) / dim)


@mistake("precompute_rotary_emb", replaces="theta =", also_breaks=("causal_self_attention",))
def one_theta_for_all(dim):
    """Every pair turns by the same angle; pair i has its own θ_i."""
    theta = torch.ones(dim // 2)


@mistake("precompute_rotary_emb", replaces="theta =", also_breaks=("causal_self_attention",))
def wrong_base(dim):
    """Your θ come from the base 1000; it is 10000."""
    theta = 1000.0 ** (-2 * torch.arange(dim // 2) / dim)


@mistake("precompute_rotary_emb", replaces="theta =", also_breaks=("causal_self_attention",))
def steps_of_two_twice(dim):
    """Your exponent is twice as large as it should be; arange(0, dim, 2), 2i and dim/2 each bring the factor 2."""
    theta = 10000.0 ** (-2 * torch.arange(0, dim, 2) / dim)


@mistake("precompute_rotary_emb", replaces="angles =")
def positions_start_at_1(max_positions, theta):
    """Your positions start at 1; position 0 comes first and does not rotate."""
    angles = torch.arange(1, max_positions + 1)[:, None] * theta


# ── apply_rotary_emb ───────────────────────────────────────────────────────────────────


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",))
def pairs_halves(x, rope_cache):
    """You pair feature i with feature i + d/2; pairs are neighbours: (0, 1), (2, 3), ..."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


@mistake("apply_rotary_emb", replaces="rotated =", also_breaks=("causal_self_attention",))
def turns_backwards(a, b, cos, sin):
    """You turn the wrong way: (a, b) becomes (a cos - b sin, a sin + b cos)."""
    rotated = torch.stack((a * cos + b * sin, b * cos - a * sin), dim=-1)


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


@mistake(
    "apply_rotary_emb", also_breaks=("causal_self_attention",), loses=("leaves_its_inputs_alone", "lets_gradients_flow")
)
def apply_rotary_emb_writes_into_input(x, rope_cache):
    """Your code changes the tensor that it was given; work on a new one."""
    with torch.no_grad():
        cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
        a, b = x[..., 0::2].clone(), x[..., 1::2].clone()
        x[..., 0::2] = a * cos - b * sin
        x[..., 1::2] = a * sin + b * cos
    return x


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), loses=("lets_gradients_flow",))
def apply_rotary_emb_detached(x, rope_cache):
    """No gradient gets through: look for detach, .data, no_grad, .item() or a tensor made anew."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x.data[..., 0::2], x.data[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), loses=("keeps_dtype_and_layout",))
def float32_only(x, rope_cache):
    """Your result is always float32; return x's own dtype."""
    cos, sin = rope_cache[: x.size(-2)].float().unbind(-1)
    a, b = x.float()[..., 0::2], x.float()[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",))
def positions_along_heads(x, rope_cache):
    """Your angles follow the heads, not the tokens: the position is the axis before the last."""
    cos, sin = rope_cache[: x.size(1), None].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake("apply_rotary_emb", replaces="rotated =")
def swaps_the_pair(a, b, cos, sin):
    """The two numbers of each pair come out in the wrong order."""
    rotated = torch.stack((a * sin + b * cos, a * cos - b * sin), dim=-1)


@mistake("apply_rotary_emb", replaces="rotated =", also_breaks=("causal_self_attention",))
def both_with_plus(a, b, cos, sin):
    """Both lines have a plus: the first number is a cos - b sin."""
    rotated = torch.stack((a * cos + b * sin, a * sin + b * cos), dim=-1)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",))
def always_the_first_angle(x, rope_cache):
    """Every pair turns by the angle of the first pair; pair i has its own."""
    cos, sin = rope_cache[: x.size(-2), :1].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
