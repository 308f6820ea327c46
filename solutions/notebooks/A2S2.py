# %% [markdown]
# # 2 Attention, step by step
#
# Eight small functions, one line each, and a ninth that puts them together: that is all there is
# to multi-head causal self-attention. You write each one, look at what it does, and check it.
# The handout, section 2, says what each of them must do.
#
# You may write them here or in `src/attention.py`, which has the same stubs. If you write one
# there, put `from attention import split_heads` (say) in the place of its cell here; the pictures
# then show yours.

# %%
import math

import torch
from torch import Tensor, nn

# %% [markdown]
# This cell draws the pictures; you need not read it. Until you have written what a picture needs, you
# are told so in its place.


# %% jupyter={"source_hidden": true}
def draw(*makers, titles=(), words=(), cmap="Blues", limits=(None, None), numbers="{:.2f}", shade=None):
    """Draw matrices side by side. Each maker makes one, and may not be written yet; `shade` says what colours mean."""
    try:
        matrices = [torch.as_tensor(maker()).detach().float() for maker in makers]
    except NotImplementedError as missing:
        print(f"The picture comes when you have written it: {missing}.")
        return
    for matrix in matrices:
        if matrix.dim() != 2:
            print(f"This cannot be drawn: a matrix was expected, this has the shape {tuple(matrix.shape)}.")
            return
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print(*matrices, sep="\n")
        return
    shades = plt.get_cmap(cmap).with_extremes(bad="#e4e4e4")  # grey: closed
    size = (3.4 * len(matrices), 3.3)
    _, axes = plt.subplots(1, len(matrices), figsize=size, squeeze=False, layout="constrained")
    for axis, matrix, title in zip(axes[0], matrices, [*titles, *[""] * len(matrices)], strict=False):
        colours = matrix.masked_fill(matrix == -math.inf, math.nan) if shade is None else shade(matrix)
        picture = axis.imshow(colours, cmap=shades, vmin=limits[0], vmax=limits[1])
        for row, values in enumerate(matrix.tolist()):
            for column, value in enumerate(values):
                dark = sum(shades(picture.norm(colours[row, column].item()))[:3]) < 1.6
                text = "−∞" if value == -math.inf else numbers.format(value)
                axis.text(column, row, text, ha="center", va="center", fontsize=8, color="white" if dark else "black")
        axis.set_title(title, fontsize=10)
        for ticks, length in ((axis.set_xticks, matrix.shape[1]), (axis.set_yticks, matrix.shape[0])):
            ticks(range(length), labels=words if len(words) == length else [str(place) for place in range(length)])
        axis.tick_params(labelsize=8)
    plt.show()


WORDS = ["the", "cat", "sat", "down"]

# %% [markdown]
# ## 2.1 Four steps
#
# Three linear maps turn each token's embedding into a query ("what do I look for?"), a key ("what
# am I?") and a value ("what do I have to say?"). They are given:

# %%
from attention import init_qkv_proj  # include

# %% [markdown]
# Here are four tokens with embeddings of size 6, and what the three maps make of them.

# %%
torch.manual_seed(3)
embeddings = 1.5 * torch.randn(1, 4, 6)  # (batch, tokens, n_embd)
to_query, to_key, to_value = init_qkv_proj(6)
Q, K, V = (project(embeddings).detach() for project in (to_query, to_key, to_value))
print("Q, K and V have the shape", tuple(Q.shape))

# %% [markdown]
# **Compare.** Row i, column j: how well does the query of token i fit the key of token j?

# %%
from attention import pairwise_similarities  # include

# %%
draw(
    lambda: pairwise_similarities(Q, K)[0],
    titles=["similarities: rows ask, columns answer"],
    words=WORDS,
    cmap="PuOr",
    limits=(-1.5, 1.5),
)

# %% [markdown]
# **Scale.** Sums of many products are large: for random vectors of size d, scores spread like √d. The
# softmax of large scores is nearly one-hot, and then it hardly learns any more. Division keeps the spread
# at about 1, whatever d is.

# %%
from attention import attn_scaled  # include

# %%
torch.manual_seed(0)
ten_scores = torch.randn(1, 10, 400) @ torch.randn(1, 400, 1)  # vectors of size 400, ten of them
draw(
    lambda: ten_scores[0].T.softmax(1),
    lambda: attn_scaled(ten_scores, 400, 1)[0].T.softmax(1),
    titles=["ten weights from raw scores", "from scaled scores"],
    limits=(0, 1),
)

# %% [markdown]
# **Weigh.** Each query has one unit of attention to give away.

# %%
from attention import attn_softmax  # include

# %%
draw(
    lambda: attn_softmax(torch.tensor([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0], [9.0, 0.0, 0.0, 0.0]])),
    titles=["every row sums to 1"],
    limits=(0, 1),
)

# %% [markdown]
# **Mix.** The output of a query is a weighted sum of all values. Below, token 1 listens to itself and to
# token 0 alike, token 2 only to token 3.

# %%
from attention import compute_outputs  # include

# %%
listening = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.25] * 4])
draw(
    lambda: listening,
    lambda: V[0],
    lambda: compute_outputs(listening, V[0]),
    titles=["weights", "values", "outputs"],
    cmap="PuOr",
    limits=(-2, 2),
)

# %% [markdown]
# ## 2.2 Nobody looks ahead
#
# A model that is to predict the next token must not see it. In a mask, **True means "may attend"**.

# %%
from attention import make_causal_mask  # include

# %%
draw(lambda: make_causal_mask(4), titles=["1: may attend"], words=WORDS, limits=(0, 1.5), numbers="{:.0f}")

# %% [markdown]
# The mask goes onto the scores, *before* the softmax: −∞ becomes a weight of exactly 0, and each row
# still sums to 1.

# %%
from attention import apply_causal_mask  # include

# %%
flat = torch.tensor([[0.0, 1.0, 2.0, 3.0]] * 4)
draw(
    lambda: apply_causal_mask(make_causal_mask(4), flat.clone()),
    lambda: attn_softmax(apply_causal_mask(make_causal_mask(4), flat.clone())),
    titles=["scores, closed", "weights"],
    words=WORDS,
)

# %% [markdown]
# ## 2.3 Heads
#
# One head can attend in one way only. Several heads attend in several ways at once, each with its own
# slice of the features. Below, a feature says whose it is: 23 is feature 3 of token 2. Its colour says
# to which head it belongs, so every head should be of one colour.

# %%
from attention import split_heads  # include

# %%
features = 10.0 * torch.arange(3)[:, None] + torch.arange(4)  # 3 tokens, 4 features
draw(
    lambda: features,
    lambda: split_heads(features[None], 2)[0, 0],
    lambda: split_heads(features[None], 2)[0, 1],
    titles=["all features, a token per row", "head 0 of 2", "head 1 of 2"],
    cmap="Pastel1",
    limits=(0, 8),
    numbers="{:02.0f}",
    shade=lambda matrix: matrix % 10 // 2,
)

# %% [markdown]
# After attending, the heads are put side by side again. This must undo the split exactly.

# %%
from attention import merge_heads  # include

# %%
draw(
    lambda: features,
    lambda: merge_heads(split_heads(features[None], 2))[0],
    titles=["before", "split and merged: the same"],
    cmap="Pastel1",
    limits=(0, 8),
    numbers="{:02.0f}",
    shade=lambda matrix: matrix % 10 // 2,
)

# %% [markdown]
# Queries, keys and values are split alike, so this one is given:

# %%
from attention import split_heads_qkv  # include

# %% [markdown]
# ## 2.4 All together

# %%
from attention import self_attention  # include

# %% [markdown]
# **Three checkpoints.** PyTorch has attention built in. With projections that change nothing, it must
# give what you give.


# %%
def official(Q, K, V, n_heads, causal):
    """What PyTorch's own attention gives, with projections that change nothing."""
    length, width = Q.size(1), Q.size(2)
    same = torch.eye(width)
    ahead = torch.ones(length, length).triu(1) > 0  # here, True means "must not attend"
    output, _ = nn.functional.multi_head_attention_forward(
        *(tensor.transpose(0, 1) for tensor in (Q, K, V)),  # PyTorch wants tokens first, batch second
        embed_dim_to_check=width,
        num_heads=n_heads,
        in_proj_weight=same.repeat(3, 1),
        in_proj_bias=None,
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0.0,
        out_proj_weight=same,
        out_proj_bias=None,
        attn_mask=ahead if causal else None,
    )
    return output.transpose(0, 1)


def checkpoint(n_heads, causal):
    """Compare self_attention with PyTorch's on random tensors, and say how far they are apart."""
    what = f"{n_heads} head{'s' if n_heads > 1 else ''}, {'causal' if causal else 'not causal'}"
    Q, K, V = torch.randn(3, 2, 7, 12)  # 2 in the batch, 7 tokens, 12 features
    try:
        apart = (self_attention(Q, K, V, n_heads, causal) - official(Q, K, V, n_heads, causal)).abs().max().item()
    except NotImplementedError as missing:
        print(f"·  {what}: {missing}")
        return
    print(f"{'✓' if apart < 1e-5 else '✗'}  {what}: the largest difference is {apart:.1e}")


# %%
checkpoint(n_heads=1, causal=False)

# %%
checkpoint(n_heads=1, causal=True)

# %%
checkpoint(n_heads=3, causal=True)

# %% [markdown]
# **What do the heads look at?** A trick shows it: if each token's value is its own name (a 1 in its own
# place, 0 elsewhere), then the output of a token says whom it listened to.

# %%
torch.manual_seed(8)
long_queries, long_keys = 2 * torch.randn(2, 1, 4, 12)  # 3 heads of size 4
names = torch.eye(4).repeat(1, 3)[None]  # every head gets the names of all four tokens
draw(
    lambda: self_attention(long_queries, long_keys, names, n_heads=3)[0, :, 0:4],
    lambda: self_attention(long_queries, long_keys, names, n_heads=3)[0, :, 4:8],
    lambda: self_attention(long_queries, long_keys, names, n_heads=3)[0, :, 8:12],
    titles=["head 0", "head 1", "head 2"],
    words=WORDS,
    limits=(0, 1),
)

# %% [markdown]
# Three heads, three ways to listen, and nobody looks ahead. That is the heart of a transformer, and you
# wrote it.
