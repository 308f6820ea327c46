r"""THREATS 55: files that never had a name or have lost it, in as many descriptors as threads with their own tables have

Reached: make_causal_mask: your code wrote too many files, or too much into them
Reached (ordinary user): REACHED: 3 refused, \d\d MB or less
"""

import ctypes
import os
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
done, refused, written = [], 0, 0
try:
    os.open(".", os.O_TMPFILE | os.O_RDWR)
    done.append("a file without a name")
except OSError:
    refused += 1
for name, number, arguments in (("unshare", 272, (0x400,)), ("close_range", 436, (1000, 1000, 2))):
    if libc.syscall(number, *arguments) == -1:
        refused += 1
    else:
        done.append(name)


def fill():
    """As many as there are descriptors, which a thread may have for itself."""
    global written
    libc.syscall(436, 1000, 1000, 2)
    try:
        for number in range(1000):
            name = f"attack-was-here-{threading.get_ident()}-{number}"
            descriptor = os.open(name, os.O_CREAT | os.O_RDWR)
            os.unlink(name)
            written += os.write(descriptor, bytes(4 << 20)) >> 20
    except OSError:
        pass  # no more of them
    time.sleep(1000)


def make_causal_mask(n_tok):
    if threading.active_count() == 1:
        for _ in range(4):
            threading.Thread(target=fill, daemon=True).start()
        time.sleep(0.7)
    if done or written >= 128:
        raise RuntimeError(f"LEAK BREACH {done}, {written} MB without a name")
    raise RuntimeError(f"REACHED: {refused} refused, {written} MB or less")
