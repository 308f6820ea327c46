"""Which tests run together, and which begin first, when pytest runs on several cores.

A unit runs in one process, one test after the other: a file, whose tests share fixtures, or a test that takes long and
shares none. The units that take longest begin first, so that none of them is left over for one core at the end.
durations.json says how long each took; a test file that it does not know begins before all others, and one that it
knows and that is gone is ignored. After a run with --junitxml=FILE, this writes durations.json anew:

    python -m tests.project.schedule FILE
"""

from __future__ import annotations

import json
import math
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from xdist.scheduler.loadgroup import LoadGroupScheduling

ROOT = Path(__file__).resolve().parents[2]
DURATIONS = Path(__file__).with_name("durations.json")
PAYS = 30  # seconds of tests from which on further processes, each of which loads torch, are worth their start


def known() -> dict[str, float]:
    """Seconds by unit: "path/of/test_file.py", or "path/of/test_file.py::test_name"."""
    found: dict[str, float] = json.loads(DURATIONS.read_text(encoding="utf-8"))
    return found


def unit(test: str, durations: Mapping[str, float]) -> str:
    """The unit to which a test belongs, by its id. The group of xdist_group, if it has one, is what follows its @."""
    if test.rfind("@") > test.rfind("]"):
        return test.rpartition("@")[2]
    return next((name for name in (test, test.partition("[")[0]) if name in durations), test.partition("::")[0])


def seconds(test: str, durations: Mapping[str, float]) -> float:
    return durations.get(unit(test, durations), math.inf)


def pays(paths: Sequence[str], durations: Mapping[str, float]) -> bool:
    """Do the tests below these paths, as given on the command line, take long enough for several processes?"""
    below = [Path(path).resolve() for path in paths]
    known_below = [
        taken
        for name, taken in durations.items()
        if any((ROOT / name.partition("::")[0]).is_relative_to(path) for path in below)
    ]
    return sum(known_below) > PAYS


class LongestFirst(LoadGroupScheduling):
    """Hands out whole units, in the order in which their tests were collected."""

    def __init__(self, config, log=None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False
        self.durations = known()

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid, self.durations)


def measured(report: Path, durations: Mapping[str, float]) -> dict[str, float]:
    """Seconds by unit, as a JUnit report has them, the longest first."""
    found: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        place = case.attrib["classname"].replace(".", "/") + ".py"
        found[unit(f"{place}::{case.attrib['name']}", durations)] += float(case.attrib["time"])
    return {name: round(taken, 1) for name, taken in found.most_common()}


if __name__ == "__main__":
    made = measured(Path(sys.argv[1]), known())
    DURATIONS.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
