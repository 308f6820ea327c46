"""What runs in the zygote (see `zygote.py`), and in the workers that it forks."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import selectors
import signal
import socket
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import einops.layers.torch  # noqa: F401 (what student code may import, too)
import numpy as np
import torch

from autograder.isolation import Confinement, Layers, confine, fork_alone
from autograder.running import room
from autograder.running.loading import Loader
from autograder.running.perform import Performer, Trouble
from autograder.running.sheets import LeftOut
from autograder.workers import tried, whereabouts, wire
from autograder.workers.protocol import TooLarge
from autograder.workers.watchdog import WATCH, Watched
from autograder.workers.zygote import MESSAGE, Order


def main(control: int) -> NoReturn:
    """The zygote's whole life; it ends when the grader does."""
    status = 1
    try:
        # Workers inherit this: code that interrupts itself must not end one between two requests.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
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
    room.install(for_good=True)
    warnings.simplefilter("ignore")  # nobody would read them
    gc.collect()
    gc.freeze()  # a collection in a worker would touch, and so copy, every inherited page
    gc.set_threshold(10_000)  # and takes its time, for the little garbage that there is
    gc.enable()


def _serve(control: socket.socket) -> None:
    waking, woken = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(waking, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(woken)
    workers: dict[socket.socket, Watched] = {}  # the line on which a worker's end is told -> the worker
    looked = 0.0
    lifeline = os.pipe()  # its second end closes when we do
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        selector.register(waking, selectors.EVENT_READ)
        while True:
            if workers and time.monotonic() - looked >= WATCH:
                _watch(workers.values())
                looked = time.monotonic()
            for key, _ in selector.select(WATCH if workers else None):
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
                    os.kill(workers[key.fileobj].pid, signal.SIGKILL)
                    selector.unregister(key.fileobj)


def _watch(workers: Iterable[Watched]) -> None:
    for one in workers:
        if not one.over and one.look():
            os.kill(one.pid, signal.SIGKILL)  # not waited for yet, so the pid is its own


def _end(workers: dict[socket.socket, Watched]) -> None:
    for one in workers.values():
        os.kill(one.pid, signal.SIGKILL)
        os.waitpid(one.pid, 0)


def _spawn(
    message: bytes,
    descriptors: list[int],
    workers: dict[socket.socket, Watched],
    control: socket.socket,
    lifeline: tuple[int, int],
) -> socket.socket:
    channel, line = descriptors[0], socket.socket(fileno=descriptors[1])
    order = _order(message, channel)
    gate = os.pipe()
    try:
        pid = fork_alone() if "pid" in order.confinement.layers.namespaces else os.fork()
    except OSError:
        for descriptor in (channel, *gate):
            os.close(descriptor)
        raise
    if pid == 0:
        try:
            os.close(gate[1])
            os.read(gate[0], 1)  # closed when our parent is ready to watch
            signal.set_wakeup_fd(-1)
            control.close()
            line.close()
            os.close(lifeline[1])
            _work(order, channel, lifeline[0])
        finally:
            os._exit(1)
    os.close(channel)
    workers[line] = Watched(pid, order)
    for descriptor in gate:
        os.close(descriptor)
    with contextlib.suppress(OSError):
        line.send(json.dumps({"pid": pid}).encode())
    return line


def _order(message: bytes, channel: int) -> Order:
    """What `Order.encode` wrote; the worker keeps its channel."""
    fields: dict[str, Any] = json.loads(message)
    spec = fields["confinement"]
    parts = spec.pop("layers")
    layers = Layers(**(parts | {"namespaces": tuple(parts["namespaces"])}))
    readable = tuple(spec.pop("readable"))
    spec.pop("keep")
    confinement = Confinement(layers=layers, readable=readable, keep=(channel,), **spec)
    files = {name: tuple(files) for name, files in fields["files"].items()}
    left_out = tuple(LeftOut(**one) for one in fields["left_out"])
    limits = (fields["memory"], fields["disk"], fields["entries"])
    return Order(confinement, fields["root"], files, *limits, tuple(fields["by_cells"]), left_out)


def _bury(workers: dict[socket.socket, Watched], selector: selectors.BaseSelector) -> None:
    """Wait for the workers that have ended, and tell how."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        for line in [line for line, worker in workers.items() if worker.pid == pid]:
            ended = workers.pop(line)
            ended.forget()
            with contextlib.suppress(KeyError):
                selector.unregister(line)
            with contextlib.suppress(OSError):
                told = {"status": os.waitstatus_to_exitcode(status), "over": ended.over}
                line.send(json.dumps(told).encode())
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
    performer = Performer(Loader(Path(order.root), order.files, order.by_cells, order.left_out, reached), shared=False)
    line = socket.socket(fileno=channel)
    incoming = wire.Incoming(line)
    tried.watch(Path(order.confinement.writable), order.confinement.readable)  # after our own socket was made
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
