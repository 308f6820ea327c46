"""The grader's side of a worker: deadlines, memory, deaths, and replies that are believed in nothing."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import signal
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder import protocol, scripts, whereabouts, wire
from autograder.cells import Places
from autograder.course import Course
from autograder.files import remove_tree
from autograder.isolation import Confinement, Layers, kill_tree, python_folders
from autograder.loading import located
from autograder.perform import Reply, Request, Script, Trouble
from autograder.sheets import LeftOut
from autograder.zygote import Order, Zygote

WATCH = 0.05  # seconds between two looks at a worker's memory
GRACE = 0.2  # for a dead worker's end to be told
FAREWELL = 0.05  # for a worker to end by itself
RETRIES = 3  # of loading a file, each time without one statement more that ended a worker


@dataclass(frozen=True)
class Limits:
    """What one worker may use."""

    memory: int = 2 << 30  # bytes of its own, beyond what it inherits
    file_bytes: int = 4 << 20
    disk: int = 64 << 20  # bytes in all files together
    files: int = 2000
    open_files: int = 64  # so that deleted files that are still open cannot hold much more
    threads: int = 64


class Dead(Exception):
    """The worker is no more; the trouble says why, in words for a student."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.text)
        self.trouble = trouble


class Worker:
    """One running worker."""

    def __init__(self, zygote: Zygote, order: Order, limits: Limits) -> None:
        self.order, self.limits = order, limits
        self.number = 0  # of the last request that was answered
        self.received = bytearray()
        self.decoder = protocol.Decoder()
        self.looked = 0.0
        self.pid, self.channel, self.line = zygote.spawn(order)
        self.inherited = _own_memory(zygote.pid)  # not before: it may have been loading still
        self.channel.setblocking(False)

    def ask(self, requests: Sequence[Request], deadline: float) -> Iterator[Reply | Trouble]:
        """A reply to each request; whatever else happens is Dead."""
        frames = [wire.pack_request(request, self.number + place) for place, request in enumerate(requests, start=1)]
        sent = 0
        for place in range(len(frames)):
            if place == sent:  # all before are answered
                if self.received or select.select([self.channel], [], [], 0)[0]:
                    self._end_of(0)  # it has died meanwhile, or
                    raise Dead(_malformed("your code wrote to the grader's channel without being asked"))
                several = _that_fit(frames[place:])
                sent += len(several)
                self._send(b"".join(several), deadline)
            self.number += 1
            try:
                self._wait_for(protocol.PREFIX.size, deadline)
                header, body = protocol.sizes(self.received)
                self._wait_for(protocol.PREFIX.size + header + body, deadline)
                tree = self.decoder.decode(*protocol.taken(self.received, header, body))
                reply = wire.unpack_reply(tree, self.number)
            except Dead:
                raise
            except Exception:  # whatever a reply does to its reader, it is not a reply
                raise Dead(_malformed("the reply of your code could not be read")) from None
            yield reply

    def _send(self, frame: bytes, deadline: float) -> None:
        rest = memoryview(frame)
        while rest:
            self._watch(deadline)
            try:
                rest = rest[self.channel.send(rest) :]
            except BlockingIOError:
                select.select([], [self.channel], [], self._patience(deadline))
            except OSError:
                self._end_of(GRACE)
                raise Dead(_malformed("your code closed the grader's channel")) from None

    def _wait_for(self, count: int, deadline: float) -> None:
        """Until so many bytes have been received."""
        while len(self.received) < count:
            self._watch(deadline)
            try:
                chunk = self.channel.recv(max(wire.AT_ONCE, min(count - len(self.received), 1 << 20)))
            except BlockingIOError:
                select.select([self.channel], [], [], self._patience(deadline))
                continue
            except OSError:
                chunk = b""
            if not chunk:
                self._end_of(GRACE)
                raise Dead(_malformed("your code closed the grader's channel"))
            self.received += chunk

    def _watch(self, deadline: float) -> None:
        """An eye on time and memory, also while data comes: a reply that trickles must not keep us from looking."""
        now = time.monotonic()
        if now >= deadline:
            raise Dead(Trouble("timeout", "", ""))
        if now - self.looked >= WATCH:
            self._look()

    def _patience(self, deadline: float) -> float:
        """How long to wait for the channel before looking again."""
        return max(0.0, min(deadline - time.monotonic(), WATCH))

    def _look(self) -> None:
        """Does it stay within its limits?"""
        self.looked = time.monotonic()
        if _own_memory(self.pid) - self.inherited > self.limits.memory:
            gigabytes = self.limits.memory / (1 << 30)
            raise Dead(Trouble("memory", "", f"your code used more than {gigabytes:g} GB of memory and was stopped"))
        if not _fits(Path(self.order.confinement.writable), self.limits.disk, self.limits.files):
            raise Dead(Trouble("disk", "", "your code wrote too many files, or too much into them"))

    def place(self) -> str:
        """Where its code is right now, as Python writes it down."""
        return whereabouts.ask(self.pid, Path(self.order.confinement.writable))

    def _end_of(self, patience: float) -> None:
        """If the worker has ended by itself, say how."""
        if select.select([self.line], [], [], patience)[0]:
            message = self.line.recv(1 << 12)
            if message:
                raise Dead(_ended(int(json.loads(message)["status"])))

    def kill(self) -> None:
        """End it and everything it started; returns when all of it is gone."""
        self.channel.close()
        # An honest worker ends by itself when nobody listens any more, which is quicker than killing it.
        ended = bool(select.select([self.line], [], [], FAREWELL)[0])
        if not (ended and "pid" in self.order.confinement.layers.namespaces):  # there, the kernel has ended all of it
            kill_tree(self.pid, self.order.confinement.user, ended=ended)
        self.line.close()


def _that_fit(frames: Sequence[bytes]) -> list[bytes]:
    """As many as can be sent before anything is read, or one: neither side may wait for the other to read."""
    sizes = itertools.accumulate(map(len, frames))
    return [*itertools.islice(frames, max(1, sum(size <= wire.AT_ONCE for size in sizes)))]


def _own_memory(pid: int) -> int:
    total = 0
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(("RssAnon:", "RssShmem:", "VmSwap:")):
                total += int(line.split()[1]) * 1024
    return total


def _fits(folder: Path, size: int, count: int) -> bool:
    """Does a folder hold no more than so many bytes and entries? Never looks at more than it must."""
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    count -= 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        seen = entry.stat(follow_symlinks=False)
                        size -= max(seen.st_size, seen.st_blocks * 512)
                    if size < 0 or count < 0:
                        return False
        except FileNotFoundError:
            continue  # gone meanwhile
        except OSError:
            return False  # too deep, or closed to us: nothing that an exercise needs
    return True


def _malformed(text: str) -> Trouble:
    return Trouble("malformed", "", text)


def _ended(status: int) -> Trouble:
    if status >= 0:
        return Trouble("crash", "", "your code ended Python itself; do not call exit")
    name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
    words = {
        "SIGSEGV": "crashed Python (segmentation fault)",
        "SIGABRT": "crashed Python (abort)",
        "SIGBUS": "crashed Python (bus error)",
        "SIGFPE": "crashed Python (arithmetic error)",
        "SIGXCPU": "used up its processor time",
        "SIGXFSZ": "wrote too large a file",
        "SIGKILL": "was killed, most likely because it used too much memory",
    }
    return Trouble("crash", "", f"your code {words.get(name, f'ended with {name}')}")


def _is_there(wanted: str, names: Iterable[str]) -> bool:
    """Is an expected file among these, in whatever folder?"""
    return any(f"/{name}".endswith(f"/{wanted}") for name in names)


class RemoteChannel:
    """A submission in workers: one serves until it dies, then another takes over."""

    def __init__(
        self,
        zygote: Zygote,
        root: Path,
        names: Sequence[str],
        course: Course,
        layers: Layers,
        limits: Limits,
        user: int | None,
    ) -> None:
        self.zygote, self.root, self.course, self.layers, self.limits = zygote, root, course, layers, limits
        self.names = frozenset(names)  # the files of the submission
        self.places = Places(root, self.names)
        self.located: dict[str, Path | None] = {}  # files that were asked for: nobody changes a submission
        self.found: dict[str, str] = {}  # names, and the files that they were taken from
        self.left_out: list[LeftOut] = []  # what ended a worker when it was loaded
        self.reached: tuple[str, int] | None = None  # what the last worker loaded when it ended
        self.extra = float(course.retries)
        self.user = user
        self.worker: Worker | None = None
        self.epoch = 0  # how many workers have ended
        self.folder: Path | None = None
        self.loaded: set[tuple[str, ...]] = set()  # by the present worker
        self.broken: dict[tuple[str, ...], Trouble] = {}  # files that killed a worker when they were loaded
        self.exercise, self.part = "", ""
        self.given_up: dict[str, Trouble] = {}  # exercises that used up a limit: they would do it again
        self.deadline = 0.0
        self.seconds = 0
        self.late: tuple[tuple[str, int, str], ...] = ()  # where the worker was when time ran out

    def begin(self, exercise: str, part: str) -> None:
        """Other checks begin, with time of their own.

        No worker that has seen hidden inputs serves public checks, whose messages hold what student code says.
        """
        if self.part == "hidden" and part == "public":
            self.close()
        self.part = part
        self.exercise = exercise
        self.late = ()
        self.seconds = self.course.items[exercise].deadline
        self.deadline = time.monotonic() + self.seconds

    def perform_all(self, requests: Sequence[Request]) -> list[Reply | Trouble]:
        """Ask the worker. If it dies of a request, that is the last reply, and the next request gets a new worker."""
        if self.exercise in self.given_up:
            return [self.given_up[self.exercise] for _ in requests]
        replies: list[Reply | Trouble] = []
        try:
            for name in {request.target: None for request in requests if isinstance(request.target, str)}:
                known = self._load(name)
                if known is not None:
                    return [known for _ in requests]
            for reply in self._ask(requests):
                replies.append(self._checked(reply))
        except Dead as dead:
            replies.append(self._told(dead.trouble))
        return replies

    def _load(self, name: str) -> Trouble | None:
        """Load the files that may hold a name; those that kill a worker are not tried again."""
        files = tuple(self.course.files.get(name, ()))
        if files in self.broken:
            return self.broken[files]
        if self.worker is not None and files in self.loaded:
            return None
        while True:
            whole = self.deadline - time.monotonic() > 0.9 * self.seconds
            self._in_time()
            try:
                (reply,) = self._ask([Request("load", name)])
                self._learn(reply, files)
            except Dead as dead:
                fair = whole or dead.trouble.kind != "timeout"  # or a file would be blamed for what an exercise did
                if fair and self._leave_out(dead.trouble, files):
                    continue
                told = self._told(dead.trouble)
                trouble = Trouble(told.kind, "", f"while your file was loaded: {told.text}", told.frames)
                if fair:
                    self.broken[files] = trouble
                return trouble
            self.loaded.add(files)
            return None

    def _leave_out(self, trouble: Trouble, files: Sequence[str]) -> bool:
        """Can loading be tried again without the statement, or the module, that ended the worker?"""
        file, number = self.reached or ("", 0)
        tries = sum(one.file == file for one in self.left_out)
        if file not in files or tries >= RETRIES or self.extra <= 0 or (number == 0 and self._only(file, files)):
            return False
        self.extra -= self.seconds - max(0.0, self.deadline - time.monotonic())
        last = tries == RETRIES - 1 or self.extra < self.seconds / 2  # no other failure could be afforded
        why = f"did not finish within {self.seconds} s" if trouble.kind == "timeout" else trouble.text
        self.left_out.append(LeftOut(file, number, why.removeprefix("your code "), and_rest=last))
        self.deadline = time.monotonic() + self.seconds  # the exercise itself has not begun yet
        return True

    def _only(self, file: str, files: Sequence[str]) -> bool:
        """Is it the only one of these that was handed in? Then there is nothing to go on with."""
        return not any(other != file and _is_there(other, self.names) for other in files)

    def _learn(self, reply: Reply | Trouble, files: tuple[str, ...]) -> None:
        """Where names were found, as the worker says: a file that was handed in and may hold them, and said once."""
        told = reply.value if isinstance(reply, Reply) and isinstance(reply.value, dict) else {}
        for name in (name for name, mine in self.course.files.items() if mine == files):
            file = told.get(name)
            if isinstance(file, str) and file in self.names and any(_is_there(one, (file,)) for one in files):
                self.found.setdefault(name, file)

    def file_of(self, name: str) -> str:
        return self.found.get(name, "")

    def handed_in(self, name: str) -> Path | None:
        if name not in self.located:
            self.located[name] = located(self.root, name)
        return self.located[name]

    def run(self, script: Script, seconds: int) -> Reply | Trouble:
        """Run a script in a worker of its own: what it finds in its folder is all that there is of the submission.

        No other worker of the submission's lives meanwhile: that one may have read files which this one may not.
        """
        self.close()
        try:
            self.worker = self._start(script.files)
            self.seconds = seconds
            self.deadline = time.monotonic() + seconds  # waiting for the zygote is not the student's time
            (reply,) = self._ask([script.request])
            return self._checked(reply)
        except Dead as dead:
            return self._told(dead.trouble)
        finally:
            self.given_up.pop(self.exercise, None)  # another script is another matter
            self.close()

    def _ask(self, requests: Sequence[Request]) -> Iterator[Reply | Trouble]:
        self._in_time()
        if self.worker is None:
            before = time.monotonic()
            self.worker = self._start()
            self.deadline += time.monotonic() - before  # the first waits for the zygote; that is not the student's time
        try:
            yield from self.worker.ask(requests, self.deadline)
        except BaseException as error:
            if isinstance(error, Dead) and error.trouble.kind == "timeout":
                self.late = self._frames(self.worker.place())
            self.reached = whereabouts.reached(self.folder) if self.folder else None
            self.close()
            raise

    def _in_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise Dead(Trouble("timeout", "", ""))

    def _told(self, trouble: Trouble) -> Trouble:
        if trouble.kind == "timeout":
            text = f"did not finish within {self.seconds} s"
            loop = self._loop(*self.late[-1][:2]) if self.late else 0
            if loop:
                text += f"\nIt was in the loop of line {loop}: does that end? Or does it take one number at a time?"
            trouble = Trouble("timeout", "", text, self.late)
        if trouble.kind in ("timeout", "memory", "disk"):
            self.given_up[self.exercise] = trouble
        return trouble

    def _checked(self, reply: Reply | Trouble) -> Reply | Trouble:
        """Places in files are told only if there are such places: a made-up name could carry anything."""
        if isinstance(reply, Reply):
            return reply
        frames = tuple(frame for frame in reply.frames if 0 < frame[1] <= len(self.places.lines(frame[0])))
        name = reply.type_name if reply.type_name.isidentifier() or not reply.type_name else "Exception"
        return Trouble(reply.kind, name, reply.text, frames, reply.column if frames else 0)

    def _frames(self, told: str) -> tuple[tuple[str, int, str], ...]:
        """What a worker wrote down of its whereabouts, as far as there are such places."""
        found = []
        root = Path(self.worker.order.root) if self.worker else self.root
        for name, number in whereabouts.places(told, root)[-2:]:
            lines = self.places.lines(name)
            if 0 < number <= len(lines):
                found.append((name, number, lines[number - 1].strip()[:200]))
        return tuple(found)

    def _loop(self, name: str, number: int) -> int:
        return whereabouts.loop_around(self.places.lines(name), number)

    def _start(self, files: Mapping[str, Path | bytes] | None = None) -> Worker:
        """A worker that reads the submission; with `files`, one that has these in its folder, and reads no others."""
        self.loaded.clear()
        # Beside the submission, not in it: a worker may write here and nowhere else.
        self.folder = Path(tempfile.mkdtemp(prefix="work-", dir=self.root.parent))
        limits, root = self.limits, self.root
        if files is not None:
            limits, root = replace(limits, disk=limits.disk + scripts.lay_out(self.folder, files)), self.folder
        if self.user is not None:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, self.user, self.user)
        confinement = Confinement(
            layers=self.layers,
            readable=(*python_folders(), *([str(root)] if files is None else [])),
            writable=str(self.folder),
            user=self.user,
            group=self.user,
            cpu_seconds=sum(item.deadline for item in self.course.graded) + 5,
            file_bytes=self.limits.file_bytes,
            open_files=self.limits.open_files,
            threads=self.limits.threads,
            keep=(),
        )
        course = self.course
        order = Order(confinement, str(root), course.files, course.by_cells, tuple(self.left_out))
        return Worker(self.zygote, order, limits)

    def close(self) -> None:
        """Kill the worker, if there is one, and remove what it wrote."""
        if self.worker is not None:
            self.worker.kill()
            self.worker = None
            self.epoch += 1
        if self.folder is not None:
            remove_tree(self.folder)
            self.folder = None
