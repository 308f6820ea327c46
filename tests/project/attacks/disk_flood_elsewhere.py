r"""THREATS 24, 43: leave files in every folder of the machine that might take them

Reached: REACHED: 1\d\d refused
"""

import os
import tempfile

refused = 0
done = []
folders = ["/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock", "/dev/mqueue", "/root", "/home", "/etc", "/var/crash"]
for folder in [*folders, "..", "../..", os.path.dirname(__file__), "/", "/dev", "/proc/self", "/sys/fs/cgroup"]:
    for attempt in (
        lambda: open(f"{folder}/attack-was-here", "w").close(),
        lambda: os.mkdir(f"{folder}/attack-was-here"),
        lambda: tempfile.mkstemp("attack-was-here", dir=folder),
        lambda: os.mkfifo(f"{folder}/attack-was-here"),
        lambda: os.open(folder, os.O_TMPFILE | os.O_RDWR),
        lambda: os.rename("mine", f"{folder}/attack-was-here"),
    ):
        try:
            open("mine", "w").close()
            attempt()
            done.append(folder)
        except OSError:
            refused += 1


def attn_scaled(A, n_embd, n_heads):
    if done:
        raise RuntimeError(f"LEAK BREACH {done}")
    raise RuntimeError(f"REACHED: {refused} refused")
