"""The grader's end of the zygote: a warm process without secrets that forks a worker whenever it is asked to.

It is a Python of its own, so that nothing the grader has read is in its memory. A request goes as one message with
two descriptors: the worker's channel, and a line on which the zygote tells the worker's pid
and, later, how it ended. Meanwhile the zygote watches the worker's memory and disk, see `watchdog`.

This module imports little, so that the zygote can be started before the grader has loaded torch: both load it at
the same time.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from autograder.isolation import Confinement
from autograder.isolation.privileges import die_with_parent
from autograder.running.threads import ONE_EACH

if TYPE_CHECKING:
    from autograder.running.sheets import LeftOut

MESSAGE = 1 << 16
PATIENCE = 10  # seconds for an end in good order


@dataclass(frozen=True)
class Order:
    """What a worker is to be: its confinement, and the submission it serves."""

    confinement: Confinement
    root: str
    files: dict[str, tuple[str, ...]]
    memory: int  # bytes that it may have,
    disk: int  # may write,
    entries: int  # and in how many files and folders
    by_cells: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def encode(self) -> bytes:
        return json.dumps(self, default=_fields).encode()


def _fields(value: Any) -> dict[str, Any]:
    """A dataclass as JSON has it; like `asdict`, but without copies of all that is in it."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


class Zygote:
    """The process. As a context, it is gone at the end even if nobody ever used and closed it."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        package = str(Path(__file__).resolve().parents[2])
        program = (
            f"import gc, sys; gc.disable(); sys.path.insert(0, {package!r}); "
            f"from autograder.workers.zygote import live; live({theirs.fileno()})"
        )
        kept = {name: value for name, value in os.environ.items() if name == "LD_LIBRARY_PATH"}
        # A new Python and not a fork: whatever the grader has read, a worker must not inherit.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", program],
            env=kept | ONE_EACH,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            cwd="/",
            process_group=0,  # Ctrl-C in a terminal is for the grader, which ends it properly
        )
        self.pid = self._process.pid
        theirs.close()

    def __enter__(self) -> Zygote:
        return self

    def __exit__(self, *_: object) -> None:
        self._control.close()
        self._process.kill()  # does nothing if it was closed before; if not, its workers die with it
        self._process.wait()

    def spawn(self, order: Order) -> tuple[int, socket.socket, socket.socket]:
        """Start a worker: its pid, the channel to it, and the line on which its end is told."""
        ours, channel = socket.socketpair()
        line, told = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            socket.send_fds(self._control, [order.encode()], [channel.fileno(), told.fileno()])
        finally:
            channel.close()
            told.close()
        answer = line.recv(MESSAGE)
        if not answer:
            ours.close()
            line.close()
            raise ConnectionError("the zygote is gone")
        return int(json.loads(answer)["pid"]), ours, line

    def close(self) -> None:
        """End it, and with it every worker."""
        self._control.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:  # somebody else holds the other end still; workers die with their parent
            self._process.kill()
            self._process.wait()


def live(control: int) -> NoReturn:
    """What the process does; `control` is its end of the line to the grader."""
    if sys.platform == "linux":
        die_with_parent()  # it listens to the grader only when it has loaded everything
    from autograder.workers.worker import main

    main(control)
