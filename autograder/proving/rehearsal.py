"""The command `simulate`: one submission through a bundle, and its results as a TA wants to read them."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
import tomllib
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path, PurePath
from typing import Any

from autograder.checking.courses import Platform
from autograder.checking.formatting import Text
from autograder.checking.wording import WIDTH, inert
from autograder.errors import UserError
from autograder.files import write_atomically
from autograder.proving.schema import complaints
from autograder.proving.simulate import Case, Run, environment, simulate

SAID = 20  # lines of what the staff sees


def rehearse(options: argparse.Namespace) -> int:
    if not options.submission.exists():
        raise UserError(f"{options.submission} does not exist")
    if options.late < 0:
        raise UserError("--late takes the hours after the due date; without it, a submission is on time")
    timeout = options.timeout if options.timeout is not None else 60.0 * _minutes(options.bundle)
    case = Case(options.submission, timedelta(hours=options.late), options.previous, options.leftover, timeout)
    rights = "as root with a container's rights" if os.geteuid() == 0 else "as an ordinary user, not as root"
    venv, how = _environment(options)
    print(f"{options.bundle.name} on {options.submission.name}, {rights}, {how}", flush=True)
    done = simulate(options.bundle, case, venv)
    if options.out and done.results is not None:
        write_atomically(options.out, done.results)
    return _report(done)


def _minutes(bundle: Path) -> int:
    """How long the platform lets this course's runs last."""
    try:
        with zipfile.ZipFile(bundle) as archive:
            name = next(name for name in archive.namelist() if PurePath(name).match("autograder/courses/*.toml"))
            table = tomllib.loads(archive.read(name).decode()).get("gradescope", {})
            return int(table.get("minutes", Platform.minutes))
    except FileNotFoundError:
        raise UserError(f"{bundle} does not exist; 'python -m autograder bundle' makes one") from None
    except (OSError, StopIteration, ValueError, zipfile.BadZipFile):
        raise UserError(f"{bundle} is no bundle; 'python -m autograder bundle' makes one") from None


def _environment(options: argparse.Namespace) -> tuple[Path, str]:
    if options.venv:
        if not (options.venv / "bin" / "python").exists():
            raise UserError(f"{options.venv} is no virtual environment: it has no bin/python")
        return options.venv, f"in {options.venv}"
    venv, there = environment(options.bundle, options.python)
    return venv, "in the environment that its setup.sh made before" if there else "in a fresh environment"


def _report(done: Run) -> int:
    for line in done.said.splitlines()[-SAID:]:
        print(f"  for the staff: {inert(line)}")
    if done.killed:
        print(f"  killed after {done.seconds:.0f} s, as the platform would")
    if done.results is None:
        print("autograder: there is no results.json", file=sys.stderr)
        return 1
    if wrong := complaints(done.results):
        print("autograder: results.json is not valid", file=sys.stderr)
        for line in wrong[:20]:
            print(f"  {inert(line)}", file=sys.stderr)
        return 1
    content = json.loads(done.results)
    print("\n".join(_lines(content)))
    most = sum(test["max_score"] for test in content["tests"])
    print(f"\n{content['score']} of {most} points in {done.seconds:.1f} s; results.json is valid")
    return 0


def _lines(content: dict[str, Any]) -> Iterator[str]:
    """What the student reads first, and then every test; all of it for those that lost points."""
    yield ""
    for line in content["output"].splitlines():
        yield from textwrap.wrap(inert(line), WIDTH, subsequent_indent="  ") or [""]
    yield ""
    for test in content["tests"]:
        seen = "" if test.get("visibility", "visible") == "visible" else f"  [{test['visibility']}]"
        mark = "✓" if test["status"] == "passed" else "✗"
        yield f"{mark} {test['score']:3} / {test['max_score']:<3} {inert(test['name'])}{seen}"
        checks = test["extra_data"].get("checks")
        if test["status"] == "failed" and checks:
            yield textwrap.indent(Text(WIDTH - 6).checks(checks), "      ")
