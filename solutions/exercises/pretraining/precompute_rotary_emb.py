"""What staff know of precompute_rotary_emb: its cases, its known mistakes and right but unusual variants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from autograder.proving.cases import Cases, Draw
from autograder.proving.mistakes import mistake, variant

if TYPE_CHECKING:  # what stands around a body in the solution
    pass


def cases(public: bool, draw: Draw) -> Cases:
    sizes = (
        ((2, 4), (8, 5), (6, 11))
        if public
        else ((4, 7), (6, 1), (10, 33), (12, 64), (16, 9), (14, 128), (20, 3), (18, 512))
    )
    return {f"dim {dim}, {positions} positions": {"dim": dim, "max_positions": positions} for dim, positions in sizes}


# ── Known mistakes ─────────────────────────────────────────────────────────────────────


@mistake(replaces="return")
def sin_before_cos(angles):
    """The last axis holds [sin, cos]; the order is [cos, sin]."""
    return torch.stack((angles.sin(), angles.cos()), dim=-1)


@mistake(replaces="return")
def cos_sin_before_pairs(angles):
    """Your axes are (positions, cos/sin, pairs); cos and sin come last."""
    return torch.stack((angles.cos(), angles.sin()), dim=1)


@mistake(replaces="return")
def cos_sin_in_front(angles):
    """Your axes are (cos/sin, positions, pairs); cos and sin come last."""
    return torch.stack((angles.cos(), angles.sin()))


@mistake(replaces="return")
def angles_only(angles):
    """You return the angles themselves; cos and sin of them are asked for."""
    return torch.stack((angles, angles), dim=-1)


@mistake(replaces="theta =")
def exponent_without_2(dim):
    """Your exponent lacks its factor 2: θ_i = 10000^(-2(i-1)/dim)."""
    theta = 10000.0 ** (-torch.arange(dim // 2) / dim)


@mistake(replaces="theta =")
def positive_exponent(dim):
    """Your θ grow from pair to pair: is the exponent positive, or do you divide by θ? They must shrink."""
    theta = 10000.0 ** (2 * torch.arange(dim // 2) / dim)


@mistake(replaces="theta =")
def theta_starts_at_1(dim):
    """Your first θ is not 1: the exponent is -2(i-1)/dim, which starts at 0."""
    theta = 10000.0 ** (-2 * torch.arange(1, dim // 2 + 1) / dim)


@mistake(replaces="theta =")
def one_theta_for_all(dim):
    """Every pair turns by the same angle; pair i has its own θ_i."""
    theta = torch.ones(dim // 2)


@mistake(replaces="theta =")
def wrong_base(dim):
    """Your θ come from the base 1000; it is 10000."""
    theta = 1000.0 ** (-2 * torch.arange(dim // 2) / dim)


@mistake(replaces="theta =")
def steps_of_two_twice(dim):
    """Your exponent is twice as large as it should be; arange(0, dim, 2), 2i and dim/2 each bring the factor 2."""
    theta = 10000.0 ** (-2 * torch.arange(0, dim, 2) / dim)


@mistake(replaces="angles =", spares=("causal_self_attention",))
def positions_start_at_1(max_positions, theta):
    """Your positions start at 1; position 0 comes first and does not rotate."""
    angles = torch.arange(1, max_positions + 1)[:, None] * theta


@mistake(alone=True, signature=True)
def arguments_swapped(max_positions, dim):
    """Your arguments are (max_positions, dim); the order is (dim, max_positions)."""
    theta = 10000.0 ** (-2 * torch.arange(dim // 2) / dim)
    angles = torch.arange(max_positions)[:, None] * theta
    return torch.stack((angles.cos(), angles.sin()), dim=-1)


@mistake(replaces="theta =", alone=True)
def subtracts_1_from_0(dim):
    """Your i counts from 0, and you still subtract 1: the first θ must be 1, as 10000^0 is."""
    theta = 10000.0 ** (-2 * (torch.arange(dim // 2) - 1) / dim)


@mistake(replaces="theta =", alone=True)
def ends_at_the_base(dim):
    """Your exponents run all the way to -1; -2(i-1)/dim ends one step before it."""
    theta = 10000.0 ** -torch.linspace(0, 1, dim // 2)


@mistake(replaces="theta =", alone=True)
def whole_number_exponents(dim):
    """You divide the exponent as whole numbers (//), so that θ jumps; divide with /."""
    theta = 10000.0 ** (-2 * torch.arange(dim // 2) // dim)


@mistake(replaces="theta =", alone=True)
def one_angle_per_feature(dim):
    """You have an angle for each feature; two features share one, so there are dim/2."""
    theta = 10000.0 ** (-torch.arange(dim) / dim)


@mistake(replaces="return", alone=True)
def repeated_for_halves(angles):
    """Your angles stand there twice; each pair needs one, so the middle axis has the size dim/2."""
    angles = torch.cat((angles, angles), dim=-1)
    return torch.stack((angles.cos(), angles.sin()), dim=-1)


@mistake(replaces="return", alone=True)
def side_by_side(angles):
    """You put cosines and sines side by side (cat); stack them along a new last axis."""
    return torch.cat((angles.cos(), angles.sin()), dim=-1)


@mistake(replaces="return", alone=True)
def complex_numbers(angles):
    """You return complex numbers; torch.view_as_real makes [cos, sin] of them."""
    return torch.polar(torch.ones_like(angles), angles)


@mistake(replaces="return", alone=True)
def two_tensors(angles):
    """You return two tensors; stack cosines and sines along a new last axis."""
    return angles.cos(), angles.sin()


@mistake(replaces="return", alone=True)
def pairs_before_positions(angles):
    """Your axes are (pairs, positions, cos/sin); positions come first."""
    angles = angles.T
    return torch.stack((angles.cos(), angles.sin()), dim=-1)


@mistake(replaces="return", alone=True)
def cosines_twice(angles):
    """Both entries are the cosine; the second is the sine."""
    return torch.stack((angles.cos(), angles.cos()), dim=-1)


@mistake(replaces="angles =", alone=True)
def negative_angles(max_positions, theta):
    """Your angles are negative; position p turns by +p θ."""
    angles = -torch.arange(max_positions)[:, None] * theta


@mistake(replaces="angles =", alone=True)
def one_position_short(max_positions, theta):
    """Your cache is one position short: 0 to max_positions - 1 makes max_positions rows."""
    angles = torch.arange(max_positions - 1)[:, None] * theta


@mistake(replaces="angles =", alone=True)
def divides_the_positions(max_positions, theta):
    """You divide positions by max_positions; position p itself is multiplied by θ."""
    angles = torch.arange(max_positions)[:, None] / max_positions * theta


@mistake(replaces="return", alone=True)
def precompute_rotary_emb_in_half_precision(angles):
    """Your numbers are only as exact as half precision; make the cache in float32."""
    return torch.stack((angles.cos(), angles.sin()), dim=-1).half().float()


# ── Right but unusual ──────────────────────────────────────────────────────────────────


@variant()
def float64_cache(dim, max_positions):
    """Exponentials of logarithms, all in float64."""
    t = torch.arange(max_positions, dtype=torch.float64)
    f = torch.exp(torch.arange(0, dim, 2, dtype=torch.float64) * (-math.log(10000.0) / dim))
    a = torch.outer(t, f)
    return torch.stack((torch.cos(a), torch.sin(a)), -1)


@variant()
def complex_powers(dim, max_positions):
    """Complex numbers of length 1, seen as pairs."""
    theta = 1.0 / 10000.0 ** (torch.arange(0, dim, 2).float() / dim)
    angles = torch.outer(torch.arange(max_positions).float(), theta)
    return torch.view_as_real(torch.polar(torch.ones_like(angles), angles))


@variant()
def written_out(dim, max_positions):
    """A list of lists."""
    rows = [[p * 10000.0 ** (-2 * i / dim) for i in range(dim // 2)] for p in range(max_positions)]
    return torch.tensor([[[math.cos(a), math.sin(a)] for a in row] for row in rows])


# Written for a GPU: run on the CPU, with a note


@variant()
def made_on_the_gpu(dim, max_positions):
    """Everything is made on cuda."""
    device = torch.device("cuda")
    theta = 10000.0 ** (-2 * torch.arange(dim // 2, device=device) / dim)
    angles = torch.arange(max_positions, device="cuda")[:, None] * theta
    return torch.stack((angles.cos(), angles.sin()), dim=-1).to(device)
