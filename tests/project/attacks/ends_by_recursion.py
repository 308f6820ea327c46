r"""THREATS 26: recurse without end, in Python and, with the limit raised, through the C stack

Reached: merge_heads: your code crashed Python \(segmentation fault\)
"""

import sys


def attn_scaled(A, n_embd, n_heads):
    return attn_scaled(A, n_embd, n_heads)


def merge_heads(y):
    sys.setrecursionlimit(10**9)

    class Deep:
        __repr__ = lambda self: repr([self])

    return repr(Deep())
