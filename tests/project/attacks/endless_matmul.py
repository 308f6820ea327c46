r"""THREATS 21, 44: multiply large matrices with as many threads as it gets

Reached: attn_scaled: did not finish within
"""


def attn_scaled(A, n_embd, n_heads):
    torch.set_num_threads(64)
    x = torch.ones(3000, 3000)
    while True:
        x = x @ x
