"""One thread in each process, decided before torch is imported: its libraries start threads, which a fork loses."""

from __future__ import annotations

import os

ONE_EACH = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def one_each() -> None:
    """For this process and those that it starts; comes too late once torch is there."""
    os.environ |= ONE_EACH
