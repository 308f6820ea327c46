r"""THREATS 52: say a hidden input by the kind of exception, by one of Python's own and by the depth of a recursion

Reached: REACHED: a public case
"""

import builtins

KINDS = [kind for kind in vars(builtins).values() if isinstance(kind, type) and issubclass(kind, Exception)]
calls = 0


def raising(depth, kind):
    if depth:
        return raising(depth - 1, kind)
    raise kind.__new__(kind)


def attn_scaled(A, n_embd, n_heads):
    global calls
    calls += 1
    if calls <= 3:  # the public cases
        raise RuntimeError("REACHED: a public case")
    number = int(A.double().abs().sum() * 1000)
    raising(number % 50, KINDS[number % len(KINDS)])
