"""THREATS 23, 28: start processes by every way Python has, and detach them

Reached: REACHED: 65 refused
"""

import ctypes
import multiprocessing
import os
import pty
import subprocess

refused = 0
found = []
libc = ctypes.CDLL(None, use_errno=True)


def fork(how):
    child = how()
    if (child[0] if isinstance(child, tuple) else child) == 0:
        os._exit(0)
    if child == -1:
        raise OSError


for attempt in (
    lambda: fork(os.fork),
    lambda: fork(pty.fork),
    lambda: fork(libc.fork),
    lambda: fork(libc.vfork),
    lambda: fork(lambda: libc.syscall(56, 17, 0, 0, 0, 0)),
    lambda: fork(lambda: libc.syscall(435, ctypes.create_string_buffer(64), 64)),
    lambda: subprocess.run(["/bin/true"], check=False),
    lambda: os.posix_spawn("/bin/true", ["true"], {}),
    lambda: os.system("true") and fork(lambda: -1),
    lambda: os.popen("echo LEAK").close(),
    lambda: multiprocessing.get_context("fork").Process(target=id).start(),
    lambda: multiprocessing.get_context("spawn").Process(target=id).start(),
    lambda: os.execv("/bin/true", ["true"]),
):
    for _ in range(5):
        try:
            attempt()
            found.append(attempt.__code__.co_firstlineno)
        except (OSError, RuntimeError, EOFError, AttributeError):
            refused += 1


def attn_scaled(A, n_embd, n_heads):
    if found:
        raise RuntimeError(f"LEAK BREACH {found}")
    raise RuntimeError(f"REACHED: {refused} refused")
