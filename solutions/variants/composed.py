"""Right but unusual: steps put together in other ways, and rotations in other forms. Each must keep full marks."""

import math

import torch
from attention import apply_rotary_emb, make_causal_mask, merge_heads, split_heads_qkv

from autograder.proving.mistakes import variant

# ── self_attention ─────────────────────────────────────────────────────────────────────


@variant("self_attention")
def loops(Q, K, V, n_heads=1, causal=True):
    """Loops over heads and queries; no mask is needed when only the past is looked at."""
    out = torch.zeros_like(Q)
    size = Q.size(-1) // n_heads
    for h in range(n_heads):
        cut = slice(h * size, (h + 1) * size)
        q, k, v = Q[..., cut], K[..., cut], V[..., cut]
        for i in range(Q.size(1)):
            n = i + 1 if causal else Q.size(1)
            w = torch.softmax((q[:, i : i + 1] @ k[:, :n].mT) / math.sqrt(size), -1)
            out[:, i, cut] = (w @ v[:, :n])[:, 0]
    return out


@variant("self_attention")
def library_kernel(Q, K, V, n_heads=1, causal=True):
    """torch's own attention."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    return merge_heads(torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal))


@variant("self_attention")
def scaled_before_comparing(Q, K, V, n_heads=1, causal=True):
    """Queries and keys are scaled, by the fourth root each, instead of scores."""
    q, k, v = split_heads_qkv(Q, K, V, n_heads)
    root = q.size(-1) ** 0.25
    A = (q / root) @ (k / root).mT
    if causal:
        A = A.masked_fill(make_causal_mask(Q.size(1)) == 0, -math.inf)
    return merge_heads(A.softmax(-1) @ v)


@variant("self_attention")
def one_einsum_each(Q, K, V, n_heads=1, causal=True):
    """Heads by view and einsum, with an additive mask."""
    B, T, C = Q.shape
    q, k, v = (part.reshape(B, T, n_heads, C // n_heads) for part in (Q, K, V))
    scores = torch.einsum("bihd,bjhd->bhij", q, k) / (C // n_heads) ** 0.5
    if causal:
        scores = scores + torch.full((T, T), -math.inf, dtype=Q.dtype).triu(1)
    return torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v).reshape(B, T, C)


# ── RoPE ───────────────────────────────────────────────────────────────────────────────


@variant("precompute_rotary_emb")
def float64_cache(dim, max_positions):
    """Exponentials of logarithms, all in float64."""
    t = torch.arange(max_positions, dtype=torch.float64)
    f = torch.exp(torch.arange(0, dim, 2, dtype=torch.float64) * (-math.log(10000.0) / dim))
    a = torch.outer(t, f)
    return torch.stack((torch.cos(a), torch.sin(a)), -1)


@variant("precompute_rotary_emb")
def complex_powers(dim, max_positions):
    """Complex numbers of length 1, seen as pairs."""
    theta = 1.0 / 10000.0 ** (torch.arange(0, dim, 2).float() / dim)
    angles = torch.outer(torch.arange(max_positions).float(), theta)
    return torch.view_as_real(torch.polar(torch.ones_like(angles), angles))


@variant("precompute_rotary_emb")
def written_out(dim, max_positions):
    """A list of lists."""
    rows = [[p * 10000.0 ** (-2 * i / dim) for i in range(dim // 2)] for p in range(max_positions)]
    return torch.tensor([[[math.cos(a), math.sin(a)] for a in row] for row in rows])


@variant("apply_rotary_emb")
def complex_product(x, rope_cache):
    """A product of complex numbers."""
    T = x.size(-2)
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    c = torch.view_as_complex(rope_cache[:T].to(x.dtype).contiguous())
    return torch.view_as_real(z * c).flatten(-2)


@variant("apply_rotary_emb")
def rotation_matrices(x, rope_cache):
    """A 2 by 2 matrix for each pair."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    turn = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2)
    pairs = x.unflatten(-1, (-1, 2))
    return torch.einsum("tpij,...tpj->...tpi", turn, pairs).flatten(-2)


@variant("apply_rotary_emb")
def turned_by_a_quarter(x, rope_cache):
    """x times cosines plus x turned by 90 degrees times sines."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).repeat_interleave(2, dim=-2).unbind(-1)
    turned = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).reshape(x.shape)
    return x * cos + turned * sin


@variant("apply_rotary_emb")
def written_into_a_copy(x, rope_cache):
    """Even and odd features written into a new tensor."""
    cos, sin = rope_cache[: x.shape[-2], :, 0].to(x.dtype), rope_cache[: x.shape[-2], :, 1].to(x.dtype)
    out = torch.empty_like(x)
    out[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., ::2] * sin + x[..., 1::2] * cos
    return out


@variant("apply_rotary_emb")
def float64_rotation(x, rope_cache):
    """float64 inside."""
    cos, sin = rope_cache[: x.size(-2)].double().unbind(-1)
    a, b = x[..., 0::2].double(), x[..., 1::2].double()
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2).to(x.dtype)


@variant("apply_rotary_emb")
def unpacked_sizes(x, rope_cache):
    """The four sizes unpacked: x always has batch, heads, tokens and head size."""
    B, nh, T, hs = x.shape
    pairs = x.float().reshape(B, nh, T, hs // 2, 2)
    cos, sin = rope_cache[:T, :, 0].view(1, 1, T, hs // 2), rope_cache[:T, :, 1].view(1, 1, T, hs // 2)
    a, b = pairs[..., 0], pairs[..., 1]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).reshape(B, nh, T, hs).type_as(x)


@variant("apply_rotary_emb")
def complex_product_without_a_cast(x, rope_cache):
    """A product of complex numbers that relies on the cache's own dtype."""
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
    c = torch.view_as_complex(rope_cache[: x.shape[-2]].contiguous())
    return torch.view_as_real(z * c).flatten(-2)


@variant("apply_rotary_emb", replaces="cos, sin =")
def no_cast_at_all(x, rope_cache):
    """The cache as it is: it has the dtype that one's own precompute_rotary_emb gave it."""
    cos, sin = rope_cache[: x.size(-2)].unbind(-1)


@variant("apply_rotary_emb", replaces="return")
def cast_at_the_end(x, rotated):
    """x's dtype only at the very end."""
    return rotated.flatten(-2).type_as(x)


# ── CausalSelfAttention ────────────────────────────────────────────────────────────────


@variant("causal_self_attention")
def fused(self, x):
    """One large product for queries, keys and values; torch's own kernel."""
    weight = torch.cat((self.query.weight, self.key.weight, self.value.weight))
    bias = torch.cat((self.query.bias, self.key.bias, self.value.bias))
    q, k, v = torch.nn.functional.linear(x, weight, bias).chunk(3, dim=-1)
    q, k, v = split_heads_qkv(q, k, v, self.n_head)
    if self.rope:
        q, k = apply_rotary_emb(q, self.rope_cache), apply_rotary_emb(k, self.rope_cache)
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return self.resid_drop(self.proj(merge_heads(y)))


@variant("causal_self_attention")
def inline(self, x):
    """Everything in place, as the original code does, with a large negative fill."""
    B, T, C = x.size()
    k = self.key(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
    q = self.query(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
    v = self.value(x).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
    if self.rope:
        q, k = apply_rotary_emb(q, self.rope_cache), apply_rotary_emb(k, self.rope_cache)
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    att = att.masked_fill(torch.tril(torch.ones(T, T)).view(1, 1, T, T) == 0, -1e10)
    y = self.attn_drop(torch.softmax(att, dim=-1)) @ v
    return self.resid_drop(self.proj(y.transpose(1, 2).contiguous().view(B, T, C)))


# ── written for a GPU: run on the CPU, with a note ─────────────────────────────────────


@variant("apply_rotary_emb")
def moved_to_the_gpu(x, rope_cache):
    """Both tensors are sent to cuda first."""
    x, rope_cache = x.cuda(), rope_cache.to("cuda")
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


@variant("precompute_rotary_emb")
def made_on_the_gpu(dim, max_positions):
    """Everything is made on cuda."""
    device = torch.device("cuda")
    theta = 10000.0 ** (-2 * torch.arange(dim // 2, device=device) / dim)
    angles = torch.arange(max_positions, device="cuda")[:, None] * theta
    return torch.stack((angles.cos(), angles.sin()), dim=-1).to(device)


@variant("causal_self_attention", replaces="A = apply_causal_mask")
def mask_on_the_gpu(A, n_tok):
    """The mask is made on cuda."""
    mask = torch.ones(n_tok, n_tok, device="cuda").tril().cuda()
    A = A.masked_fill(mask == 0, -math.inf)
