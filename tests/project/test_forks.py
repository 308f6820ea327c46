"""Children with limits: what they answer, what stops them, and what they leave behind."""

from __future__ import annotations

import faulthandler
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.errors import UserError
from autograder.isolation import forks
from autograder.isolation.forks import MIB, Limited, TooMuch, run_limited, spread


def endless() -> None:
    while True:
        pass


def grows() -> list[bytes]:
    kept: list[bytes] = []
    while True:
        kept.append(bytes(MIB))


def test_a_result_comes_back_as_plain_data() -> None:
    assert run_limited(divmod, 17, 5, seconds=5, memory=50 * MIB) == [3, 2]


def silently(crash: Callable[..., None], *arguments: int) -> None:
    """Without pytest's report of every thread."""
    faulthandler.disable()
    crash(*arguments)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (endless, "took more than 1 s"),
        (lambda: time.sleep(60), "took more than 1 s"),
        (grows, "took more than 50 MiB of memory"),
        (lambda: torch.ones(1 << 28).tolist(), "took more than 50 MiB of memory"),
        (lambda: "x" * (70 * MIB), "MiB of memory"),
        (lambda: silently(os.abort), "took more than 50 MiB of memory"),
        (lambda: silently(os.kill, os.getpid(), 11), r"crashed the process that worked on it \(signal 11\)"),
        (lambda: os._exit(0), "took more than 50 MiB of memory"),
    ],
    ids=["computes", "waits", "memory", "tensor", "answer", "abort", "crash", "silence"],
)
def test_what_keeps_to_no_limit_is_stopped(
    function: Callable[[], Any], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "longest", lambda seconds: 2.0 * seconds)
    before = children()
    with pytest.raises(TooMuch, match=why):
        run_limited(function, seconds=1, memory=50 * MIB)
    assert children() == before


def children() -> set[str]:
    """The living processes that this one has started; other tests may have left some."""
    return {pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


def fails(kind: str) -> None:
    raise UserError("zip it again") if kind == "expected" else KeyError("surprise")


def test_expected_exceptions_come_back_as_what_they_are(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match="zip it again"):
        run_limited(fails, "expected", seconds=5, memory=50 * MIB, raises=[UserError])
    assert capfd.readouterr().err == ""
    with pytest.raises(RuntimeError, match="KeyError: 'surprise'"):
        run_limited(fails, "other", seconds=5, memory=50 * MIB, raises=[UserError])
    assert "in fails" in capfd.readouterr().err


def served(what: str) -> int:
    if what == "endless":
        endless()
    if what == "grows":
        grows()
    if what == "refused":
        raise UserError(what)
    return os.getpid()


def test_one_child_serves_many_calls_and_is_replaced_when_it_dies() -> None:
    limited = Limited(served, seconds=1, memory=50 * MIB, raises=[UserError])
    first = limited("")
    assert first != os.getpid() and limited("") == first
    with pytest.raises(UserError):
        limited("refused")
    assert limited("") == first
    for what in ("endless", "grows"):
        with pytest.raises(TooMuch):
            limited(what)
        assert limited("") not in (first, os.getpid())
    last = limited.pid
    limited.close()
    assert not Path(f"/proc/{last}").exists()


@pytest.mark.slow
def test_each_call_has_time_of_its_own() -> None:
    def computes() -> bool:
        until = time.process_time() + 0.6
        while time.process_time() < until:
            pass
        return True

    limited = Limited(computes, seconds=1, memory=50 * MIB)
    assert all(limited() for _ in range(4))
    limited.close()


def test_a_child_holds_none_of_our_pipes() -> None:
    reader, writer = os.pipe()
    limited = Limited(os.getpid, seconds=5, memory=50 * MIB)
    limited()
    os.close(writer)
    assert os.read(reader, 1) == b""  # would wait for ever if the child had it, too
    os.close(reader)
    limited.close()


def test_large_arguments_and_answers_pass() -> None:
    limited = Limited(lambda text: text + "!", seconds=20, memory=200 * MIB)
    assert limited("é" * MIB) == "é" * MIB + "!"
    limited.close()


def test_spread_keeps_the_order_and_fails_as_a_whole(capfd: pytest.CaptureFixture[str]) -> None:
    assert spread(lambda number: number * number, range(7), 3) == [0, 1, 4, 9, 16, 25, 36]
    with pytest.raises(RuntimeError, match="its traceback is above"):
        spread(lambda number: 1 // number, range(3), 2)
    assert re.search("ZeroDivisionError", capfd.readouterr().err)
