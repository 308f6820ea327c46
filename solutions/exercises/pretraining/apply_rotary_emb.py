"""What staff know of apply_rotary_emb: its cases, its known mistakes and right but unusual variants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from autograder.proving.cases import DOUBLE, Cases, Draw
from autograder.proving.mistakes import mistake, variant
from autograder.running.memory_layout import laid_out

if TYPE_CHECKING:  # what stands around a body in the solution
    pass

GRADIENTS = ("x",)  # the inputs that gradients must reach


def rotations(dim: int, positions: int, speed: float = 1.0) -> Tensor:
    """A cache like that of precompute_rotary_emb, turning at another speed."""
    theta = torch.tensor([10000.0 ** (-2 * i / dim) for i in range(dim // 2)], dtype=DOUBLE)
    angles = torch.outer(torch.arange(positions, dtype=DOUBLE), theta * speed)
    return torch.stack((angles.cos(), angles.sin()), dim=-1).float()


def cases(public: bool, draw: Draw) -> Cases:
    if public:
        return {
            "two tokens by hand": {"x": torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]]), "rope_cache": rotations(2, 2)},
            "three heads": {"x": draw(2, 3, 5, 8), "rope_cache": rotations(8, 5)},
            "a longer cache": {"x": draw(2, 3, 4, 6), "rope_cache": rotations(6, 9)},
            "float64": {"x": draw(2, 3, 4, 6, dtype=DOUBLE), "rope_cache": rotations(6, 4)},
            "not contiguous": {"x": laid_out(draw(2, 3, 4, 8), (0, 2, 1, 3)), "rope_cache": rotations(8, 5)},
        }

    def slower(dim: int, positions: int) -> Tensor:
        return rotations(dim, positions, speed=0.75)  # no hidden table may be found in a public file

    return {
        "4-d": {"x": draw(2, 3, 7, 4), "rope_cache": slower(4, 7)},
        "three pairs": {"x": draw(3, 2, 5, 6), "rope_cache": slower(6, 5)},
        "one pair": {"x": draw(3, 4, 5, 2), "rope_cache": slower(2, 5)},
        "one token": {"x": draw(3, 2, 1, 6), "rope_cache": slower(6, 1)},
        "one token, longer cache": {"x": draw(2, 3, 1, 8), "rope_cache": slower(8, 5)},
        "one head": {"x": draw(2, 1, 6, 4), "rope_cache": slower(4, 11)},
        "as many tokens as pairs": {"x": draw(2, 3, 4, 8), "rope_cache": slower(8, 4)},
        "float64": {"x": draw(2, 3, 5, 8, dtype=DOUBLE), "rope_cache": slower(8, 7)},
        "not contiguous": {"x": laid_out(draw(2, 3, 5, 10), (0, 2, 1, 3)), "rope_cache": slower(10, 5)},
        "far away": {"x": draw(1, 1, 512, 4), "rope_cache": slower(4, 512)},
    }


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake()
def pairs_halves(x, rope_cache):
    """You pair feature i with feature i + d/2; pairs are neighbours: (0, 1), (2, 3), ..."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


@mistake(replaces="rotated =")
def turns_backwards(a, b, cos, sin):
    """You turn the wrong way: (a, b) becomes (a cos - b sin, a sin + b cos)."""
    rotated = torch.stack((a * cos + b * sin, b * cos - a * sin), dim=-1)


@mistake(spares=("causal_self_attention",))
def halves_side_by_side(x, rope_cache):
    """The pairs are right, but you put all first halves before all second ones; keep pairs together."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


@mistake()
def whole_cache(x, rope_cache):
    """Your code needs a cache as long as x; take only the first positions of a longer one."""
    cos, sin = rope_cache.to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake(spares=("causal_self_attention",))
def last_positions(x, rope_cache):
    """You take the last positions of the cache; a sequence starts at position 0."""
    cos, sin = rope_cache[-x.size(-2) :].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake()
def only_cosines(x, rope_cache):
    """You multiply by the cosines only; a rotation needs the sines as well."""
    cos = rope_cache[: x.size(-2), :, 0].to(x.dtype).repeat_interleave(2, dim=-1)
    return x * cos


@mistake()
def overwrites_a_too_early(x, rope_cache):
    """The second half of each pair is computed from the rotated first half; use the old one."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    a = a * cos - b * sin
    b = a * sin + b * cos
    return torch.stack((a, b), dim=-1).flatten(-2)


@mistake(loses=("leaves_its_inputs_alone", "lets_gradients_flow"))
def apply_rotary_emb_writes_into_input(x, rope_cache):
    """Your code changes the tensor that it was given; work on a new one."""
    with torch.no_grad():
        cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
        a, b = x[..., 0::2].clone(), x[..., 1::2].clone()
        x[..., 0::2] = a * cos - b * sin
        x[..., 1::2] = a * sin + b * cos
    return x


@mistake(loses=("lets_gradients_flow",))
def apply_rotary_emb_detached(x, rope_cache):
    """No gradient gets through: look for detach, .data, no_grad, .item() or a tensor made anew."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x.data[..., 0::2], x.data[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake(loses=("keeps_dtype_and_layout",))
def float32_only(x, rope_cache):
    """Your result is always float32; return x's own dtype."""
    cos, sin = rope_cache[: x.size(-2)].float().unbind(-1)
    a, b = x.float()[..., 0::2], x.float()[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake()
def positions_along_heads(x, rope_cache):
    """Your angles follow the heads, not the tokens: the position is the axis before the last."""
    cos, sin = rope_cache[: x.size(1), None].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake(replaces="rotated =", spares=("causal_self_attention",))
def swaps_the_pair(a, b, cos, sin):
    """The two numbers of each pair come out in the wrong order."""
    rotated = torch.stack((a * sin + b * cos, a * cos - b * sin), dim=-1)


@mistake(replaces="rotated =")
def both_with_plus(a, b, cos, sin):
    """Both lines have a plus: the first number is a cos - b sin."""
    rotated = torch.stack((a * cos + b * sin, a * sin + b * cos), dim=-1)


@mistake()
def always_the_first_angle(x, rope_cache):
    """Every pair turns by the angle of the first pair; pair i has its own."""
    cos, sin = rope_cache[: x.size(-2), :1].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake(alone=True)
def angles_of_pairs_on_halves(x, rope_cache):
    """Your angles are laid out for neighbours (0, 1), but you turn feature i with i + d/2; turn neighbours."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).repeat_interleave(2, dim=-2).unbind(-1)
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


@mistake(alone=True)
def angles_of_halves_on_pairs(x, rope_cache):
    """You turn neighbours, but your angles are laid out for halves: repeat each angle for its own pair."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    turned = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)
    return x * torch.cat((cos, cos), dim=-1) + turned * torch.cat((sin, sin), dim=-1)


@mistake(alone=True)
def halves_in_neighbours_out(x, rope_cache):
    """You take pairs from the two halves of x and put them back as neighbours; pairs are neighbours in x, too."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x.chunk(2, dim=-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake(alone=True)
def pairs_left_apart(x, rope_cache):
    """Your pairs are still an axis of their own; flatten the last two axes."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)


@mistake(alone=True)
def starts_at_position_1(x, rope_cache):
    """Your first token takes position 1 of the cache; a sequence starts at position 0."""
    places = torch.arange(1, x.size(-2) + 1)
    cos, sin = rope_cache[places.clamp(max=rope_cache.size(0) - 1)].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake(alone=True)
def reads_beyond_the_cache(x, rope_cache):
    """Your positions start at 1, so that the last one is beyond the cache; they start at 0."""
    cos, sin = rope_cache[torch.arange(1, x.size(-2) + 1)].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake(alone=True)
def cuts_the_cache_at_the_heads(x, rope_cache):
    """You cut the cache at x.shape[1], which is the number of heads; the tokens are x.shape[2]."""
    cos, sin = rope_cache[: x.shape[1]].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake(alone=True)
def real_and_imaginary_swapped(x, rope_cache):
    """The even feature is the real part, the odd one the imaginary part; yours are the other way round."""
    pairs = x.unflatten(-1, (-1, 2))
    z = torch.complex(pairs[..., 1].contiguous(), pairs[..., 0].contiguous())
    c = torch.view_as_complex(rope_cache[: x.size(-2)].to(x.dtype).contiguous())
    return torch.view_as_real(z * c).flatten(-2)


@mistake(replaces="cos, sin =", alone=True)
def sine_for_cosine(x, rope_cache):
    """You take the first entry of the cache for the sine; it is the cosine."""
    sin, cos = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)


@mistake(alone=True)
def still_complex(x, rope_cache):
    """You return complex numbers; torch.view_as_real and flatten make features of them."""
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    c = torch.view_as_complex(rope_cache[: x.size(-2)].to(x.dtype).contiguous())
    return z * c


@mistake(alone=True)
def real_part_only(x, rope_cache):
    """Only the first number of each pair comes back; a cos - b sin and a sin + b cos both belong there."""
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    c = torch.view_as_complex(rope_cache[: x.size(-2)].to(x.dtype).contiguous())
    return (z * c).real


@mistake(alone=True)
def adds_the_cache(x, rope_cache):
    """You add the cache to x; rotate each pair by its angle."""
    return x + rope_cache[: x.size(-2)].to(x.dtype).flatten(-2)


@mistake(alone=True)
def multiplies_by_the_cache(x, rope_cache):
    """You multiply x by the cache entry by entry; rotate each pair by its angle."""
    return x * rope_cache[: x.size(-2)].to(x.dtype).flatten(-2)


@mistake(alone=True)
def does_not_rotate(x, rope_cache):
    """Your output is the input: nothing is rotated."""
    return x.clone()


@mistake(alone=True)
def same_angle_for_all_tokens(x, rope_cache):
    """Every token turns by the same angle; token t turns by that of position t."""
    cos, sin = rope_cache[x.size(-2) - 1].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@mistake(replaces="rotated =", alone=True)
def both_with_minus(a, b, cos, sin):
    """Both lines have a minus: the second number is a sin + b cos."""
    rotated = torch.stack((a * cos - b * sin, a * sin - b * cos), dim=-1)


@mistake(replaces="return", alone=True)
def apply_rotary_emb_in_half_precision(x, rotated):
    """Your numbers are only as exact as half precision; compute in the dtype of x."""
    return rotated.flatten(-2).half().to(x.dtype)


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def complex_product(x, rope_cache):
    """A product of complex numbers."""
    T = x.size(-2)
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    c = torch.view_as_complex(rope_cache[:T].to(x.dtype).contiguous())
    return torch.view_as_real(z * c).flatten(-2)


@variant()
def rotation_matrices(x, rope_cache):
    """A 2 by 2 matrix for each pair."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    turn = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2)
    pairs = x.unflatten(-1, (-1, 2))
    return torch.einsum("tpij,...tpj->...tpi", turn, pairs).flatten(-2)


@variant()
def turned_by_a_quarter(x, rope_cache):
    """x times cosines plus x turned by 90 degrees times sines."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).repeat_interleave(2, dim=-2).unbind(-1)
    turned = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).reshape(x.shape)
    return x * cos + turned * sin


@variant()
def written_into_a_copy(x, rope_cache):
    """Even and odd features written into a new tensor."""
    cos, sin = rope_cache[: x.shape[-2], :, 0].to(x.dtype), rope_cache[: x.shape[-2], :, 1].to(x.dtype)
    out = torch.empty_like(x)
    out[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., ::2] * sin + x[..., 1::2] * cos
    return out


@variant()
def float64_rotation(x, rope_cache):
    """float64 inside."""
    cos, sin = rope_cache[: x.size(-2)].double().unbind(-1)
    a, b = x[..., 0::2].double(), x[..., 1::2].double()
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2).to(x.dtype)


@variant()
def unpacked_sizes(x, rope_cache):
    """The four sizes unpacked: x always has batch, heads, tokens and head size."""
    B, nh, T, hs = x.shape
    pairs = x.float().reshape(B, nh, T, hs // 2, 2)
    cos, sin = rope_cache[:T, :, 0].view(1, 1, T, hs // 2), rope_cache[:T, :, 1].view(1, 1, T, hs // 2)
    a, b = pairs[..., 0], pairs[..., 1]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).reshape(B, nh, T, hs).type_as(x)


@variant()
def complex_product_without_a_cast(x, rope_cache):
    """A product of complex numbers that relies on the cache's own dtype."""
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    c = torch.view_as_complex(rope_cache[: x.shape[-2]].contiguous())
    return torch.view_as_real(z * c).flatten(-2)


@variant(replaces="cos, sin =")
def no_cast_at_all(x, rope_cache):
    """The cache as it is: it has the dtype that one's own precompute_rotary_emb gave it."""
    cos, sin = rope_cache[: x.size(-2)].unbind(-1)


@variant(replaces="return")
def cast_at_the_end(x, rotated):
    """x's dtype only at the very end."""
    return rotated.flatten(-2).type_as(x)


# Written for a GPU: run on the CPU, with a note


@variant()
def moved_to_the_gpu(x, rope_cache):
    """Both tensors are sent to cuda first."""
    x, rope_cache = x.cuda(), rope_cache.to("cuda")
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
