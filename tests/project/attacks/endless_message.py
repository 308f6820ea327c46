"""THREATS 21, 26: exceptions whose text never ends, raises, is not text, or is megabytes

Reached: make_causal_mask: did not finish within
"""


class LEAK(Exception):
    def __str__(self):
        while True:
            pass


class Huge(NotImplementedError):
    def __str__(self):
        return "LEAK" * 2_500_000


class Raises(NotImplementedError):
    def __str__(self):
        raise SystemExit("LEAK")


def raising(error):
    def attempt(*_):
        raise error

    return attempt


make_causal_mask, attn_scaled, attn_softmax = raising(LEAK()), raising(Huge()), raising(Raises())
compute_outputs = raising(type("NoText", (Exception,), {"__str__": lambda self: 7})())
