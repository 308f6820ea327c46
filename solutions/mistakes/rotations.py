"""Known mistakes in rotary position embeddings, as beginners write them."""

import torch

from autograder.proving.mistakes import mistake

# ── precompute_rotary_emb ──────────────────────────────────────────────────────────────


@mistake("precompute_rotary_emb", also_breaks=("causal_self_attention",), alone=True, signature=True)
def arguments_swapped(max_positions, dim):
    """Your arguments are (max_positions, dim); the order is (dim, max_positions)."""
    theta = 10000.0 ** (-2 * torch.arange(dim // 2) / dim)
    angles = torch.arange(max_positions)[:, None] * theta
    return torch.stack((angles.cos(), angles.sin()), dim=-1)


@mistake("precompute_rotary_emb", replaces="theta =", also_breaks=("causal_self_attention",), alone=True)
def subtracts_1_from_0(dim):
    """Your i counts from 0, and you still subtract 1: the first θ must be 1, as 10000^0 is."""
    theta = 10000.0 ** (-2 * (torch.arange(dim // 2) - 1) / dim)


@mistake("precompute_rotary_emb", replaces="theta =", also_breaks=("causal_self_attention",), alone=True)
def ends_at_the_base(dim):
    """Your exponents run all the way to -1; -2(i-1)/dim ends one step before it."""
    theta = 10000.0 ** -torch.linspace(0, 1, dim // 2)


@mistake("precompute_rotary_emb", replaces="theta =", also_breaks=("causal_self_attention",), alone=True)
def whole_number_exponents(dim):
    """You divide the exponent as whole numbers (//), so that θ jumps; divide with /."""
    theta = 10000.0 ** (-2 * torch.arange(dim // 2) // dim)


@mistake("precompute_rotary_emb", replaces="theta =", also_breaks=("causal_self_attention",), alone=True)
def one_angle_per_feature(dim):
    """You have an angle for each feature; two features share one, so there are dim/2."""
    theta = 10000.0 ** (-torch.arange(dim) / dim)


@mistake("precompute_rotary_emb", replaces="return", also_breaks=("causal_self_attention",), alone=True)
def repeated_for_halves(angles):
    """Your angles stand there twice; each pair needs one, so the middle axis has the size dim/2."""
    angles = torch.cat((angles, angles), dim=-1)
    return torch.stack((angles.cos(), angles.sin()), dim=-1)


@mistake("precompute_rotary_emb", replaces="return", also_breaks=("causal_self_attention",), alone=True)
def side_by_side(angles):
    """You put cosines and sines side by side (cat); stack them along a new last axis."""
    return torch.cat((angles.cos(), angles.sin()), dim=-1)


@mistake("precompute_rotary_emb", replaces="return", also_breaks=("causal_self_attention",), alone=True)
def complex_numbers(angles):
    """You return complex numbers; torch.view_as_real makes [cos, sin] of them."""
    return torch.polar(torch.ones_like(angles), angles)


@mistake("precompute_rotary_emb", replaces="return", also_breaks=("causal_self_attention",), alone=True)
def two_tensors(angles):
    """You return two tensors; stack cosines and sines along a new last axis."""
    return angles.cos(), angles.sin()


@mistake("precompute_rotary_emb", replaces="return", also_breaks=("causal_self_attention",), alone=True)
def pairs_before_positions(angles):
    """Your axes are (pairs, positions, cos/sin); positions come first."""
    angles = angles.T
    return torch.stack((angles.cos(), angles.sin()), dim=-1)


@mistake("precompute_rotary_emb", replaces="return", also_breaks=("causal_self_attention",), alone=True)
def cosines_twice(angles):
    """Both entries are the cosine; the second is the sine."""
    return torch.stack((angles.cos(), angles.cos()), dim=-1)


@mistake("precompute_rotary_emb", replaces="angles =", also_breaks=("causal_self_attention",), alone=True)
def negative_angles(max_positions, theta):
    """Your angles are negative; position p turns by +p θ."""
    angles = -torch.arange(max_positions)[:, None] * theta


@mistake("precompute_rotary_emb", replaces="angles =", also_breaks=("causal_self_attention",), alone=True)
def one_position_short(max_positions, theta):
    """Your cache is one position short: 0 to max_positions - 1 makes max_positions rows."""
    angles = torch.arange(max_positions - 1)[:, None] * theta


@mistake("precompute_rotary_emb", replaces="angles =", also_breaks=("causal_self_attention",), alone=True)
def divides_the_positions(max_positions, theta):
    """You divide positions by max_positions; position p itself is multiplied by θ."""
    angles = torch.arange(max_positions)[:, None] / max_positions * theta


@mistake("precompute_rotary_emb", replaces="return", also_breaks=("causal_self_attention",), alone=True)
def precompute_rotary_emb_in_half_precision(angles):
    """Your numbers are only as exact as half precision; make the cache in float32."""
    return torch.stack((angles.cos(), angles.sin()), dim=-1).half().float()


# ── apply_rotary_emb ───────────────────────────────────────────────────────────────────


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), alone=True)
def angles_of_pairs_on_halves(x, rope_cache):
    """Your angles are laid out for neighbours (0, 1), but you turn feature i with i + d/2; turn neighbours."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).repeat_interleave(2, dim=-2).unbind(-1)
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), alone=True)
def angles_of_halves_on_pairs(x, rope_cache):
    """You turn neighbours, but your angles are laid out for halves: repeat each angle for its own pair."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    turned = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)
    return x * torch.cat((cos, cos), dim=-1) + turned * torch.cat((sin, sin), dim=-1)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), alone=True)
def halves_in_neighbours_out(x, rope_cache):
    """You take pairs from the two halves of x and put them back as neighbours; pairs are neighbours in x, too."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x.chunk(2, dim=-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), alone=True)
def pairs_left_apart(x, rope_cache):
    """Your pairs are still an axis of their own; flatten the last two axes."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), alone=True)
def starts_at_position_1(x, rope_cache):
    """Your first token takes position 1 of the cache; a sequence starts at position 0."""
    places = torch.arange(1, x.size(-2) + 1)
    cos, sin = rope_cache[places.clamp(max=rope_cache.size(0) - 1)].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), alone=True)
def reads_beyond_the_cache(x, rope_cache):
    """Your positions start at 1, so that the last one is beyond the cache; they start at 0."""
    cos, sin = rope_cache[torch.arange(1, x.size(-2) + 1)].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), alone=True)
def cuts_the_cache_at_the_heads(x, rope_cache):
    """You cut the cache at x.shape[1], which is the number of heads; the tokens are x.shape[2]."""
    cos, sin = rope_cache[: x.shape[1]].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), alone=True)
def real_and_imaginary_swapped(x, rope_cache):
    """The even feature is the real part, the odd one the imaginary part; yours are the other way round."""
    pairs = x.unflatten(-1, (-1, 2))
    z = torch.complex(pairs[..., 1].contiguous(), pairs[..., 0].contiguous())
    c = torch.view_as_complex(rope_cache[: x.size(-2)].to(x.dtype).contiguous())
    return torch.view_as_real(z * c).flatten(-2)


@mistake("apply_rotary_emb", replaces="cos, sin =", also_breaks=("causal_self_attention",), alone=True)
def sine_for_cosine(x, rope_cache):
    """You take the first entry of the cache for the sine; it is the cosine."""
    sin, cos = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), alone=True)
def still_complex(x, rope_cache):
    """You return complex numbers; torch.view_as_real and flatten make features of them."""
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    c = torch.view_as_complex(rope_cache[: x.size(-2)].to(x.dtype).contiguous())
    return z * c


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), alone=True)
def real_part_only(x, rope_cache):
    """Only the first number of each pair comes back; a cos - b sin and a sin + b cos both belong there."""
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    c = torch.view_as_complex(rope_cache[: x.size(-2)].to(x.dtype).contiguous())
    return (z * c).real


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), alone=True)
def adds_the_cache(x, rope_cache):
    """You add the cache to x; rotate each pair by its angle."""
    return x + rope_cache[: x.size(-2)].to(x.dtype).flatten(-2)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), alone=True)
def multiplies_by_the_cache(x, rope_cache):
    """You multiply x by the cache entry by entry; rotate each pair by its angle."""
    return x * rope_cache[: x.size(-2)].to(x.dtype).flatten(-2)


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), alone=True)
def does_not_rotate(x, rope_cache):
    """Your output is the input: nothing is rotated."""
    return x.clone()


@mistake("apply_rotary_emb", also_breaks=("causal_self_attention",), alone=True)
def same_angle_for_all_tokens(x, rope_cache):
    """Every token turns by the same angle; token t turns by that of position t."""
    cos, sin = rope_cache[x.size(-2) - 1].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake("apply_rotary_emb", replaces="rotated =", also_breaks=("causal_self_attention",), alone=True)
def both_with_minus(a, b, cos, sin):
    """Both lines have a minus: the second number is a sin + b cos."""
    rotated = torch.stack((a * cos - b * sin, a * sin - b * cos), dim=-1)


@mistake("apply_rotary_emb", replaces="return", also_breaks=("causal_self_attention",), alone=True)
def apply_rotary_emb_in_half_precision(x, rotated):
    """Your numbers are only as exact as half precision; compute in the dtype of x."""
    return rotated.flatten(-2).half().to(x.dtype)
