r"""THREATS 54: huge pages, of which the machine has few, and which nobody's resident memory shows

Reached: REACHED: 4 refused
"""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
done, refused = [], 0
for flags in (0x40022, 0x40022 | 21 << 26, 0x40022 | 30 << 26, 0x44022):  # of the usual size, 2 MB, 1 GB, unreserved
    address = libc.mmap(None, ctypes.c_size_t(1 << 30), 3, flags, -1, ctypes.c_long(0))
    if address != ctypes.c_void_p(-1).value:
        done.append(flags)
    elif ctypes.get_errno() == 1:  # and not that there are none today
        refused += 1


def attn_scaled(A, n_embd, n_heads):
    if done:
        raise RuntimeError(f"LEAK BREACH {done}")
    raise RuntimeError(f"REACHED: {refused} refused")
