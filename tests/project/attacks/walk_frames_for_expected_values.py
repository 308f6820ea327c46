r"""THREATS 4: climb the frames, and search all they know for tensors of the right shape

Reached: REACHED: [1-9]\d{3,} things, none
"""

import sys


def attn_scaled(A, n_embd, n_heads):
    frame, seen, found = sys._getframe(), set(), []
    todo = []
    while frame:
        todo += [*frame.f_locals.values(), *frame.f_globals.values()]
        frame = frame.f_back
    while todo and len(seen) < 50_000:
        thing = todo.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if type(thing) is Tensor and thing.shape == A.shape and not torch.equal(thing, A):
            found.append(thing)
        if type(thing) in (list, tuple, set):
            todo += thing
        elif type(thing) is dict:
            todo += thing.values()
        elif type(thing).__module__.startswith("autograder"):
            todo += getattr(thing, "__dict__", {}).values()
    if not found:
        raise RuntimeError(f"REACHED: {len(seen)} things, none of them expected")
    return found[0]
