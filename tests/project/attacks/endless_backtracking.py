r"""THREATS 21: a regular expression that backtracks for longer than the universe lasts

Reached: at src/attention\.py line \d+: return re\.match
"""

import re


def attn_scaled(A, n_embd, n_heads):
    return re.match(r"(a+)+b", "a" * 60)
