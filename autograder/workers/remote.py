"""The grader's side of a worker: deadlines, deaths, and replies that are believed in nothing.

Memory and disk are watched by the zygote, see `watchdog`; here is told what became of it.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import select
import signal
import socket
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autograder.checking.courses import PARTS, Course
from autograder.errors import UserError
from autograder.files import remove_tree
from autograder.isolation import Confinement, Layers, kill_tree, python_folders
from autograder.isolation.allowance import WATCH, Allowance, Seen, longest
from autograder.running import scripts
from autograder.running.cells import Places
from autograder.running.editions import MOST, Edition
from autograder.running.loading import located
from autograder.running.perform import Reply, Request, Script, Trouble
from autograder.running.sheets import LeftOut
from autograder.workers import protocol, tried, whereabouts, wire
from autograder.workers.zygote import Order, Zygote

GRACE = 0.2  # for a dead worker's end to be told
FAREWELL = 0.05  # for a worker to end by itself
SLACK = 120.0  # seconds; a machine that is busy for longer is hopeless, and code that never ends must not last for ever
MOST_KEPT = 128 << 20  # bytes of replies for one exercise; honest ones take 1 % of it
MUCH_KEPT = 8 << 20  # is worth a look for what nobody needs any more
GROWTH = 16
RETRIES = 3  # of loading a file, each time without one statement more that ended a worker


@dataclass(frozen=True)
class Limits:
    """What one worker may use."""

    memory: int = 2 << 30  # bytes of its own, beyond what it inherits
    file_bytes: int = 4 << 20
    disk: int = 64 << 20  # bytes in all files together
    files: int = 2000
    open_files: int = 32  # so that deleted files that are still open cannot hold much more, where nobody sees them
    threads: int = 64


class Dead(Exception):
    """The worker is no more; the trouble says why, in words for a student."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.text)
        self.trouble = trouble


class Stock:
    """What the grader keeps of replies, for as long as the checks of one exercise run."""

    def __init__(self) -> None:
        self.bytes = 0

    def take(self, header: int, body: int) -> None:
        """Before a reply is read. What its header says grows when it becomes lists and texts."""
        self.bytes += GROWTH * header + body
        if self.bytes > MOST_KEPT:
            most = MOST_KEPT >> 20
            raise Dead(Trouble("memory", "", f"your code returned more than {most} MB in one exercise and was stopped"))


class Worker:
    """One running worker."""

    def __init__(self, zygote: Zygote, order: Order) -> None:
        self.order = order
        self.number = 0  # of the last request that was answered
        self.received = bytearray()
        self.decoder = protocol.Decoder()
        self.looked = 0.0
        self.seen: Seen | None = None
        self.pid, self.channel, self.line = zygote.spawn(order)
        self.channel.setblocking(False)

    def ask(self, requests: Sequence[Request], allowance: Allowance, stock: Stock) -> Iterator[Reply | Trouble]:
        """A reply to each request; whatever else happens is Dead."""
        frames = [wire.pack_request(request, self.number + place) for place, request in enumerate(requests, start=1)]
        sent = 0
        for place in range(len(frames)):
            if place == sent:  # all before are answered
                if self.received or select.select([self.channel], [], [], 0)[0]:
                    self._end_of(GRACE if self._hung_up() else 0)  # it has died meanwhile, or
                    raise Dead(_malformed("your code wrote to the grader's channel without being asked"))
                several = _that_fit(frames[place:])
                sent += len(several)
                self._send(b"".join(several), allowance)
            self.number += 1
            try:
                self._wait_for(protocol.PREFIX.size, allowance)
                header, body = protocol.sizes(self.received)
                stock.take(header, body)
                self._wait_for(protocol.PREFIX.size + header + body, allowance)
                tree = self.decoder.decode(*protocol.taken(self.received, header, body))
                reply = wire.unpack_reply(tree, self.number)
            except Dead:
                raise
            except Exception:  # whatever a reply does to its reader, it is not a reply
                raise Dead(_malformed("the reply of your code could not be read")) from None
            yield reply

    def _send(self, frame: bytes, allowance: Allowance) -> None:
        rest, idle = memoryview(frame), False
        while rest:
            self._watch(allowance, idle)
            try:
                rest = rest[self.channel.send(rest) :]
                idle = False
            except BlockingIOError:
                idle = not select.select([], [self.channel], [], self._patience(allowance))[1]
            except OSError:
                self._end_of(GRACE)
                raise Dead(_malformed("your code closed the grader's channel")) from None

    def _wait_for(self, count: int, allowance: Allowance) -> None:
        """Until so many bytes have been received."""
        idle = False
        while len(self.received) < count:
            self._watch(allowance, idle)
            try:
                chunk = self.channel.recv(max(wire.AT_ONCE, min(count - len(self.received), 1 << 20)))
                idle = False
            except BlockingIOError:
                idle = not select.select([self.channel], [], [], self._patience(allowance))[0]
                continue
            except OSError:
                chunk = b""
            if not chunk:
                self._end_of(GRACE)
                raise Dead(_malformed("your code closed the grader's channel"))
            self.received += chunk

    def _watch(self, allowance: Allowance, idle: bool) -> None:
        """An eye on the time, also while data comes: a reply that trickles must not keep us from looking."""
        now = time.monotonic()
        if now - self.looked >= WATCH or now >= allowance.until:
            self._look(allowance, idle)

    def _patience(self, allowance: Allowance) -> float:
        """How long to wait for the channel before looking again."""
        return max(0.0, min(allowance.until - time.monotonic(), WATCH))

    def _look(self, allowance: Allowance, idle: bool) -> None:
        """Is it in time?"""
        self.looked = time.monotonic()
        self.seen = allowance.charge(self.pid, self.seen, idle=idle)
        _in_time(allowance)

    def place(self) -> str:
        """Where its code is right now, as Python writes it down."""
        return whereabouts.ask(self.pid, Path(self.order.confinement.writable))

    def _end_of(self, patience: float) -> None:
        """If the worker has ended by itself, say how."""
        if select.select([self.line], [], [], patience)[0]:
            message = self.line.recv(1 << 12)
            if message:
                told = json.loads(message)
                raise Dead(_stopped(told["over"], self.order.memory) or _ended(int(told["status"])))

    def _hung_up(self) -> bool:
        """Is the other end of the channel closed?"""
        try:
            return not self.channel.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    def kill(self) -> None:
        """End it and everything it started; returns when all of it is gone."""
        self.channel.close()
        # An honest worker ends by itself when nobody listens any more, which is quicker than killing it.
        ended = bool(select.select([self.line], [], [], FAREWELL)[0])
        if not (ended and "pid" in self.order.confinement.layers.namespaces):  # there, the kernel has ended all of it
            kill_tree(self.pid, self.order.confinement.user, ended=ended)
        self.line.close()


def _in_time(allowance: Allowance) -> None:
    if (why := allowance.over()) is not None:
        raise Dead(Trouble("timeout", "", allowance.told(why)))


def _that_fit(frames: Sequence[bytes]) -> list[bytes]:
    """As many as can be sent before anything is read, or one: neither side may wait for the other to read."""
    sizes = itertools.accumulate(map(len, frames))
    return [*itertools.islice(frames, max(1, sum(size <= wire.AT_ONCE for size in sizes)))]


def _malformed(text: str) -> Trouble:
    return Trouble("malformed", "", text)


def _stopped(over: str, memory: int) -> Trouble | None:
    """What the zygote has ended it for."""
    match over:
        case "memory":
            gigabytes = memory / (1 << 30)
            return Trouble("memory", "", f"your code used more than {gigabytes:g} GB of memory and was stopped")
        case "disk":
            return Trouble("disk", "", "your code wrote too many files, or too much into them")
    return None


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


def slack(course: Course) -> float:
    """Seconds by the clock, beyond deadlines, for all exercises together."""
    return max(SLACK, 2.0 * course.longest)


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
        until: float | None = None,
    ) -> None:
        """until: on the monotonic clock, when the last exercise may begin; all of them must have their time by then."""
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
        self.used: tuple[str, int] | None = None  # the name whose file is used in an edition, and up to where
        self.in_use: tuple[str, int] | None = None  # the same, as far as the present worker knows
        # Exercises that used up a limit, with an edition: they would do it again.
        self.given_up: dict[tuple[str, tuple[str, int] | None], Trouble] = {}
        self.until = until
        self.seconds = 0
        self.allowance = Allowance(0)
        self.stock = Stock()
        self.slack = slack(course)
        self.noted: set[str] = set()  # what was noticed in the present checks, and
        self.told: set[str] = set()  # of that, what was told already
        self.tried: set[str] = set()  # by workers that have ended, and was refused
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
        self.noted, self.told = set(), set()
        if self.stock.bytes > MUCH_KEPT:
            gc.collect()  # exceptions and their frames hold each other, and replies
        self.stock = Stock()
        self._allow(self.course.items[exercise].deadline)

    def _allow(self, seconds: int) -> None:
        """Time begins to count. Where a platform sets an end, each exercise to come must still have its own time."""
        self.slack -= (
            max(0.0, time.monotonic() - self.allowance.began - self.allowance.seconds) if self.seconds else 0.0
        )
        self.seconds, limit = seconds, seconds + min(longest(seconds) - seconds, max(0.0, self.slack))
        if self.until is not None:
            end = self.until + self.course.longest + self.course.retries
            limit = min(limit, max(seconds, end - time.monotonic() - self._to_come() - max(0.0, self.extra)))
        self.allowance = Allowance(seconds, limit)

    def _to_come(self) -> int:
        """The deadlines of all checks after the present ones."""
        times = [(item.slug, part, item.deadline) for part in PARTS for item in self.course.graded if item.runs(part)]
        places = [place for place, (slug, part, _) in enumerate(times) if (slug, part) == (self.exercise, self.part)]
        return sum(deadline for _, _, deadline in times[places[0] + 1 if places else 0 :])

    def noticed(self) -> list[str]:
        words = sorted(self.noted - self.told)
        self.told |= self.noted
        return words

    def refused(self) -> tuple[str, ...]:
        if self.folder is not None:
            self.tried |= tried.told(self.folder)
        return tuple(sorted(self.tried))

    def perform_all(self, requests: Sequence[Request]) -> list[Reply | Trouble]:
        """Ask the worker. If it dies of a request, that is the last reply, and the next request gets a new worker."""
        if (self.exercise, self.used) in self.given_up:
            return [self.given_up[self.exercise, self.used] for _ in requests]
        replies: list[Reply | Trouble] = []
        try:
            for name in {request.target: None for request in requests if isinstance(request.target, str)}:
                known = self._load(name)
                if known is not None:
                    return [known for _ in requests]
            if self.in_use != self.used:
                name, before = self.used or self.in_use or ("", 0)
                [*self._ask([Request("use", name, arguments=(before if self.used else 0,))])]
                self.in_use = self.used
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
            whole = self.allowance.used < 0.1 * self.seconds
            _in_time(self.allowance)
            try:
                (reply,) = self._ask([Request("load", name)])
                self.noted.update(reply.noticed)
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
        self.extra -= self.seconds if trouble.kind == "timeout" else self.allowance.used
        last = tries == RETRIES - 1 or self.extra < self.seconds / 2  # no other failure could be afforded
        self.left_out.append(LeftOut(file, number, trouble.text.removeprefix("your code "), and_rest=last))
        self._allow(self.seconds)  # the exercise itself has not begun yet
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

    def editions(self, name: str) -> list[Edition]:
        """As the worker says, which is believed no more than that it is worth a try."""
        (reply,) = self.perform_all([Request("editions", name)])[:1]
        told = reply.value if isinstance(reply, Reply) and isinstance(reply.value, list) else []
        found = []
        for one in told[:MOST]:
            match one:
                case (int(before), str(place), int(line)) if 0 < line <= len(self.places.lines(place)) and before >= 0:
                    found.append(Edition(before, place, line))
        return found

    def use(self, name: str, edition: Edition | None) -> None:
        self.used = (name, edition.before) if edition and edition.before else None

    def handed_in(self, name: str) -> Path | None:
        if name not in self.located:
            self.located[name] = located(self.root, name)
        return self.located[name]

    def run(self, script: Script, seconds: int) -> Reply | Trouble:
        """Run a script in a worker of its own: what it finds in its folder is all that there is of the submission.

        No other worker of the submission's lives meanwhile: that one may have read files which this one may not.
        """
        if self.layers.user_alone:  # the submission is its user's to read
            raise UserError("without Landlock or a root folder of its own, code cannot be kept from what was handed in")
        self.close()
        try:
            self.worker = self._start(script.files)
            self._allow(seconds)  # waiting for the zygote is not the student's time
            (reply,) = self._ask([script.request])
            return self._checked(reply)
        except Dead as dead:
            return self._told(dead.trouble)
        finally:
            self.given_up.pop((self.exercise, self.used), None)  # another script is another matter
            self.close()

    def _ask(self, requests: Sequence[Request]) -> Iterator[Reply | Trouble]:
        _in_time(self.allowance)
        if self.worker is None:
            before = time.monotonic()
            self.worker = self._start()
            self.allowance.not_counted(time.monotonic() - before)  # the first waits for the zygote
        try:
            yield from self.worker.ask(requests, self.allowance, self.stock)
        except BaseException as error:
            if isinstance(error, Dead) and error.trouble.kind == "timeout":
                self.late = self._frames(self.worker.place())
            self.reached = whereabouts.reached(self.folder) if self.folder else None
            self.close()
            raise

    def _told(self, trouble: Trouble) -> Trouble:
        if trouble.kind == "timeout":
            text = trouble.text
            loop = self._loop(*self.late[-1][:2]) if self.late else 0
            if loop:
                text += f"\nIt was in the loop of line {loop}: does that end? Or does it take one number at a time?"
            trouble = Trouble("timeout", "", text, self.late)
        if trouble.kind in ("timeout", "memory", "disk"):
            self.given_up[self.exercise, self.used] = trouble
        return trouble

    def _checked(self, reply: Reply | Trouble) -> Reply | Trouble:
        """Places in files are told only if there are such places: a made-up name could carry anything."""
        self.noted.update(reply.noticed)
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
        self.in_use = None
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
            # More than all deadlines together, which count processor time, too: those end code with a reason.
            cpu_seconds=sum(item.deadline for item in self.course.graded for part in PARTS if item.runs(part))
            + self.course.retries
            + 5,
            file_bytes=self.limits.file_bytes,
            open_files=self.limits.open_files,
            threads=self.limits.threads,
            keep=(),
        )
        course = self.course
        room = limits.memory, limits.disk, limits.files
        order = Order(confinement, str(root), course.files, *room, course.by_cells, tuple(self.left_out))
        return Worker(self.zygote, order)

    def close(self) -> None:
        """Kill the worker, if there is one, and remove what it wrote."""
        if self.worker is not None:
            self.worker.kill()
            self.worker = None
            self.epoch += 1
        if self.folder is not None:
            self.tried |= tried.told(self.folder)
            remove_tree(self.folder)
            self.folder = None
