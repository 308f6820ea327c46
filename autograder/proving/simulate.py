"""Gradescope on this machine: a bundle's own `setup.sh` and `run_autograder`, in folders and with rights as there."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from autograder.errors import UserError
from autograder.files import remove_tree, write_atomically
from autograder.isolation import kill_tree, privileges

NEEDED = ("run_autograder", "setup.sh", "requirements.txt", "fallback.json")
DECIDES = ("setup.sh", "requirements.txt", "pip.conf")  # what an environment depends on
CACHE = "attention-autograder"
LARGEST = 1 << 30  # bytes of an unpacked submission
# What root may do in a plain container: change owners and users, signal, bind; not mount, trace or make namespaces.
CONTAINER_RIGHTS = (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31)
LEFTOVER = {"score": 1000, "tests": [{"name": "left over", "score": 1000, "max_score": 1000}]}


@dataclass(frozen=True)
class Case:
    """What the platform hands over, and what happens to it."""

    submission: Path
    late: timedelta = timedelta()
    previous: Sequence[Path] = ()  # results.json files of earlier submissions, the oldest first, one hour apart
    leftover: bool = False  # somebody else's results lie there already
    timeout: float | None = None  # seconds after which everything is killed


@dataclass(frozen=True)
class Run:
    """What came of it."""

    results: bytes | None  # results.json, if there is one
    said: str  # on standard output and error, which the course staff sees
    seconds: float
    killed: bool


def simulate(bundle: Path, case: Case, venv: Path) -> Run:
    """Lay out the platform's folders in a temporary one, run, and take the results out."""
    with laid_out(bundle, case) as root:
        (root / "venv").symlink_to(venv.resolve())
        return run(root, case.timeout)


@contextmanager
def laid_out(bundle: Path, case: Case) -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="simulate-")).resolve()
    try:
        root.chmod(0o755)
        unpack_bundle(bundle, root / "source")
        shutil.copy(root / "source" / "run_autograder", root / "run_autograder")
        _hand_in(case.submission, root / "submission")
        (root / "results").mkdir()
        if case.leftover:
            (root / "results" / "results.json").write_text(json.dumps(LEFTOVER))
        course = json.loads((root / "source" / "fallback.json").read_text(encoding="utf-8"))
        told = _metadata(course, case)
        (root / "submission_metadata.json").write_text(json.dumps(told), encoding="utf-8")
        yield root
    finally:
        remove_tree(root)


def unpack_bundle(bundle: Path, into: Path) -> None:
    try:
        with zipfile.ZipFile(bundle) as archive:
            names = set(archive.namelist())
            if missing := [name for name in NEEDED if name not in names]:
                raise UserError(f"{bundle} has no {missing[0]}; 'python -m autograder bundle' makes a bundle that has")
            if not archive.getinfo("run_autograder").external_attr >> 16 & 0o100:
                raise UserError(f"{bundle}: run_autograder is not executable, and Gradescope would not run it")
            archive.extractall(into)
            for entry in archive.infolist():
                (into / entry.filename).chmod(entry.external_attr >> 16 & 0o777 or 0o644)
    except FileNotFoundError:
        raise UserError(f"{bundle} does not exist; 'python -m autograder bundle' makes one") from None
    except (OSError, zipfile.BadZipFile) as error:
        raise UserError(f"{bundle} cannot be unpacked: {error}") from None


def _hand_in(submission: Path, into: Path) -> None:
    """As the platform does: a zip is unpacked, anything else is put there as it is."""
    try:
        if submission.is_dir():
            shutil.copytree(submission, into, symlinks=True)
            return
        into.mkdir()
        if submission.suffix.casefold() != ".zip":
            shutil.copy(submission, into)
            return
        with zipfile.ZipFile(submission) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > LARGEST:
                raise UserError(f"{submission} unpacks to more than a gigabyte; Gradescope would not take it")
            archive.extractall(into)
    except FileNotFoundError:
        raise UserError(f"{submission} does not exist") from None
    except (OSError, ValueError, RuntimeError, zipfile.BadZipFile, shutil.Error) as error:
        raise UserError(f"{submission} cannot be handed in: {str(error).splitlines()[0]}") from None


def _metadata(results: dict[str, Any], case: Case) -> dict[str, Any]:
    """In the form of CONTRACTS 4, as the platform would write it now."""
    now = datetime.now(UTC).astimezone()
    due = now - case.late if case.late else now + timedelta(days=1)
    times = [now - timedelta(hours=hours) for hours in range(len(case.previous), 0, -1)]
    return {
        "id": 123456,
        "created_at": now.isoformat(),
        "assignment": {
            "id": 25828,
            "course_id": 1234,
            "title": results["extra_data"]["title"],
            "due_date": due.isoformat(),
            "late_due_date": None,
            "release_date": (now - timedelta(days=14)).isoformat(),
            "group_size": None,
            "group_submission": False,
            "total_points": str(float(sum(test["max_score"] for test in results["tests"]))),
        },
        "submission_method": "upload",
        "users": [{"id": 1234, "name": "Ada Example", "email": "ada@example.edu"}],
        "previous_submissions": [_previous_submission(path, at) for path, at in zip(case.previous, times, strict=True)],
    }


def _previous_submission(path: Path, at: datetime) -> dict[str, Any]:
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
        score = float(results["score"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is no results.json of an earlier submission ({error})") from None
    return {"submission_time": at.isoformat(), "score": score, "autograder_error": False, "results": results}


# The environment


def environment(bundle: Path, python: str | None = None) -> tuple[Path, bool]:
    """The virtual environment that the bundle's own setup.sh makes, and whether it was there already.

    Kept by what decides it, because torch takes minutes. An interrupted one is made anew.
    """
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    python = python or str(base)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / CACHE
    with zipfile.ZipFile(bundle) as archive:
        parts = [archive.read(name) for name in DECIDES if name in archive.namelist()]
    try:
        version = subprocess.run([python, "-VV"], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise UserError(f"{python} is no Python") from None
    digest = hashlib.sha256(b"\0".join([*parts, version, python.encode()])).hexdigest()[:16]
    place = cache / digest
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when it is closed
        if (place / "ready").is_file():
            return place / "venv", True
        remove_tree(place / "source")
        unpack_bundle(bundle, place / "source")
        print("running the bundle's setup.sh (a minute or two, once)", file=sys.stderr, flush=True)
        done = subprocess.run(
            ["bash", str(place / "source" / "setup.sh")],
            env=os.environ | {"PYTHON": python},
            stdout=sys.stderr,
            check=False,
        )
        if done.returncode:
            raise UserError(f"setup.sh failed with code {done.returncode}, see above; the image would not be built")
        write_atomically(place / "ready", b"")
    return place / "venv", False


# The run


def run(root: Path, timeout: float | None) -> Run:
    """The bundle's run_autograder, with the rights that it has in a container."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [str(root / "run_autograder")],
            cwd=root,
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_as_in_a_container,
        )
        killed = False
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            killed = True
        finally:
            kill_tree(process.pid, None, ended=process.poll() is not None)
            process.wait()
        seconds = time.monotonic() - started
        said.seek(0)
        text = said.read(1 << 20).decode(errors="replace")
    path = root / "results" / "results.json"
    there = path.is_file() and not path.is_symlink()
    return Run(path.read_bytes() if there else None, text, seconds, killed)


def _as_in_a_container() -> None:
    if os.geteuid() == 0:
        privileges.drop_bounding_set(CONTAINER_RIGHTS)
