r"""THREATS 27: signals to the parent, the group, the session and everybody, by every call that sends one

Reached: REACHED: [1-9]\d* refused
"""

import ctypes
import fcntl
import os
import signal

libc = ctypes.CDLL(None, use_errno=True)
others = [pid for pid in (os.getppid(), *(os.getpid() - back for back in range(1, 9))) if pid > 1]
refused = 0
done = []
for pid in [*others, 0, -1, -os.getpgrp(), -os.getsid(0)]:
    for attempt in (
        lambda: os.kill(pid, signal.SIGCONT),
        lambda: os.killpg(abs(pid), signal.SIGCONT),
        lambda: signal.pidfd_send_signal(os.pidfd_open(abs(pid)), signal.SIGCONT),
        lambda: fcntl.fcntl(0, fcntl.F_SETOWN, pid),
        lambda: os.setpriority(os.PRIO_PGRP, abs(pid), 19),
        lambda: os.sched_setaffinity(abs(pid), [0]) if pid not in (0, -os.getpid()) else os.kill(-1, 0),
    ):
        try:
            attempt()
            done.append((pid, attempt.__code__.co_firstlineno))
        except (OSError, OverflowError):
            refused += 1
    for number, arguments in ((200, (pid, 18)), (234, (pid, pid, 18)), (129, (pid, 18, ctypes.c_char_p(bytes(128))))):
        if pid != -os.getpid() and libc.syscall(number, *arguments) != -1:
            done.append((pid, number))


def attn_scaled(A, n_embd, n_heads):
    if done:
        raise RuntimeError(f"LEAK BREACH {done}")
    raise RuntimeError(f"REACHED: {refused} refused")
