# %% [markdown]
# # Crafting queries
#
# Four tokens, each with a key and a value of size 3. You choose the queries.
# Attention is unscaled here: softmax(q Kᵀ) V. Handout, section 1.

# %%
import torch
from torch import Tensor

K = torch.tensor([[0.47, 0.65, 0.60], [0.64, 0.50, -0.59], [-0.03, -0.48, -0.88], [0.43, -0.83, 0.35]])
V = torch.tensor([[-0.07, -0.88, 0.47], [0.37, -0.93, -0.07], [-0.25, -0.75, 0.61], [0.94, 0.20, 0.28]])


def attention(query: Tensor, key: Tensor = K) -> Tensor:
    """Attend with one query (3,) or several (n, 3); returns the same shape."""
    return torch.softmax(query @ key.T, dim=-1) @ V


def error(output: Tensor, target: Tensor) -> float:
    """The largest absolute difference; 0.05 or less earns the points."""
    return (output - target).abs().max().item()


# %% [markdown]
# ## 1.2 Look one value up

# %%
# TODO(query121): a query (3,) whose output is the value of token 0.
# BEGIN SOLUTION query121
query121 = 10 * K[0]
# STUB
# query121 = None
# END SOLUTION query121

# %%
# TODO(query122): a matrix of queries (4, 3) whose output is V, row for row.
# BEGIN SOLUTION query122
query122 = 100 * K
# STUB
# query122 = None
# END SOLUTION query122

# %% [markdown]
# ## 1.3 Average

# %%
# TODO(query131): a query (3,) whose output is the mean of all four values.
# BEGIN SOLUTION query131
query131 = torch.zeros(3)
# STUB
# query131 = None
# END SOLUTION query131

# %%
# TODO(query132): a query (3,) whose output is the mean of the values of tokens 0 and 1.
# You will use this same query in 1.4, so come back to it.
# BEGIN SOLUTION query132
query132 = 40 * (K[0] + K[1]) / 2
# STUB
# query132 = None
# END SOLUTION query132

# %% [markdown]
# ## 1.4 Change a key instead
#
# Keep query132. You may replace row 2 of the key, and nothing else.

# %%
# TODO(key141): a key (4, 3) with which query132 gives the mean of the values of tokens 0, 1 and 2.
# BEGIN SOLUTION key141
key141 = K.clone()
key141[2] = (K[0] + K[1]) / 2
# STUB
# key141 = None
# END SOLUTION key141

# %%
# TODO(key142): a key (4, 3) whose row 2 has length 1, with which query132 gives the value of token 2.
# BEGIN SOLUTION key142
key142 = K.clone()
key142[2] = query132 / query132.norm()
# STUB
# key142 = None
# END SOLUTION key142

# %% [markdown]
# ## How close are you?

# %%
if __name__ == "__main__":
    goals = [
        ("1.2.1", query121, K, V[0]),
        ("1.2.2", query122, K, V),
        ("1.3.1", query131, K, V.mean(0)),
        ("1.3.2", query132, K, V[:2].mean(0)),
        ("1.4.1", query132, key141, V[:3].mean(0)),
        ("1.4.2", query132, key142, V[2]),
    ]
    for part, query, key, target in goals:
        started = query is not None and key is not None
        print(part, f"error {error(attention(query, key), target):.4f}" if started else "not started")
