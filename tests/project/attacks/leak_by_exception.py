"""THREATS 18: carry hidden inputs out in the text and the name of an exception, and by printing

Reached: split_heads: your code raised LEAK1_0
"""


def split_heads(x, n_heads):
    print("LEAK", x)
    raise type("LEAK" + str(float(x.flatten()[1])).replace(".", "_"), (Exception,), {})(f"LEAK {x}")
