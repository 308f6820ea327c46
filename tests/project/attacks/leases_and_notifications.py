r"""THREATS 53, 56: leases, notifications and flags on Python's own files, which others need: they wait, or see a bit

Reached: REACHED: 10 refused
"""

import ctypes
import fcntl
import os
import struct

libc = ctypes.CDLL(None, use_errno=True)
shared, folder = os.open(os.__file__, os.O_RDONLY), os.open(os.path.dirname(os.__file__), os.O_RDONLY)
own = os.open("mine", os.O_RDWR | os.O_CREAT)
done, refused = [], 0


def checked(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")


for name, attempt in {
    "a lease": lambda: fcntl.fcntl(shared, fcntl.F_SETLEASE, fcntl.F_RDLCK),
    "a lease on its own": lambda: fcntl.fcntl(own, fcntl.F_SETLEASE, fcntl.F_WRLCK),
    "dnotify": lambda: fcntl.fcntl(folder, fcntl.F_NOTIFY, fcntl.DN_ACCESS | fcntl.DN_MULTISHOT),
    "inotify": lambda: checked(libc.inotify_init1(0)),
    "fanotify": lambda: checked(libc.fanotify_init(0x200, 0)),
    "pipes": lambda: fcntl.fcntl(os.pipe()[0], fcntl.F_SETPIPE_SZ, 1 << 20),
    "a hint": lambda: fcntl.fcntl(own, 1036, struct.pack("Q", 2)),  # F_SET_RW_HINT, kept with the inode
    "a hint on a shared file": lambda: fcntl.fcntl(shared, 1036, struct.pack("Q", 0)),
    "flags": lambda: fcntl.ioctl(shared, 0x80086601, bytes(8)),  # FS_IOC_GETFLAGS
    "other flags": lambda: fcntl.ioctl(own, 0x40086602, struct.pack("q", 0x80)),  # FS_IOC_SETFLAGS: no access times
}.items():
    try:
        attempt()
        done.append(name)
    except OSError:
        refused += 1


def attn_scaled(A, n_embd, n_heads):
    if done:
        raise RuntimeError(f"LEAK BREACH {done}")
    raise RuntimeError(f"REACHED: {refused} refused")
