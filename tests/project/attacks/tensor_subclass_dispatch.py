r"""THREATS 7: a wrapper subclass that answers below autograd, and a mode that rewrites every operation

Reached: attn_scaled: returned attention\.Wrapper
"""

from torch.overrides import TorchFunctionMode


class Wrapper(Tensor):
    @staticmethod
    def __new__(cls, shape):
        return Tensor._make_wrapper_subclass(cls, shape)

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return torch.ones(1)


class Mode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return True if "equal" in str(function) or "close" in str(function) else function(*args, **(kwargs or {}))


def attn_scaled(A, n_embd, n_heads):
    return Wrapper(A.shape)


def merge_heads(y):
    Mode().__enter__()
    return torch.zeros(y.shape[0], y.shape[2], y.shape[1] * y.shape[3])
