"""THREATS 27, 44: take back what confines it: limits, user, groups, capabilities, namespaces, filters, roots

Reached: REACHED: 27 refused
"""

import ctypes
import os
import resource

libc = ctypes.CDLL(None, use_errno=True)
refused = 0
done = []
for name in ("CPU", "FSIZE", "NOFILE", "NPROC", "CORE", "MEMLOCK", "STACK"):
    which = getattr(resource, f"RLIMIT_{name}")
    try:
        resource.setrlimit(which, (resource.getrlimit(which)[1] + 1,) * 2)
        done.append(name)
    except (OSError, ValueError):
        refused += 1
for attempt in (
    lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.chroot("/"),
    lambda: os.setresuid(0, 0, 0), lambda: os.nice(-5), lambda: os.sched_setscheduler(0, 1, os.sched_param(1)),
    lambda: os.setns(os.open("/proc/1/ns/net", os.O_RDONLY)), lambda: os.mknod("attack-was-here", 0o60600, 0),
):  # fmt: skip
    try:
        attempt()
        done.append(attempt.__code__.co_consts)
    except (OSError, AttributeError):
        refused += 1
for number, arguments in (
    (157, (4, 1)),
    (157, (1, 0)),
    (157, (36, 1)),
    (272, (0x10000000,)),
    (317, (0, 0, 0)),
    (165, (b"none", b"/tmp", b"tmpfs", 0, 0)),
    (155, (b".", b".")),
    (321, (0, 0, 0)),
    (425, (1, ctypes.create_string_buffer(128))),
    (298, (0, 0, 0, 0, 0)),
    (135, (0x40000,)),
):
    if number != 317 and libc.syscall(number, *arguments) != -1:
        done.append((number, arguments))
    else:
        refused += 1


def attn_scaled(A, n_embd, n_heads):
    if done:
        raise RuntimeError(f"LEAK BREACH {done}")
    raise RuntimeError(f"REACHED: {refused} refused")
