# %% [markdown]
# # 1 Crafting queries
#
# Attention looks things up. A query is compared with every key, and the values are mixed
# according to how well their keys fit. Usually a network learns the queries. Today you are
# the network: you choose them by hand, and you see at once what comes out.
#
# Run the cells from top to bottom (Shift + Enter). Where you find a TODO, it is your turn.
# The background is in the handout, section 1.

# %% [markdown]
# ## 1.1 The setting
#
# Four tokens. Token i has a key `K[i]` and a value `V[i]`, both of size 3.

# %%
import torch
from torch import Tensor

K = torch.tensor([[0.47, 0.65, 0.60], [0.64, 0.50, -0.59], [-0.03, -0.48, -0.88], [0.43, -0.83, 0.35]])
V = torch.tensor([[-0.07, -0.88, 0.47], [0.37, -0.93, -0.07], [-0.25, -0.75, 0.61], [0.94, 0.20, 0.28]])

# %% [markdown]
# Attention is **unscaled** here: softmax(q Kᵀ) V. Your answer is judged by its **error**: of
# all entries of the output, the one that is furthest from the goal counts. 0.05 is near enough.


# %%
def attention(query: Tensor, key: Tensor = K) -> Tensor:
    """Attend with one query (3,) or several (n, 3); returns the same shape."""
    return torch.softmax(query @ key.T, dim=-1) @ V


def error(output: Tensor, target: Tensor) -> float:
    """The largest absolute difference; 0.05 or less earns the points."""
    return (output - target).abs().max().item()


print("The query (1, 0, 0) gives", attention(torch.tensor([1.0, 0.0, 0.0])))

# %% [markdown]
# Numbers are hard to see through, so here are two ways to look. `look(query, goal)` draws what a
# query does: on the left how much of its attention each token gets, on the right what comes out.
# `explore()` gives you sliders. You need not read the cell that defines them.


# %% jupyter={"source_hidden": true}
TOKENS = ["#3b6fb6", "#d9822b", "#3c9d6b", "#b04a6f"]  # one colour per token


def watched():
    """Is this a notebook with somebody in front of it? While it is graded, nothing is drawn."""
    shell = globals().get("get_ipython")
    return bool(shell and shell())


def look(query, goal=None, key=K):
    """Draw the weights and the output of a query; the goal, if there is one, as black lines."""
    if not watched():
        return
    if query is None or key is None:
        print("Nothing to look at yet: it is still None.")
        return
    try:
        queries = torch.atleast_2d(torch.as_tensor(query, dtype=torch.float32).detach())
        weights = torch.softmax(queries @ torch.as_tensor(key, dtype=torch.float32).detach().T, dim=-1)
        outputs = weights @ V
    except (RuntimeError, TypeError, ValueError) as problem:
        print("This cannot be drawn; is it of the right shape?", problem)
        return
    goals = None if goal is None else torch.atleast_2d(goal)
    if goals is not None and goals.shape == outputs.shape:
        distance = error(outputs, goals)
        print(f"error {distance:.4f}:", "near enough!" if distance <= 0.05 else "must be at most 0.05")
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        print("weights", weights.tolist(), "output", outputs.tolist())
        return
    rows = len(queries)
    _, axes = plt.subplots(rows, 2, figsize=(8, 0.9 + 1.5 * rows), squeeze=False, layout="constrained")
    for row, (left, right) in enumerate(axes):
        left.bar(range(4), weights[row], color=TOKENS, width=0.6)
        left.set(ylim=(0, 1.12), xticks=range(4), xticklabels=[f"token {token}" for token in range(4)])
        left.bar_label(left.containers[0], fmt="%.2f", fontsize=8, color="dimgray")
        right.bar(range(3), outputs[row], color="#7a869a", width=0.6)
        right.axhline(0, color="silver", linewidth=0.8)
        right.set(ylim=(-1.1, 1.1), xticks=range(3), xticklabels=["first", "second", "third"])
        if goals is not None and goals.shape == outputs.shape:
            right.hlines(goals[row], [-0.4, 0.6, 1.6], [0.4, 1.4, 2.4], color="black", linewidth=2, label="goal")
            if row == 0:
                right.legend(loc="upper right", fontsize=8, frameon=False)
        if rows > 1:
            left.set_ylabel(f"query {row}")
        for side in (left, right):
            side.spines[["top", "right"]].set_visible(False)
    axes[0, 0].set_title("who gets the attention", fontsize=10)
    axes[0, 1].set_title("what comes out", fontsize=10)
    plt.show()


def explore():
    """Three queries of different length, and sliders to try others, where the notebook has them."""
    if not watched():
        return
    print("The query (1, 0, 0), then three, then nine times as long:")
    for length in (1.0, 3.0, 9.0):
        look(length * torch.tensor([1.0, 0.0, 0.0]))
    try:
        from ipywidgets import FloatSlider, interact
    except ImportError:
        print("With the package ipywidgets you would find sliders here.")
        return

    def moved(first, second, third, length):
        look(length * torch.tensor([first, second, third]))

    across = [FloatSlider(value=start, min=-1, max=1, step=0.05) for start in (1, 0, 0)]
    interact(moved, first=across[0], second=across[1], third=across[2], length=FloatSlider(value=1, min=0, max=50))


# %%
explore()

# %% [markdown]
# Play before you go on. What does the *direction* of the query decide? And what does its
# *length* decide?
#
# ## 1.2 Look one value up
#
# What makes the softmax choose one key, or nearly so?

# %%
# TODO(query121): a query (3,) whose output is the value of token 0.
# BEGIN SOLUTION query121
query121 = 10 * K[0]
# STUB
# query121 = None
# END SOLUTION query121
look(query121, goal=V[0])

# %%
# TODO(query122): a matrix of queries (4, 3) whose output is V, row for row.
# BEGIN SOLUTION query122
query122 = 100 * K
# STUB
# query122 = None
# END SOLUTION query122
look(query122, goal=V)

# %% [markdown]
# <!-- TODO(written123) -->
#
# **1.2.3** In one or two sentences: why does a longer query come closer to the goal?
# Would it still work if one key were twice as long as the others?

# %% [markdown]
# BEGIN SOLUTION written123
# A longer query multiplies all scores, and with them the differences between them, so the softmax
# puts nearly all weight on the largest. A long key can win although its direction fits less well.
# STUB
# # _Your answer here._
# END SOLUTION written123

# %% [markdown]
# ## 1.3 Average
#
# Equal weights need equal scores.

# %%
# TODO(query131): a query (3,) whose output is the mean of all four values.
# BEGIN SOLUTION query131
query131 = torch.zeros(3)
# STUB
# query131 = None
# END SOLUTION query131
look(query131, goal=V.mean(0))

# %%
# TODO(query132): a query (3,) whose output is the mean of the values of tokens 0 and 1.
# You will use this same query in 1.4, so come back to it.
# BEGIN SOLUTION query132
query132 = 40 * (K[0] + K[1]) / 2
# STUB
# query132 = None
# END SOLUTION query132
look(query132, goal=V[:2].mean(0))

# %% [markdown]
# <!-- TODO(written133) -->
#
# **1.3.3** Make `query132` ten times longer, then a hundred times, and look. What
# happens, and why does it not happen with the query of 1.2.1?

# %% [markdown]
# BEGIN SOLUTION written133
# The keys are not exactly of length 1, so the scores of tokens 0 and 1 differ a little. A very long
# query makes that difference large, and one of the two takes all. In 1.2.1 one token should take all.
# STUB
# # _Your answer here._
# END SOLUTION written133

# %% [markdown]
# ## 1.4 Change a key instead
#
# Now the query stays and a key changes. Both times `query132` attends, and you may replace row 2
# of the key, nothing else. If one of them will not come close, go back to `query132`: one query has to
# serve three goals.

# %%
# TODO(key141): a key (4, 3) with which query132 gives the mean of the values of tokens 0, 1 and 2.
# BEGIN SOLUTION key141
key141 = K.clone()
key141[2] = (K[0] + K[1]) / 2
# STUB
# key141 = None
# END SOLUTION key141
look(query132, goal=V[:3].mean(0), key=key141)

# %%
# TODO(key142): a key (4, 3) whose row 2 has length 1, with which query132 gives the value of token 2.
# BEGIN SOLUTION key142
key142 = K.clone()
key142[2] = query132 / query132.norm()
# STUB
# key142 = None
# END SOLUTION key142
look(query132, goal=V[2], key=key142)

# %% [markdown]
# <!-- TODO(written143) -->
#
# **1.4.3** In a trained network, what would it mean if one token's key had a large
# score with nearly every query?

# %% [markdown]
# BEGIN SOLUTION written143
# Nearly every token would attend to it, so its value would be mixed into nearly every output, whatever
# was asked for; other tokens would hardly be heard.
# STUB
# # _Your answer here._
# END SOLUTION written143

# %% [markdown]
# ## How close are you?

# %%
for part, query, key, target in [
    ("1.2.1", query121, K, V[0]),
    ("1.2.2", query122, K, V),
    ("1.3.1", query131, K, V.mean(0)),
    ("1.3.2", query132, K, V[:2].mean(0)),
    ("1.4.1", query132, key141, V[:3].mean(0)),
    ("1.4.2", query132, key142, V[2]),
]:
    if query is None or key is None:
        print(part, "not started")
    else:
        query, key = (torch.as_tensor(given, dtype=torch.float32) for given in (query, key))
        distance = error(attention(query, key), target)
        print(part, f"error {distance:.4f}", "✓" if distance <= 0.05 else "")
