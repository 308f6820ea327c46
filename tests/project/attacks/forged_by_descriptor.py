"""THREATS 14: find the channel among the open descriptors and write rubbish into every one of them

Reached: attn_scaled: (the reply of your code could not be read|your code wrote to the grader's channel)
"""

import os


def attn_scaled(A, n_embd, n_heads):
    for descriptor in range(256):
        try:
            os.fstat(descriptor)
            os.write(descriptor, b"\xff" * 64)
        except OSError:
            pass
    return A
