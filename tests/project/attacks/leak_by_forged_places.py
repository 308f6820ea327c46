"""THREATS 14, 18: forge a trouble whose file name, kind, type and text hold hidden inputs

Reached: attn_scaled: LEAK tensor
"""

from autograder.running.perform import Trouble
from autograder.workers import wire

honest = wire.pack_reply
KINDS = ("missing", "import", "not started", "exception")


def attempting(kind):
    def attempt(first, *_):
        text = f"LEAK {first}"
        frames = (("src/attention.py", 1, text), (text, 2, text), ("../src/attention.py\0LEAK", 3, text))
        wire.pack_reply = lambda reply, number: honest(Trouble(kind, text, text, frames), number)

    return attempt


attn_scaled, split_heads, merge_heads, make_causal_mask = map(attempting, KINDS)
