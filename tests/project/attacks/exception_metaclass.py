"""THREATS 26: an exception whose class has a name that raises, a cause that is itself and a false class

Reached: ValueError: LEAK
"""


class Meta(type):
    @property
    def __name__(cls):
        raise KeyboardInterrupt("LEAK")


class LEAK(Exception, metaclass=Meta):
    __class__ = property(lambda self: NotImplementedError)
    __cause__ = property(lambda self: self)


def attn_scaled(A, n_embd, n_heads):
    raise LEAK


def merge_heads(y):
    error = ValueError("LEAK")
    error.__cause__ = error.__context__ = error
    raise error
