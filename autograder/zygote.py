"""The zygote: a warm process without secrets that forks a worker whenever it is asked to.

It is a Python of its own, so that nothing the grader has read is in its memory. A request comes as one message with
two descriptors: the worker's channel, and a line on which the zygote tells the worker's pid
and, later, how it ended.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch

from autograder import whereabouts, wire
from autograder.isolation import Confinement, Layers, confine, fork_alone
from autograder.loading import Loader
from autograder.perform import Performer, Trouble
from autograder.protocol import TooLarge
from autograder.sheets import LeftOut
from autograder.threads import ONE_EACH

MESSAGE = 1 << 16
PATIENCE = 10  # seconds for an end in good order


@dataclass(frozen=True)
class Order:
    """What a worker is to be: its confinement, and the submission it serves."""

    confinement: Confinement
    root: str
    files: dict[str, tuple[str, ...]]
    by_cells: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def encode(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def decode(message: bytes, channel: int) -> Order:
        fields: dict[str, Any] = json.loads(message)
        spec = fields["confinement"]
        parts = spec.pop("layers")
        layers = Layers(**(parts | {"namespaces": tuple(parts["namespaces"])}))
        readable = tuple(spec.pop("readable"))
        spec.pop("keep")
        confinement = Confinement(layers=layers, readable=readable, keep=(channel,), **spec)
        files = {name: tuple(files) for name, files in fields["files"].items()}
        left_out = tuple(LeftOut(**one) for one in fields["left_out"])
        return Order(confinement, fields["root"], files, tuple(fields["by_cells"]), left_out)


class Zygote:
    """The grader's end of it."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        package = str(Path(__file__).resolve().parents[1])
        program = (
            f"import sys; sys.path.insert(0, {package!r}); from autograder.zygote import main; main({theirs.fileno()})"
        )
        kept = {name: value for name, value in os.environ.items() if name == "LD_LIBRARY_PATH"}
        # A new Python and not a fork: whatever the grader has read, a worker must not inherit.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", program],
            env=kept | ONE_EACH,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            cwd="/",
        )
        self.pid = self._process.pid
        theirs.close()

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


def main(control: int) -> NoReturn:
    """The zygote's whole life; it ends when the grader does."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the grader, which ends us properly
        del sys.path[0]  # the grader's own folder
        _warm_up()
        _serve(socket.socket(fileno=control))
        status = 0
    finally:
        os._exit(status)


def _warm_up() -> None:
    """Do once what torch and NumPy do on first use, so that every worker inherits it. One thread only."""
    torch.set_num_threads(1)
    np.random.seed(0)  # imports a dozen modules
    layer = torch.nn.Linear(4, 4).to(torch.float64)
    x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    y = torch.softmax(layer(x) @ x.transpose(-2, -1), dim=-1).masked_fill(torch.ones(3, 3).tril() == 0, 0.5)
    torch.autograd.grad(y, [x, layer.weight], torch.ones_like(y))
    repr(y)  # notebooks print
    gc.collect()
    gc.freeze()  # a collection in a worker would touch, and so copy, every inherited page
    gc.set_threshold(10_000)  # and takes its time, for the little garbage that there is


def _serve(control: socket.socket) -> None:
    waking, woken = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(waking, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken)
    workers: dict[socket.socket, int] = {}  # the line on which a worker's end is told -> the worker
    lifeline = os.pipe()  # its second end closes when we do
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        selector.register(waking, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is waking or key.fd == waking:
                    with contextlib.suppress(BlockingIOError):
                        os.read(waking, 4096)
                    _bury(workers, selector)
                elif key.fileobj is control:
                    message, descriptors, _, _ = socket.recv_fds(control, MESSAGE, 2)
                    if not message:
                        _end(workers)
                        return
                    with contextlib.suppress(OSError):  # no process to be had: the grader sees its line closed
                        line = _spawn(message, descriptors, workers, control, lifeline)
                        selector.register(line, selectors.EVENT_READ)
                elif key.fileobj in workers:
                    # Nobody listens any more: the grader is done with this worker, or dead.
                    assert isinstance(key.fileobj, socket.socket)
                    os.kill(workers[key.fileobj], signal.SIGKILL)
                    selector.unregister(key.fileobj)


def _end(workers: dict[socket.socket, int]) -> None:
    for pid in workers.values():
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _spawn(
    message: bytes,
    descriptors: list[int],
    workers: dict[socket.socket, int],
    control: socket.socket,
    lifeline: tuple[int, int],
) -> socket.socket:
    channel, line = descriptors[0], socket.socket(fileno=descriptors[1])
    order = Order.decode(message, channel)
    try:
        pid = fork_alone() if "pid" in order.confinement.layers.namespaces else os.fork()
    except OSError:
        os.close(channel)
        raise
    if pid == 0:
        try:
            signal.set_wakeup_fd(-1)
            control.close()
            line.close()
            os.close(lifeline[1])
            _work(order, channel, lifeline[0])
        finally:
            os._exit(1)
    os.close(channel)
    workers[line] = pid
    with contextlib.suppress(OSError):
        line.send(json.dumps({"pid": pid}).encode())
    return line


def _bury(workers: dict[socket.socket, int], selector: selectors.BaseSelector) -> None:
    """Wait for the workers that have ended, and tell how."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        for line in [line for line, worker in workers.items() if worker == pid]:
            del workers[line]
            with contextlib.suppress(KeyError):
                selector.unregister(line)
            with contextlib.suppress(OSError):
                line.send(json.dumps({"status": os.waitstatus_to_exitcode(status)}).encode())
            line.close()


def _work(order: Order, channel: int, lifeline: int) -> NoReturn:
    """A worker's whole life: confine itself, then carry out requests until the grader hangs up."""
    with contextlib.suppress(OSError):  # where memory runs out, the kernel is to end this process and not the grader
        Path("/proc/self/oom_score_adj").write_text("1000")
    confine(order.confinement, lifeline)
    whereabouts.prepare(Path(order.confinement.writable))
    # Not that anything relied on it, but the same submission should fail with the same words.
    random.seed(0)
    np.random.seed(0)
    torch.default_generator.manual_seed(0)
    reached = whereabouts.keeping_track(Path(order.confinement.writable))
    performer = Performer(Loader(Path(order.root), order.files, order.by_cells, order.left_out, reached))
    line = socket.socket(fileno=channel)
    incoming = wire.Incoming(line)
    while True:
        try:
            request, number = wire.unpack_request(incoming.frame())
        except EOFError:
            os._exit(0)
        reply = performer.perform(request)
        try:
            frame = wire.pack_reply(reply, number)
        except TooLarge as error:
            frame = wire.pack_reply(Trouble("exception", "ValueError", str(error)), number)
        line.sendall(frame)
