"""Work in forked children: results come back, and a child that asks for too much is stopped."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest
import torch

from autograder.forks import Exceeded, apart, spread

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits need Linux")
MIB = 1 << 20


def test_results_of_all_children_come_back_in_order():
    assert spread(lambda number: number**2, range(7), 3) == [0, 1, 4, 9, 16, 25, 36]


def test_what_is_done_apart_comes_back_and_changes_nothing_here():
    here = {"pid": os.getpid()}
    found = apart(lambda: here.update(pid=0) or {"pid": os.getpid(), "sum": float(torch.ones(3).sum())}, 20, 256 * MIB)
    assert found["sum"] == 3.0 and found["pid"] != os.getpid() == here["pid"]


def loop() -> None:
    while True:
        pass


@linux
@pytest.mark.parametrize(
    ("work", "what"),
    [
        (loop, "time"),
        (lambda: bytes(1 << 40), "memory"),
        (lambda: torch.ones(1 << 28), "memory"),
        (lambda: [bytearray(MIB) for _ in range(1000)], "memory"),
        (lambda: os.kill(os.getpid(), signal.SIGTRAP), "memory"),  # as some allocators end a program
    ],
)
def test_a_child_that_takes_too_much_is_stopped(work, what):
    with pytest.raises(Exceeded) as exceeded:
        apart(work, 1, 256 * MIB)
    assert exceeded.value.what == what


@linux
def test_a_child_that_waits_for_ever_is_stopped(monkeypatch):
    monkeypatch.setattr("autograder.forks.longest", lambda _: 0.2)
    with pytest.raises(Exceeded, match="time"):
        apart(lambda: time.sleep(1000), 1, 256 * MIB)


def test_our_own_mistakes_are_no_limits(capfd):
    with pytest.raises(RuntimeError, match="traceback is above"):
        apart(lambda: 1 // 0, 20, 256 * MIB)
    assert "ZeroDivisionError" in capfd.readouterr().err
