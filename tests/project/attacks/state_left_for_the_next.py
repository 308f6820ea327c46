r"""THREATS 44: change environment, locale, clock, random state, threads, default types, umask and priority

Reached: REACHED: 7 threads, torch\.float64, umask 0|your code ended with SIGPROF
"""

import gc
import locale
import os
import random
import signal
import sys
import time

import numpy

os.environ.clear()
os.environ |= {"PYTHONHASHSEED": "0", "LD_PRELOAD": "LEAK", "PYTHONSTARTUP": "LEAK", "TZ": "LEAK", "LANG": "tr_TR"}
time.tzset()
os.umask(0)
os.nice(19)
os.chdir("/")
try:
    time.clock_settime(time.CLOCK_REALTIME, 0)
except OSError:
    pass
locale.setlocale(locale.LC_ALL, "C")
random.seed(1), numpy.random.seed(1), torch.manual_seed(1)
torch.set_num_threads(7)
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)
torch.set_flush_denormal(True)
numpy.seterr(all="raise")
gc.disable()
sys.setrecursionlimit(100)
signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)


def make_causal_mask(n_tok):
    raise RuntimeError(f"REACHED: {torch.get_num_threads()} threads, {torch.get_default_dtype()}, umask {os.umask(0)}")
