r"""THREATS 7, 8: a Parameter, the one other type that is taken, with a data that lies

Reached: merge_heads: shape \(1,\), expected \(1, 2, 4\)
"""


def merge_heads(y):
    result = nn.Parameter(torch.zeros(1))
    result.detach = result.cpu = lambda: y
    nn.Parameter.__torch_function__ = classmethod(lambda *_: y)
    nn.Parameter.data = property(lambda self: y)
    return result
