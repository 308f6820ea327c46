"""How a check talks to a submission: like plain Python, whatever is on the other side."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeGuard
from weakref import WeakKeyDictionary

from torch import Tensor

from autograder.judging.findings import CheckFailed, Finding, Measure
from autograder.running import room
from autograder.running.cells import said_place
from autograder.running.editions import Edition
from autograder.running.perform import Reply, Request, Script, Trouble
from autograder.running.plain import Handle, Plain


class Channel(Protocol):
    """Whatever carries out requests: in this process, or in a worker."""

    @property
    def root(self) -> Path:
        """The folder of the submission."""
        ...

    epoch: int  # another number means another process: objects that were made before are gone

    def begin(self, exercise: str, part: str) -> None: ...

    def perform_all(self, requests: Sequence[Request]) -> list[Reply | Trouble]:
        """Carry out one after the other. Fewer replies than requests: the last of them killed the process."""
        ...

    def noticed(self) -> list[str]:
        """Words for what the code asked for (see `room`), each once in the checks that began last."""
        ...

    def refused(self) -> tuple[str, ...]:
        """Words for what the code tried and was refused so far (see `tried`)."""
        ...

    def file_of(self, name: str) -> str:
        """The file of the submission in which a name was found, if it was."""
        ...

    def editions(self, name: str) -> list[Edition]:
        """The editions of the file in which a name was found, the whole file first; one or none: there is no choice."""
        ...

    def use(self, name: str, edition: Edition | None) -> None:
        """From now on, take everything from an edition of that file; None is the whole file."""
        ...

    def handed_in(self, name: str) -> Path | None:
        """Where a file of the submission lies, if it was handed in. Nobody but the student has written to it."""
        ...

    def run(self, script: Script, seconds: int) -> Reply | Trouble:
        """Run a script where nothing of the submission is but the files it names; the reply is what it wrote."""
        ...


# What public checks have told of a submission, whichever of its editions they looked at.
_TOLD: WeakKeyDictionary[Channel, set[str]] = WeakKeyDictionary()


class Submission:
    """The submission under test. `submission.split_heads(x, 3)` calls the student's function."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._kept: dict[str, Instance] = {}
        self._answers: dict[int, tuple[Any, Reply | CheckFailed]] = {}  # see `checks.answer`
        self._notes: list[tuple[str, bool]] = []
        self._seen: list[str] = []
        self._measure: Measure | None = None
        self.part = ""  # of the checks that are running: public or hidden
        self._used: frozenset[str] = frozenset()  # by the check that was noted last

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments, **options: self.call(name, *arguments, **options).value

    def _begin(self, exercise: str, part: str) -> None:
        self.part = part
        self._answers.clear()  # they can be large, and other exercises have no use for them
        self._channel.begin(exercise, part)

    def _file_of(self, name: str) -> str:
        return self._channel.file_of(name)

    def _editions(self, name: str) -> list[Edition]:
        return self._channel.editions(name)

    def _in(self, name: str, edition: Edition | None) -> Submission:
        """The same submission, of which an edition is used: another one to whoever keeps what this one answered."""
        self._channel.use(name, edition)
        if edition is None:
            return self
        other = Submission(self._channel)
        other.part = self.part
        return other

    def note(self, text: str, *, always: bool = False) -> None:
        """Something to tell of the running check, also if it passes; of a hidden one only what is told `always`."""
        self._notes.append((text, always))

    def seen(self, text: str) -> None:
        """The same for what code did, which may depend on what it was given: of a hidden check, it is told only if a
        public one of the submission has told it."""
        self._seen.append(text)

    def measured(self, measure: Measure) -> None:
        """A number that the running check found, for a leaderboard."""
        self._measure = measure

    def _noted(self, part: str) -> tuple[str, Measure | None]:
        """What was noted, as far as a check of this part may tell it, and measured since this was asked last."""
        self._used = frozenset(words := self._channel.noticed())
        seen, open_ = [*self._seen, *room.remarks(words)], _TOLD.setdefault(self._channel, set())
        if part == "public":
            open_.update(seen)
        told = [text for text, always in self._notes if always or part == "public"]
        told += [text for text in seen if text in open_]
        measure, self._notes, self._seen, self._measure = self._measure, [], [], None
        return "; ".join(told), measure

    def _refused(self) -> tuple[str, ...]:
        return self._channel.refused()

    def call(self, name: str, *arguments: Plain, **options: Plain) -> Reply:
        """Call a function."""
        return self._ask(Request("call", name, arguments=arguments, options=options), name)

    def create(
        self, name: str, *arguments: Plain, state: dict[str, Tensor] | None = None, known_as: str = ""
    ) -> Instance:
        """Make an object of a class; `state` is loaded into it by name, in evaluation mode.

        One that is `known_as` something is made once and used again, as long as its process lives.
        """
        made = self.create_all(name, {known_as: Request("create", name, arguments=arguments, state=state)})[known_as]
        if isinstance(made, CheckFailed):
            raise made
        return made

    def create_all(self, name: str, wanted: Mapping[str, Request]) -> dict[str, Instance | CheckFailed]:
        """Several objects of a class, by what they are known as."""
        made: dict[str, Instance | CheckFailed] = {known: self._kept[known] for known in wanted if known in self._kept}
        while missing := [known for known in wanted if not self._lives(made.get(known))]:
            epoch = self._channel.epoch
            replies = self._channel.perform_all([wanted[known] for known in missing])
            for known, reply in zip(missing, replies, strict=False):
                made[known] = self._instance(name, reply, wanted[known].state, epoch)
        self._kept |= {known: one for known, one in made.items() if known and isinstance(one, Instance)}
        return made

    def _lives(self, made: Instance | CheckFailed | None) -> bool:
        """Is there nothing more to do for it?"""
        return isinstance(made, CheckFailed) or (made is not None and made.epoch == self._channel.epoch)

    def _instance(
        self, name: str, reply: Reply | Trouble, state: dict[str, Tensor] | None, epoch: int
    ) -> Instance | CheckFailed:
        if isinstance(reply, Trouble):
            return failure(reply, name)
        if not isinstance(reply.value, Handle):
            return CheckFailed(Finding("malformed", f"{name}: the object could not be made"))
        return Instance(self, name, reply.value, state, epoch)

    def value(self, name: str) -> Plain:
        """The value of a variable; arrays are taken as tensors."""
        return self._ask(Request("value", name), name).value

    @property
    def root(self) -> Path:
        """The folder of the submission."""
        return self._channel.root

    def handed_in(self, name: str) -> Path | None:
        """Where a file of the submission lies, if it was handed in."""
        return self._channel.handed_in(name)

    def run(self, script: Script, seconds: int) -> Reply | CheckFailed:
        """Run a script of the student's with these files, for so long at most; the reply is what it wrote."""
        reply = self._channel.run(script, seconds)
        return failure(reply, script.name) if isinstance(reply, Trouble) else reply

    def ask_all(self, requests: Sequence[Request], name: str) -> list[Reply | CheckFailed]:
        """Several requests at once, which is quicker. Those after one that killed the process are not answered."""
        replies = self._channel.perform_all(requests)
        return [failure(reply, name) if isinstance(reply, Trouble) else reply for reply in replies]

    def _ask(self, request: Request, name: str) -> Reply:
        reply = self.ask_all([request], name)[0]
        if isinstance(reply, CheckFailed):
            raise reply
        return reply


@dataclass(frozen=True)
class Instance:
    """An object of the student's, by handle."""

    submission: Submission
    name: str
    handle: Handle
    state: dict[str, Tensor] | None
    epoch: int  # of the process that it is in

    def call(self, method: str, *arguments: Plain) -> Reply:
        """Call a method."""
        return self.submission._ask(self.request(method, *arguments), f"{self.name}.{method}")

    def request(
        self, method: str, *arguments: Plain, cotangent: Tensor | None = None, give_back: bool = False
    ) -> Request:
        """To call a method; with a cotangent, gradients of the weights come back too."""
        members = tuple(self.state or ()) if cotangent is not None else ()
        return Request(
            "call", self.handle, method, arguments, cotangent=cotangent, members=members, give_back=give_back
        )

    def items(self, indices: Sequence[int]) -> Items:
        """`object[i]` for each index, in order."""
        return self.read_items(self.submission._ask(self.items_request(indices), self.getting), len(indices))

    @property
    def getting(self) -> str:
        """What indexing is called in messages."""
        return f"{self.name}.__getitem__"

    def items_request(self, indices: Sequence[int]) -> Request:
        """For `object[i]` of each index."""
        return Request("items", self.handle, arguments=tuple(indices))

    def read_items(self, reply: Reply, count: int) -> Items:
        """What such a request brought, if it is that."""
        match reply.value:
            case {"stacked": tuple() as columns} if columns:
                stacked = tuple(column for column in columns if _has_rows(column, count))
                if len(stacked) == len(columns):
                    return Items(stacked)
            case list() as items if len(items) == count:
                return Items(None, items)
        raise CheckFailed(Finding("malformed", f"{self.name}: the items could not be read"))

    def length(self) -> Plain:
        return self.call("__len__").value

    def attributes(self, names: Sequence[str]) -> list[Plain]:
        """Several of them at once, which is quicker."""
        replies = self.submission.ask_all([Request("value", self.handle, name) for name in names], self.name)
        for reply in replies:
            if isinstance(reply, CheckFailed):
                raise reply
        return [reply.value for reply in replies if isinstance(reply, Reply)]


@dataclass(frozen=True)
class Items:
    """What indexing gave. Tuples of tensors that are all alike come as one tensor per place, one row per item."""

    columns: tuple[Tensor, ...] | None
    single: Sequence[Plain] = ()

    def each(self) -> Sequence[Plain]:
        """One value per item."""
        if self.columns is None:
            return self.single
        return list(zip(*(column.unbind(0) for column in self.columns), strict=True))


def _has_rows(column: Plain, count: int) -> TypeGuard[Tensor]:
    return isinstance(column, Tensor) and column.dim() > 0 and column.shape[0] == count


def failure(trouble: Trouble, name: str) -> CheckFailed:
    """Turn what student code did instead of returning into the finding that says so."""
    file, line, _ = trouble.frames[-1] if trouble.frames else ("", 0, "")
    place = said_place(file, line)
    first, *more = trouble.text.splitlines() or [""]
    # The name of a made-up exception class could carry hidden inputs out; Python's own cannot.
    known = trouble.type_name if hasattr(builtins, trouble.type_name) else "an exception"
    where = ", ".join(part for part in (known, place) if part)
    match trouble.kind:
        case "not started":
            finding = Finding("not started", f"{name}: {first or 'not started yet'}", where=place)
        case "missing":
            finding = Finding("missing", f"{name}: {first}", tuple(more))
        case "timeout" | "memory" | "disk" | "crash" | "malformed":
            # The first line is the grader's own, so hidden checks may show what it says about the cause.
            finding = Finding(trouble.kind, f"{name}: {first}", (*more[:2], *_places(trouble)), where=first)
        case "arguments":
            headline = f"{name}: does not take the arguments that it is called with"
            finding = Finding("arguments", headline, (f"TypeError: {first}", *more[:1]), where=where)
        case "layers":
            finding = Finding("layers", f"{name}: {first}", tuple(more))
        case "import" | "broken" | "exception" if _needs_package(trouble):
            # One line for the whole file, where the file is lost; else for what needs it.
            headline = f"{place} {_needs_package(trouble)}"
            whole = trouble.kind == "import"
            finding = Finding(
                trouble.kind, headline if whole else f"{name}: {headline}", (*_places(trouble), *THERE), where=where
            )
        case "import" if trouble.column:
            headline = f"{name}: {file} has a syntax error in line {line}"
            evidence = (f"{trouble.type_name}: {first}", *_caret(trouble.frames[-1][2], trouble.column))
            finding = Finding("import", headline, evidence, where=where)
        case "import":
            said = [f"{trouble.type_name}: {first}", *_places(trouble)]
            finding = Finding("import", f"{name}: {file or 'a file'} could not be loaded", tuple(said), where=where)
        case "broken" if not trouble.type_name:
            finding = Finding("broken", f"{name}: the code that sets it was stopped", (place, first), where=place)
        case "broken":
            said = [f"{trouble.type_name}: {first}", *_places(trouble), *more[:1]]
            headline = f"{name}: the code that sets it raised {trouble.type_name}"
            finding = Finding("broken", headline, tuple(said), where=where)
        case "exception":
            headline = f"{name}: your code raised {trouble.type_name}"
            said = [f"{trouble.type_name}: {first}", *_places(trouble), *more[:1]]
            places = tuple((file, line) for file, line, _ in trouble.frames)
            finding = Finding("exception", headline, tuple(said), where=where, places=places)
    return CheckFailed(finding)


THERE = ["Only torch, numpy, einops, Python's own modules and the files that you hand in are there."]
_NO_MODULE = re.compile(r"No module named '([\w.]{1,60})'")
_USES = re.compile(r"uses `[\w.]{1,60}`, which is not installed where we grade")


def _needs_package(trouble: Trouble) -> str:
    """What is missing, if that is a package and the place is known where it is asked for."""
    if trouble.type_name != "ModuleNotFoundError" or not trouble.frames:
        return ""
    if _USES.fullmatch(trouble.text):
        return trouble.text
    found = _NO_MODULE.match(trouble.text)
    return f"imports `{found[1]}`, which is not installed where we grade" if found else ""


def _places(trouble: Trouble) -> list[str]:
    """Where it happened, in the student's own files: the innermost place, and where that was called from."""
    places = [f"{said_place(file, line)}: {source}" for file, line, source in reversed(trouble.frames[-2:])]
    return [f"{word} {place}" for word, place in zip(("at", "called from"), places, strict=False)]


def _caret(source: str, column: int) -> tuple[str, str]:
    """A line of code and a caret below it, cut so that both fit into a message."""
    start = max(0, column - 50)
    return source[start : start + 66], " " * (column - 1 - start) + "^"
