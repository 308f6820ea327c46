"""Functions of ours in forked children, whose results come back as JSON.

`spread` shares plain work out among several cores. `apart` does one piece of work that a student's file decides the
size of: the child has a deadline and a memory limit, and whatever becomes of it, the caller goes on.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from autograder.allowance import longest
from autograder.isolation.privileges import die_with_parent

Item = TypeVar("Item")
LONGEST = 16 << 20  # bytes of a result
_ENDED_BY: dict[int, Literal["time", "memory"]] = {signal.SIGXCPU: "time"}


class Exceeded(Exception):
    """The child needed more `what` than it was given."""

    def __init__(self, what: Literal["time", "memory"]) -> None:
        super().__init__(what)
        self.what = what


def spread(function: Callable[[Item], Any], items: Sequence[Item], jobs: int) -> list[Any]:
    """`[function(item) for item in items]`, in `jobs` processes; a child that fails fails the whole."""

    def work(start: int) -> Callable[[], Any]:
        return lambda: [function(item) for item in items[start::jobs]]

    children = [_start(work(start)) for start in range(jobs)]
    found: list[Any] = [None] * len(items)
    broken = False
    for start, (pid, reader) in enumerate(children):
        with os.fdopen(reader) as pipe:
            text = pipe.read()
        os.waitpid(pid, 0)
        if text:
            found[start::jobs] = json.loads(text)
        broken |= not text
    if broken:
        raise RuntimeError("a forked child failed; its traceback is above")
    return found


def apart(function: Callable[[], Any], seconds: int, memory: int) -> Any:
    """`function()`, in a child with so many seconds of processor time and bytes of memory; raises Exceeded."""
    until = time.monotonic() + longest(seconds)

    def limited() -> Any:
        _limit(seconds, memory)
        try:
            return {"value": function()}
        except MemoryError:
            return {"exceeded": "memory"}
        except RuntimeError as error:
            if "allocate memory" not in str(error):  # torch's way of saying it
                raise
            return {"exceeded": "memory"}

    pid, reader = _start(limited)
    text, status = b"", 0
    try:
        with os.fdopen(reader, "rb", buffering=0) as pipe:
            while len(text) <= LONGEST:
                if not select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
                    raise Exceeded("time")
                if not (chunk := pipe.read(1 << 20)):
                    break
                text += chunk
    finally:
        os.kill(pid, signal.SIGKILL)  # until it is waited for, its number is nobody else's
        _, status = os.waitpid(pid, 0)
    if not text and os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL:
        raise Exceeded(_ENDED_BY.get(os.WTERMSIG(status), "memory"))  # allocators abort, too
    if not text:
        raise RuntimeError("a forked child failed; its traceback is above")
    answer = json.loads(text)
    if "exceeded" in answer:
        raise Exceeded(answer["exceeded"])
    return answer["value"]


def _limit(seconds: int, memory: int) -> None:
    if sys.platform != "linux":
        return  # nobody grades strangers elsewhere: there is no isolation
    import resource

    die_with_parent()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))  # torch is loaded already, so this counts what is new
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _start(work: Callable[[], Any]) -> tuple[int, int]:
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    try:
        os.close(reader)
        text = json.dumps(work())
        with os.fdopen(writer, "w") as pipe:
            pipe.write(text)
    except BaseException:
        with contextlib.suppress(Exception):
            traceback.print_exc()
    finally:
        os._exit(0)
