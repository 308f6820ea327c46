"""THREATS 21: a regular expression that backtracks for longer than the universe lasts"""

import re


def attn_scaled(A, n_embd, n_heads):
    return re.match(r"(a+)+b", "a" * 60)
