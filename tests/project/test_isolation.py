"""A confined worker can compute and answer. Everything else it tries fails, in every tier that this machine has.

For each tier a "grader" is forked, as root or as an ordinary user, and forks workers of its own. The same attempts are
made once without confinement, where they must succeed: an attempt that never works proves nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import errno
import fcntl
import importlib
import json
import mmap
import os
import platform
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from autograder.errors import UserError
from autograder.grading.grade import open_to_all, require_isolation
from autograder.isolation import (
    Confinement,
    Layers,
    NotConfined,
    confine,
    fork_alone,
    kill_tree,
    namespaces,
    privileges,
    probe,
    processes,
    python_folders,
    seccomp,
    syscalls,
)
from autograder.isolation.kernel import PR_SET_DUMPABLE, PR_SET_PDEATHSIG, call, prctl
from autograder.proving.situations import become_ordinary

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these layers")

IS_ROOT = os.geteuid() == 0
ORDINARY = 65534 if IS_ROOT else os.geteuid()
OWN = 60000 + os.getpid() % 5000  # the worker's own user, and not that of tests running beside these
WITH_NAMESPACES, WITHOUT_NAMESPACES, ORDINARY_USER = "root with namespaces", "root without namespaces", "ordinary user"
TIERS = [WITH_NAMESPACES, WITHOUT_NAMESPACES, ORDINARY_USER] if IS_ROOT else [ORDINARY_USER]

libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Ground:
    """Where a test plays: what is hidden from the worker, what it may read, and its own folder."""

    root: Path
    grader: int = 0  # the grader's pid
    descriptor: int = 0  # the hidden file, open in the grader

    @property
    def hidden(self) -> Path:
        return self.root / "hidden" / "answers.txt"

    @property
    def submission(self) -> Path:
        return self.root / "submission"

    @property
    def own(self) -> Path:
        return self.root / "own"


@pytest.fixture
def ground() -> Iterator[Ground]:
    with fresh_ground() as made:
        yield made


@contextlib.contextmanager
def fresh_ground() -> Iterator[Ground]:
    # Not tmp_path, which lies in a folder of mode 700: here only the layers stand between the worker and the answers.
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        made = Ground(Path(folder))
        made.root.chmod(0o755)
        for path in (made.hidden.parent, made.submission, made.own, made.root / "outside"):
            path.mkdir()
        made.hidden.write_text("42")
        (made.submission / "student.py").write_text("answer = 41\n")
        (made.root / "outside").chmod(0o777)
        yield made


# ---------------------------------------------------------------- graders and workers


def in_grader(tier: str, ground: Ground, task: Callable[[Ground, Layers], Any]) -> Any:
    """What the task returns, carried out in a forked process that is the grader of this tier."""
    if tier == ORDINARY_USER:
        for path in [ground.root, *ground.root.rglob("*")]:
            os.chown(path, ORDINARY, -1)
    elif IS_ROOT:
        os.chown(ground.own, OWN, OWN)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, json.dumps(_grade(tier, ground, task)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        outcome = json.loads(file.read() or b'{"error": "the grader died"}')
    os.waitpid(pid, 0)
    assert "error" not in outcome, outcome["error"]
    return outcome["value"]


def _grade(tier: str, ground: Ground, task: Callable[[Ground, Layers], Any]) -> dict[str, Any]:
    try:
        signal.alarm(30)
        if tier == ORDINARY_USER and IS_ROOT:
            become_ordinary()
        layers = probe(namespaces=tier == WITH_NAMESPACES)
        if layers.name != tier:
            return {"value": f"this machine has '{layers.name}' in the place of '{tier}'"}
        descriptor = os.open(ground.hidden, os.O_RDONLY)
        return {"value": task(dataclasses.replace(ground, grader=os.getpid(), descriptor=descriptor), layers)}
    except BaseException:
        return {"error": traceback.format_exc()}


def confinement(ground: Ground, layers: Layers, **changed: Any) -> Confinement:
    own = OWN if layers.own_user else None
    spec = Confinement(
        layers=layers,
        readable=(*python_folders(), str(ground.submission)),
        writable=str(ground.own),
        user=own,
        group=own,
        cpu_seconds=20,
        file_bytes=1 << 20,
        open_files=64,
        threads=8,
        keep=(),
    )
    return dataclasses.replace(spec, **changed)


class Worker:
    """A forked, confined child that runs a body and reports what it returned."""

    def __init__(self, ground: Ground, layers: Layers | None, body: Callable[[], Any], **changed: Any) -> None:
        self.user = OWN if layers and layers.own_user else None
        self.channel, theirs = socket.socketpair()
        lifeline, self.alive = os.pipe()
        self.pid = fork_alone() if layers and "pid" in layers.namespaces else os.fork()
        if self.pid == 0:
            try:
                self.channel.close()
                os.close(self.alive)
                if layers:
                    confine(confinement(ground, layers, **{"keep": (theirs.fileno(),), **changed}), lifeline)
                theirs.sendall(json.dumps(body()).encode() + b"\n")
                theirs.recv(1)  # stay until the grader has looked
            except NotConfined as error:
                theirs.sendall(json.dumps(f"NotConfined: {error}").encode() + b"\n")
            except BaseException:
                theirs.sendall(json.dumps(traceback.format_exc()).encode() + b"\n")
            finally:
                os._exit(0)
        theirs.close()
        os.close(lifeline)

    def result(self) -> Any:
        line = self.channel.makefile("rb").readline()
        return json.loads(line) if line else None

    def end(self) -> int:
        kill_tree(self.pid, self.user)
        return self.wait()

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def outcome(attempt: Callable[[], object]) -> str:
    """ "done", or what was raised."""
    try:
        attempt()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, repr(error))
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def run(tier: str, ground: Ground, body: Callable[[Ground], Any], *, confined: bool = True, **changed: Any) -> Any:
    """What the body returns in a confined worker of this tier."""

    def task(ground: Ground, layers: Layers) -> Any:
        worker = Worker(ground, layers if confined else None, lambda: body(ground), **changed)
        result = worker.result()
        if confined:
            worker.end()
        else:
            os.kill(worker.pid, signal.SIGKILL)
            worker.wait()
        return result

    return in_grader(tier, ground, task)


# ---------------------------------------------------------------- what must fail


def _child(_: Ground) -> None:
    if (pid := os.fork()) == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _function(name: str, *arguments: Any) -> Callable[[Ground], object]:
    return lambda ground: call(name, *[a(ground) if callable(a) else a for a in arguments])


def _own_signals(ground: Ground) -> None:
    reader, writer = os.pipe()
    try:
        fcntl.fcntl(reader, fcntl.F_SETOWN, ground.grader)
    finally:
        os.close(reader)
        os.close(writer)


def _peek(ground: Ground) -> None:
    """Read the grader's memory, at the address of an object that both have: they are forks of one process."""
    target = ctypes.create_string_buffer(8)
    vector = ctypes.c_void_p * 2
    here, there = vector(ctypes.addressof(target), 8), vector(id(None), 8)
    if libc.process_vm_readv(ground.grader, here, 1, there, 1, 0) == -1:
        raise OSError(ctypes.get_errno(), "process_vm_readv")


def _a_socket(family: socket.AddressFamily, kind: socket.SocketKind) -> Callable[[Ground], None]:
    return lambda _: socket.socket(family, kind).close()


def _grader(ground: Ground) -> int:
    return ground.grader


def _on_a_file(attempt: Callable[[int], object]) -> Callable[[Ground], None]:
    """With a descriptor of a file of its own that holds a page."""

    def carried_out(ground: Ground) -> None:
        (ground.own / "page").write_bytes(bytes(4096))
        with (ground.own / "page").open("rb") as file:
            attempt(file.fileno())

    return carried_out


def _advise(advice: int) -> Callable[[int], None]:
    return lambda descriptor: mmap.mmap(descriptor, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ).madvise(advice)


def _in_memory(descriptor: int) -> None:
    with mmap.mmap(descriptor, 4096, mmap.MAP_PRIVATE) as area:
        address = ctypes.addressof(ctypes.c_char.from_buffer(area))
        call("mincore", address, 4096, ctypes.create_string_buffer(1).raw)


def _asynchronous() -> None:
    place = ctypes.c_ulong()
    if libc.syscall(syscalls.numbers(syscalls.MACHINE)["io_setup"], 1, ctypes.byref(place)) == -1:
        raise OSError(ctypes.get_errno(), "io_setup")


def _descriptors_of_its_own() -> None:
    call("syscall", syscalls.numbers(syscalls.EXAMINED)["close_range"], 1000, 1000, 2)


DENIED: dict[str, Callable[[Ground], object]] = {
    "read the answers": lambda g: g.hidden.read_text(),
    "list the hidden folder": lambda g: list(g.hidden.parent.iterdir()),
    "read the answers by a descriptor of the grader's": lambda g: os.pread(g.descriptor, 1, 0),
    "read the users": lambda _: Path("/etc/passwd").read_text(),
    "list the root folder's etc": lambda _: list(Path("/etc").iterdir()),
    "write into a folder open to all": lambda g: (g.root / "outside" / "x").write_text("x"),
    "make a folder open to all": lambda g: (g.root / "outside" / "y").mkdir(),
    "move a file out": lambda g: ((g.own / "a").write_text("x"), (g.own / "a").rename(g.root / "outside" / "a")),
    "leave something in shared memory": lambda g: _left(Path("/dev/shm") / f"left-{g.root.name}"),
    "leave something in /tmp": lambda g: _left(Path("/tmp") / f"left-{g.root.name}"),
    "link to the answers": lambda g: (g.own / "link").symlink_to(g.hidden),
    "link in its own folder": lambda g: ((g.own / "b").write_text("x"), (g.own / "c").hardlink_to(g.own / "b")),
    "make a pipe in its own folder": lambda g: os.mkfifo(g.own / "pipe"),
    "list the processes": lambda _: list(Path("/proc").iterdir()),
    "read the grader's environment": lambda g: Path(f"/proc/{g.grader}/environ").read_bytes(),
    "read the grader's command line": lambda g: Path(f"/proc/{g.grader}/cmdline").read_bytes(),
    "open the grader's memory": lambda g: Path(f"/proc/{g.grader}/mem").open("rb").close(),
    "list the grader's descriptors": lambda g: list(Path(f"/proc/{g.grader}/fd").iterdir()),
    "open a descriptor of the grader's": lambda g: Path(f"/proc/{g.grader}/fd/{g.descriptor}").read_bytes(),
    "see what the grader runs": lambda g: Path(f"/proc/{g.grader}/exe").readlink(),
    "read its own environment of the start": lambda _: Path("/proc/self/environ").read_bytes(),
    "copy the grader's memory": _peek,
    "signal the grader": lambda g: os.kill(g.grader, 0),
    "signal a thread of the grader's": _function("tgkill", _grader, _grader, 0),
    "signal everybody": lambda _: os.kill(-1, 0),
    "signal its group": lambda _: os.kill(0, 0),
    "have the kernel signal the grader": _own_signals,
    "hold the grader": lambda g: os.close(os.pidfd_open(g.grader)),
    "slow the grader down": lambda g: os.setpriority(os.PRIO_PROCESS, g.grader, 19),
    "move the grader": lambda g: os.sched_setaffinity(g.grader, os.sched_getaffinity(0)),
    "limit the grader": lambda g: resource.prlimit(g.grader, resource.RLIMIT_CORE, (0, 0)),
    "open a TCP socket": _a_socket(socket.AF_INET, socket.SOCK_STREAM),
    "open a UDP socket": _a_socket(socket.AF_INET, socket.SOCK_DGRAM),
    "open an IPv6 socket": _a_socket(socket.AF_INET6, socket.SOCK_STREAM),
    "open a unix socket": _a_socket(socket.AF_UNIX, socket.SOCK_STREAM),
    "open a pair of sockets": lambda _: [end.close() for end in socket.socketpair()],
    "fork": _child,
    "run a program": lambda _: subprocess.run(["/bin/true"], check=True),
    "spawn a program": lambda _: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0),
    "outlive the grader": lambda _: prctl(PR_SET_PDEATHSIG, 0),
    "show its memory": lambda _: prctl(PR_SET_DUMPABLE, 1),
    "open the rights of its folder": lambda g: g.own.chmod(0o755),
    "truncate what it may only read": lambda g: os.close(os.open(g.submission / "student.py", os.O_TRUNC)),
    "keep a shared segment": lambda _: _segment(),
    "hide memory in a file without a name": lambda _: os.close(os.memfd_create("hidden")),
    "hide memory in a shared mapping": lambda _: mmap.mmap(-1, 4096).close(),
    "hide a file without a name": lambda g: os.close(os.open(g.own, os.O_TMPFILE | os.O_RDWR)),
    "forget pages of a file": _on_a_file(lambda file: os.posix_fadvise(file, 0, 4096, os.POSIX_FADV_DONTNEED)),
    "read only what is in memory": _on_a_file(lambda file: os.preadv(file, [bytearray(1)], 0, os.RWF_NOWAIT)),
    "see which pages are in memory": _on_a_file(_in_memory),
    "read pages ahead": _on_a_file(lambda file: call("readahead", file, 0, 4096)),
    "have pages read ahead": _on_a_file(_advise(mmap.MADV_WILLNEED)),
    "have pages written out": _on_a_file(_advise(21)),
    "lock a file": _on_a_file(lambda file: fcntl.flock(file, fcntl.LOCK_SH)),
    "see who has locked a file": _on_a_file(lambda file: fcntl.fcntl(file, fcntl.F_GETLK, bytes(32))),
    "lease a file": _on_a_file(lambda file: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)),
    "be told of changes": lambda g: fcntl.fcntl(os.open(g.own, os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS),
    "fill a pipe": lambda _: fcntl.fcntl(os.pipe()[0], fcntl.F_SETPIPE_SZ, 1 << 18),
    "ask a file system": _on_a_file(lambda file: fcntl.ioctl(file, 2, bytes(4))),  # FIGETBSZ, one of hundreds
    "take a place for asynchronous reading": lambda _: _asynchronous(),
    "have descriptors of its own": lambda _: _descriptors_of_its_own(),
}
OF_THE_GRADERS_FILES: dict[str, Callable[[Ground], object]] = {
    "change the rights of the answers": lambda g: g.hidden.chmod(0o600),
    "change the time of the answers": lambda g: os.utime(g.hidden),
    "truncate the answers": lambda g: os.truncate(g.hidden, 1),
    "rename the answers": lambda g: g.hidden.rename(g.hidden.with_name("gone")),
    "overwrite the submission": lambda g: (g.submission / "student.py").write_text(""),
    "remove the submission": lambda g: (g.submission / "student.py").unlink(),
    "put a torch.py beside the submission": lambda g: (g.submission / "torch.py").write_text(""),
}
OF_ROOT: dict[str, Callable[[Ground], object]] = {
    "be root again": lambda _: os.setuid(0),
    "mount": lambda g: (namespaces.mount("tmpfs", str(g.own), "tmpfs", 0), call("umount2", os.fsencode(g.own), 0)),
    "enter a namespace": lambda _: namespaces.enter(["uts"]),
    "name the machine": lambda _: socket.sethostname(socket.gethostname()),
    "change its root": lambda _: os.chroot("/"),
}
DENIALS = {"EPERM", "EACCES", "EBADF", "ENOSYS", "ENOTSUP", "EINVAL"}
ABSENCES = {"ENOENT", "ESRCH", "EROFS"}  # under a root folder and in a pid namespace of its own, things are not there


def _left(path: Path) -> None:
    path.write_text("for the next one")
    path.unlink()


def _segment() -> None:
    segment = call("shmget", 0, 4096, 0o1600)
    call("shmctl", segment, 0, None)  # remove it


@pytest.mark.parametrize("tier", TIERS)
def test_confine_stops_every_attempt(tier: str, ground: Ground) -> None:
    attempts = DENIED | OF_THE_GRADERS_FILES | (OF_ROOT if tier != ORDINARY_USER else {})

    def body(ground: Ground) -> dict[str, str]:
        return {name: outcome(partial(attempt, ground)) for name, attempt in attempts.items()}

    with fresh_ground() as another:
        free = run(tier, another, body, confined=False)
    if isinstance(free, str):
        pytest.skip(free)
    assert {name: how for name, how in free.items() if how != "done"} == {}
    confined = run(tier, ground, body)
    denials = DENIALS | ABSENCES if tier == WITH_NAMESPACES else DENIALS
    assert {name: how for name, how in confined.items() if how not in denials} == {}
    assert confined.keys() == attempts.keys()
    assert ground.hidden.read_text() == "42"


@pytest.mark.skipif(not IS_ROOT, reason="needs a mount namespace")
def test_reading_a_shared_file_leaves_no_time_behind(ground: Ground) -> None:
    def body(ground: Ground) -> bool:
        return all(os.statvfs(path).f_flag & os.ST_NOATIME for path in (*python_folders(), ground.submission))

    assert run(WITH_NAMESPACES, ground, body) is True


# ---------------------------------------------------------------- what must work


LATE = ("statistics", "sqlite3", "numpy.polynomial", "unittest.mock", "wave", "colorsys", "xml.etree.ElementTree")


def _import_anew(name: str) -> None:
    for loaded in [module for module in sys.modules if module == name or module.startswith(f"{name}.")]:
        del sys.modules[loaded]
    importlib.import_module(name)


def _learn() -> None:
    from torch.utils.data import DataLoader, TensorDataset

    model = torch.nn.Linear(3, 2)
    for inputs, targets in DataLoader(TensorDataset(torch.randn(8, 3), torch.randn(8, 2)), batch_size=4, shuffle=True):
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
    assert model.weight.grad is not None


def _multiply_in_threads() -> None:
    torch.set_num_threads(3)
    product = torch.ones(600, 600) @ torch.ones(600, 600)
    assert product[0, 0] == 600


def _start_threads() -> None:
    seen: list[int] = []
    threads = [threading.Thread(target=seen.append, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [0, 1, 2, 3]


def _use_database() -> None:
    import sqlite3

    connection = sqlite3.connect("marks.db")
    with connection:
        connection.execute("create table marks (name, points)")
    connection.close()


def _save_and_load(ground: Ground) -> None:
    torch.save({"weight": torch.ones(2)}, "model.pt")
    torch.load("model.pt")
    (ground.own / "folder").mkdir()
    (ground.own / "model.pt").rename(ground.own / "folder" / "model.pt")
    with tempfile.TemporaryFile() as file:
        file.write(b"x")
    with tempfile.TemporaryDirectory() as folder:
        assert Path(folder).parent == ground.own
    shutil.rmtree(ground.own / "folder")


def _import_submission(ground: Ground) -> None:
    sys.path.insert(0, str(ground.submission))
    assert importlib.import_module("student").answer == 41


def _raise_to_itself() -> None:
    signal.signal(signal.SIGUSR1, lambda *_: None)
    os.kill(os.getpid(), signal.SIGUSR1)
    signal.raise_signal(signal.SIGUSR1)


def allowed(ground: Ground) -> dict[str, str]:
    things: dict[str, Callable[[], object]] = {
        **{f"import {name}": (lambda name=name: _import_anew(name)) for name in LATE},
        "import torch.utils.data": lambda: importlib.import_module("torch.utils.data"),
        "find a codec": lambda: "x".encode("cp857"),
        "import the submission": lambda: _import_submission(ground),
        "learn": _learn,
        "multiply in threads": _multiply_in_threads,
        "start threads": _start_threads,
        "use a database": _use_database,
        "save and load": lambda: _save_and_load(ground),
        "signal itself": _raise_to_itself,
        "draw random bytes": lambda: (os.urandom(8), os.read(os.open("/dev/urandom", os.O_RDONLY), 1)),
        "write to nowhere": lambda: Path("/dev/null").write_text("x"),
        "know the time zone": time.localtime,
        "count processors": os.cpu_count,
    }
    return {name: outcome(thing) for name, thing in things.items()}


@pytest.mark.parametrize("tier", TIERS)
def test_confine_leaves_honest_work_alone(tier: str, ground: Ground) -> None:
    result = run(tier, ground, allowed)
    if isinstance(result, str):
        pytest.skip(result)
    assert {name: how for name, how in result.items() if how != "done"} == {}
    assert len(result) > len(LATE)


@pytest.mark.parametrize("tier", TIERS)
def test_confine_cleans_what_was_inherited(tier: str, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM_SECRET", "s3cret")
    signal.signal(signal.SIGUSR2, lambda *_: None)

    def body(ground: Ground) -> dict[str, Any]:
        return {
            "names": sorted(os.environ),
            "secret": libc.getenv(b"TERM_SECRET"),
            "folder": str(Path.cwd()),
            "mask": os.umask(0),
            "leader": os.getsid(0) == os.getpid(),
            "handler": signal.getsignal(signal.SIGUSR2) == signal.SIG_DFL,
            "output": os.fstat(1).st_rdev == os.stat("/dev/null").st_rdev,  # noqa: PTH116
        }

    try:
        result = run(tier, ground, body)
    finally:
        signal.signal(signal.SIGUSR2, signal.SIG_DFL)
    if isinstance(result, str):
        pytest.skip(result)
    assert result == {
        "names": ["HOME", "LANG", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "PATH", "TMPDIR", "TZ"],
        "secret": 0,
        "folder": str(ground.own),
        "mask": 0o077,
        "leader": True,
        "handler": True,
        "output": True,
    }


@pytest.mark.parametrize("tier", TIERS)
def test_confine_leaves_no_privilege(tier: str, ground: Ground) -> None:
    def task(ground: Ground, layers: Layers) -> Any:
        worker = Worker(ground, layers, lambda: "ready")
        ready = worker.result()
        texts = [Path(f"/proc/{pid}/status").read_text() for pid in processes(worker.pid, worker.user)]
        worker.end()
        return [ready, max(texts, key=lambda text: "Seccomp:\t2" in text)]

    result = in_grader(tier, ground, task)
    if isinstance(result, str):
        pytest.skip(result)
    ready, text = result
    assert ready == "ready"
    fields = dict(re.findall(r"(\w+):\t(.*)", text))
    sets = ["CapInh", "CapPrm", "CapEff", "CapAmb"] + (["CapBnd"] if tier != ORDINARY_USER else [])
    assert {int(fields[name], 16) for name in sets} == {0}
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")
    assert set(fields["Uid"].split()) == {str(ORDINARY if tier == ORDINARY_USER else OWN)}


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize("tier", TIERS)
def test_confine_limits_files_and_threads(tier: str, ground: Ground) -> None:
    def start_many() -> None:
        wait = threading.Event()
        try:
            for _ in range(12):
                threading.Thread(target=wait.wait, daemon=True).start()
        finally:
            wait.set()

    def body(ground: Ground) -> dict[str, str]:
        return {
            "size": outcome(lambda: (ground.own / "large").write_bytes(bytes(2 << 20))),
            "files": outcome(lambda: [os.dup(0) for _ in range(100)]),
            "threads": outcome(start_many),
        }

    result = run(tier, ground, body)
    if isinstance(result, str) and "place of" in result:
        pytest.skip(result)
    threads = "done" if tier == ORDINARY_USER else "RuntimeError: can't start new thread"  # shares its user's count
    assert result == {"size": "EFBIG", "files": "EMFILE", "threads": threads}


@pytest.mark.parametrize("tier", TIERS)
def test_confine_ends_an_endless_loop(tier: str, ground: Ground) -> None:
    def spin() -> None:
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)
        while True:
            pass

    def task(ground: Ground, layers: Layers) -> Any:
        worker = Worker(ground, layers, spin, cpu_seconds=1)
        return [worker.result(), worker.wait()]

    result = in_grader(tier, ground, task)
    if isinstance(result, str):
        pytest.skip(result)
    assert result == [None, -signal.SIGKILL]


# ---------------------------------------------------------------- ending


@pytest.mark.parametrize("tier", TIERS)
def test_confine_passes_the_status_on(tier: str, ground: Ground) -> None:
    def task(ground: Ground, layers: Layers) -> Any:
        bodies: list[Callable[[], Any]] = [lambda: os._exit(7), lambda: ctypes.string_at(0)]
        return [Worker(ground, layers, body).wait() for body in bodies]

    result = in_grader(tier, ground, task)
    if isinstance(result, str):
        pytest.skip(result)
    assert result == [7, -signal.SIGSEGV]


def test_confine_refuses_a_process_that_is_not_alone_in_its_pid_namespace(ground: Ground) -> None:
    def task(ground: Ground, layers: Layers) -> Any:
        reader, writer = os.pipe()
        if (pid := os.fork()) == 0:
            try:
                confine(confinement(ground, layers, keep=(writer,)), reader)
            except NotConfined as error:
                os.write(writer, str(error).encode())
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        return os.read(reader, 1000).decode()

    result = in_grader(WITH_NAMESPACES, ground, task)
    if "this machine has" in result:
        pytest.skip(result)
    assert "not forked into a pid namespace" in result


@pytest.mark.parametrize("tier", TIERS)
def test_confine_makes_the_worker_die_with_its_parent(tier: str, ground: Ground) -> None:
    def task(ground: Ground, layers: Layers) -> Any:
        reader, writer = os.pipe()
        parent = os.fork()
        if parent == 0:
            worker = Worker(ground, layers, lambda: "ready")
            worker.result()
            os.write(writer, json.dumps(processes(worker.pid, worker.user)).encode())
            signal.pause()
        members = json.loads(os.read(reader, 1000))
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)
        return [len(members), _gone(members)]

    result = in_grader(tier, ground, task)
    if isinstance(result, str):
        pytest.skip(result)
    assert result == [1, True]


def _gone(pids: list[int]) -> bool:
    """Do they end, within a moment? A process that nobody has waited for counts as ended."""
    for _ in range(500):
        states = [_state(pid) for pid in pids]
        if all(state in ("", "Z", "X") for state in states):
            return True
        time.sleep(0.01)
    return False


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@pytest.mark.parametrize("tier", TIERS)
def test_kill_tree_ends_a_worker_that_resists(tier: str, ground: Ground) -> None:
    def resist() -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        (Path.cwd() / "ready").touch()
        while True:
            pass

    def task(ground: Ground, layers: Layers) -> Any:
        worker = Worker(ground, layers, resist)
        while not (ground.own / "ready").exists():
            time.sleep(0.01)
        members = processes(worker.pid, worker.user)
        kill_tree(worker.pid, worker.user)
        return [_gone(members), processes(worker.pid, worker.user), worker.wait()]

    result = in_grader(tier, ground, task)
    if isinstance(result, str):
        pytest.skip(result)
    assert result == [True, [], -signal.SIGKILL]


@pytest.mark.skipif(not IS_ROOT, reason="needs a user of its own for the worker")
def test_kill_tree_finds_daemons_of_the_workers_user() -> None:
    """Also without the filter that forbids to fork: everything of that user ends."""
    pid = os.fork()
    if pid == 0:
        privileges.become(OWN, OWN)
        for _ in range(3):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    time.sleep(60)
                os._exit(0)
        time.sleep(60)
        os._exit(0)
    for _ in range(500):
        if len(members := processes(pid, OWN)) == 4:
            break
        time.sleep(0.01)
    assert len(members) == 4
    kill_tree(pid, OWN)
    assert processes(pid, OWN) == []
    assert _gone(members)
    os.waitpid(pid, 0)


def test_kill_tree_refuses_a_user_who_is_not_a_workers() -> None:
    with pytest.raises(ValueError, match="not a worker's own"):
        kill_tree(1, os.getuid())


# ---------------------------------------------------------------- late imports below a closed folder


@pytest.mark.skipif(not IS_ROOT, reason="nothing is closed to a worker of the same user")
@pytest.mark.parametrize("landlock", [True, False])
def test_confine_reaches_packages_below_a_closed_folder(landlock: bool, ground: Ground) -> None:
    packages = ground.root / "closed" / "lib"
    (packages / "late_package").mkdir(parents=True)
    (packages / "late_package" / "__init__.py").touch()
    (packages / "late_package" / "late_module.py").touch()
    (ground.root / "closed" / "secret.txt").write_text("42")
    (ground.root / "closed").chmod(0o700)

    def body(ground: Ground) -> list[str]:
        bridged = [entry for entry in sys.path if entry.startswith("/proc/self/fd/")]
        return [
            outcome(lambda: importlib.import_module("late_package.late_module")),
            *(outcome(lambda entry=entry: Path(f"{entry}/../secret.txt").read_text()) for entry in bridged),
        ]

    def task(ground: Ground, layers: Layers) -> Any:
        sys.path.insert(0, str(packages))
        importlib.import_module("late_package")
        layers = layers if landlock else dataclasses.replace(layers, landlock=0)
        worker = Worker(ground, layers, lambda: body(ground), readable=(*python_folders(), str(packages)))
        result = worker.result()
        worker.end()
        return result

    result = in_grader(WITHOUT_NAMESPACES, ground, task)
    if landlock:
        imported, *climbed = result
        assert imported == "done"
        assert climbed and set(climbed) <= {"EACCES", "ENOENT"}
    else:  # no open folder to climb out of
        assert result == ["ModuleNotFoundError: No module named 'late_package.late_module'"]


# ---------------------------------------------------------------- failing closed


def _told(ground: Ground, **changed: Any) -> str:
    return str(run(TIERS[0], ground, lambda _: "ran", **changed))


def test_confine_fails_when_a_readable_folder_is_missing(ground: Ground) -> None:
    assert "NotConfined: " in _told(ground, readable=("/no/such/folder",))


def test_confine_fails_when_a_path_is_relative(ground: Ground) -> None:
    assert _told(ground, writable="own") == "NotConfined: arguments: every path must be absolute"


@pytest.mark.skipif(not IS_ROOT, reason="an ordinary user keeps its id")
def test_confine_fails_without_a_user_to_become(ground: Ground) -> None:
    assert "needs the ids of a user and a group that are not root's" in _told(ground, user=0)


@pytest.mark.skipif(not IS_ROOT, reason="an ordinary user keeps its id")
def test_confine_fails_when_the_folder_is_somebody_elses(ground: Ground) -> None:
    ground.hidden.parent.chmod(0o700)
    assert "folder" in (told := _told(ground, writable=str(ground.hidden.parent)))
    assert told.startswith("NotConfined: ")


def test_confine_fails_with_a_datagram_socket(ground: Ground) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        assert "is not a connected stream" in _told(ground, keep=(theirs.fileno(),))


# ---------------------------------------------------------------- layers and probe


def test_probe_gives_the_weak_tier_off_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert probe().name == "weak"


def test_probe_gives_the_weak_tier_where_nothing_can_be_tried(ground: Ground) -> None:
    """A process that may not even fork learns that, and nothing is raised."""
    assert run(TIERS[-1], ground, lambda _: probe().name) == "weak"


@pytest.mark.parametrize(
    ("layers", "name"),
    [
        (Layers(True, 7, True, ("pid", "net"), True, True), "root with namespaces"),
        (Layers(True, 0, True, ("mount",), True, True), "root with namespaces"),
        (Layers(True, 7, True, (), True, True), "root without namespaces"),
        (Layers(True, 0, True, (), True, True), "closed files only"),
        (Layers(True, 0, True, ("pid", "net"), True, True), "closed files only"),
        (Layers(True, 0, False, (), True, True), "weak"),
        (Layers(False, 1, True, (), True, True), "ordinary user"),
        (Layers(True, 7, False, ("net",), True, True), "root with namespaces"),
        (Layers(False, 7, False, (), True, True), "weak"),
        (Layers(False, 0, True, (), True, True), "weak"),
    ],
)
def test_layers_name_the_tier(layers: Layers, name: str) -> None:
    assert layers.name == name
    assert layers.strong == (name not in ("weak", "closed files only"))
    json.dumps(dataclasses.asdict(layers))


USER_ALONE = Layers(True, 0, True, (), True, True)


def test_a_user_of_its_own_is_enough_only_where_everything_is_closed(tmp_path: Path) -> None:
    """THREATS 58: without Landlock and a root folder of its own, a worker reads what everybody can."""
    closed, repository = tmp_path / "closed", tmp_path / "repository"
    for folder in (closed, closed / "results", repository):
        folder.mkdir(mode=0o755)
    answers = repository / "answers.json"
    answers.write_text("42")
    above = [folder for folder in tmp_path.parents if not folder.stat().st_mode & 0o001]
    if above:  # pytest's folder is closed to others: then nothing in it is open
        assert not open_to_all(answers)
        tmp_path = Path(tempfile.mkdtemp())
        tmp_path.chmod(0o755)
        closed, repository = closed.rename(tmp_path / "closed"), repository.rename(tmp_path / "repository")
        answers = repository / "answers.json"
    try:
        for path in (repository, answers, closed / "results"):
            with pytest.raises(UserError, match=rf"every user of this machine can read {path}; run: chmod go= {path}"):
                require_isolation(USER_ALONE, path, weak_allowed=False)
        answers.chmod(0o600)
        closed.chmod(0o700)
        for path in (answers, closed, closed / "results", tmp_path / "not there"):
            require_isolation(USER_ALONE, path, weak_allowed=False)
        require_isolation(dataclasses.replace(USER_ALONE, landlock=1), repository, weak_allowed=False)
        require_isolation(USER_ALONE, repository, weak_allowed=True)
        with pytest.raises(UserError, match="this machine cannot isolate submissions"):
            require_isolation(dataclasses.replace(USER_ALONE, own_user=False), weak_allowed=False)
    finally:
        if above:
            shutil.rmtree(tmp_path)


@pytest.mark.skipif(not IS_ROOT, reason="only root has users to give away")
def test_what_is_closed_to_all_is_closed_to_a_worker_without_landlock(ground: Ground) -> None:
    """As `open_to_all` says it, by trying."""
    ground.root.chmod(0o755)

    def body(ground: Ground) -> list[str]:
        return [outcome(path.read_bytes) for path in (ground.hidden, ground.root / "open.txt")]

    (ground.root / "open.txt").write_text("42")
    (ground.root / "open.txt").chmod(0o644)
    ground.hidden.parent.chmod(0o700)
    assert [open_to_all(path) for path in (ground.hidden, ground.root / "open.txt")] == [False, True]

    def task(ground: Ground, layers: Layers) -> Any:
        worker = Worker(ground, dataclasses.replace(layers, landlock=0), lambda: body(ground))
        result = worker.result()
        worker.end()
        return result

    assert in_grader(WITHOUT_NAMESPACES, ground, task) == ["EACCES", "done"]


# ---------------------------------------------------------------- the filter, by reading it


def judge(code: seccomp.Code, number: int, *arguments: int, audit: int | None = None) -> int:
    """What the kernel would answer: an interpreter of the few instructions the filter uses."""
    words = [number, syscalls.architecture().audit if audit is None else audit, 0, 0]
    for argument in (*arguments, 0, 0, 0, 0, 0, 0)[:6]:
        words += [argument & 0xFFFFFFFF, argument >> 32 & 0xFFFFFFFF]
    position = accumulator = 0
    while True:
        operation, if_true, if_false, operand = code[position]
        position += 1
        match operation:
            case 0x20:
                accumulator = words[operand // 4]
            case 0x54:
                accumulator &= operand
            case 0x15:
                position += if_true if accumulator == operand else if_false
            case 0x25:
                position += if_true if accumulator > operand else if_false
            case 0x06:
                return operand


ALLOWED, REFUSED, UNKNOWN, KILLED = 0x7FFF0000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS, 0x80000000
UNHEARD_OF = 0x50000 | errno.EINVAL


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_seccomp_filter_judges_every_listed_call(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    code = seccomp.program(pid=100)
    denied = (syscalls.NETWORK, syscalls.PROCESSES, syscalls.OTHERS, syscalls.METADATA, syscalls.MOUNTS)
    unseen = (syscalls.UNSEEN, syscalls.SHARED_FILES, syscalls.MACHINE)
    for group in (*denied, *unseen, syscalls.LEFTOVERS, syscalls.KERNEL):
        assert {judge(code, number) for number in syscalls.numbers(group).values()} == {REFUSED}
    assert {judge(code, number) for number in syscalls.numbers(syscalls.ABSENT).values()} == {UNKNOWN}
    assert judge(code, syscalls.HIGHEST + 1) == judge(code, 0x40000000) == judge(code, 0xFFFFFFFF) == UNKNOWN
    assert judge(code, 0, audit=0x40000003) == KILLED
    calls = syscalls.numbers(syscalls.EXAMINED)
    assert judge(code, calls["clone"], 0x3D0F00) == ALLOWED  # as pthread_create does
    assert judge(code, calls["clone"], 0x1200011) == REFUSED  # as fork does
    assert judge(code, calls["clone"], 0x3D0F00 & ~0x400) == REFUSED  # a thread with descriptors of its own
    assert [judge(code, calls["close_range"], 3, 9, flags) for flags in (0, 4, 2, 6)] == [ALLOWED] * 2 + [REFUSED] * 2
    assert [judge(code, calls["kill"], target) for target in (100, 0, -1, -100, 99)] == [ALLOWED] + [REFUSED] * 4
    assert [judge(code, calls["prlimit64"], target) for target in (0, 100, 99)] == [ALLOWED, ALLOWED, REFUSED]
    assert judge(code, calls["setpriority"], 0, 100) == ALLOWED
    assert judge(code, calls["setpriority"], 2, 0) == judge(code, calls["setpriority"], 0, 99) == REFUSED
    assert judge(code, calls["openat"], 0, 0, os.O_RDONLY | os.O_TRUNC) == REFUSED
    assert judge(code, calls["openat"], 0, 0, os.O_WRONLY | os.O_TRUNC) == ALLOWED
    assert judge(code, calls["openat"], 0, 0, os.O_TMPFILE | os.O_RDWR) == REFUSED
    assert judge(code, calls["openat"], 0, 0, os.O_DIRECTORY) == ALLOWED
    assert [judge(code, calls["mmap"], 0, 0, 0, flags) for flags in (0x21, 0x22, 0x01)] == [REFUSED, ALLOWED, ALLOWED]
    assert judge(code, calls["mmap"], 0, 0, 0, 0x40022) == REFUSED  # huge pages
    assert [judge(code, calls["madvise"], 0, 0, advice) for advice in (4, 14)] == [ALLOWED] * 2
    assert {judge(code, calls["madvise"], 0, 0, advice) for advice in (3, 9, 12, 20, 21, 22, 25)} == {UNHEARD_OF}
    assert judge(code, calls["ioctl"], 0, 0x5401) == ALLOWED  # is it a terminal?
    assert {judge(code, calls["ioctl"], 0, what) for what in (0x5412, 0x40086602, 0x40049409, 2)} == {REFUSED}
    assert [judge(code, calls["fcntl"], 0, what) for what in (0, 1, 2, 3, 4, 6, 7, 1030)] == [ALLOWED] * 8
    assert {judge(code, calls["fcntl"], 0, what) for what in (5, 8, 10, 15, 36, 1024, 1026, 1031, 1036)} == {REFUSED}
    assert judge(code, calls["sendto"], 3) == ALLOWED
    assert judge(code, calls["sendto"], 3, 0, 0, 0, 1 << 40) == judge(code, calls["sendto"], 3, 0, 0, 0, 1) == REFUSED


@pytest.mark.parametrize(("column", "header"), [(0, "x86_64-linux-gnu/asm/unistd_64.h"), (1, "asm-generic/unistd.h")])
def test_syscalls_agree_with_the_kernels_headers(column: int, header: str) -> None:
    path = Path("/usr/include") / header
    if not path.exists():
        pytest.skip(f"{header} is not installed")
    known = {
        name: int(number) for name, number in re.findall(r"#define\s+__NR(?:3264)?_(\w+)\s+(\d+)", path.read_text())
    }
    groups = [group for group in vars(syscalls).values() if isinstance(group, dict) and "x86_64" not in group]
    ours = {name: row[column] for group in groups for name, row in group.items() if isinstance(row, tuple)}
    assert len(ours) > 100
    assert {name: number for name, number in ours.items() if number != known.get(name)} == {}
