"""THREATS 1: write results.json when the process ends, by every way to be called then

Reached: SystemExit: REACHED: at exit
"""

import atexit
import json
import os
import signal
import threading
import weakref


def write(*_):
    for place in ("/tmp", "/dev/shm", "/srv/course", "/autograder/results", "..", "../.."):
        for name in ("results.json", "attack-was-here.json"):
            try:
                with open(os.path.join(place, name), "w") as file:
                    json.dump({"score": 100}, file)
            except OSError:
                pass


class Last:
    __del__ = write


atexit.register(write)
threading._register_atexit(write)
last = Last()
weakref.finalize(torch, write)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGXCPU, signal.SIGPIPE):
    signal.signal(number, write)


def attn_scaled(A, n_embd, n_heads):
    raise SystemExit("REACHED: at exit")
