"""No verdict depends on the neighbours: deadlines count what the code itself does. Staff are told what it tried."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from autograder.checking.courses import PARTS
from autograder.classroom.roster import read_roster
from autograder.files import write_atomically, zipped
from autograder.gradescope import container
from autograder.grading.grade import Setting, grade
from autograder.isolation import Layers, allowance
from autograder.isolation.allowance import MORE, TIMES, WATCH, Allowance, Seen, longest
from autograder.proving.gate import Line
from autograder.proving.situations import situations
from autograder.running.perform import Reply, Request
from autograder.workers import tried
from autograder.workers.remote import Limits
from tests.project.test_room import module, serve, zygote  # noqa: F401 (fixtures)

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="isolation needs Linux"),
    pytest.mark.xdist_group("clock"),  # keeps the machine busy: nothing that looks at the clock is to run beside it
]

DEADLINE = 3
BUSY = (
    "import time\nbegan = time.process_time()\nwhile time.process_time() - began < {seconds}:\n    pass\n"
    "return A.softmax(-1)"
)
SOFTMAX = Request("call", "attn_softmax", arguments=(torch.ones(2, 3),))


@pytest.fixture
def short(course):
    return shortened(course, DEADLINE)


def shortened(course, seconds):
    return replace(course, items={slug: replace(item, deadline=seconds) for slug, item in course.items.items()})


@contextlib.contextmanager
def busy_neighbours():
    """More of them than there are processors, so that a worker has a third of one at most."""
    count = max(4, 3 * (os.cpu_count() or 1))
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.slow
def test_a_busy_machine_costs_nobody_points(serve, short):  # noqa: F811
    channel = serve(module(BUSY.format(seconds=0.6 * DEADLINE)), course=short)
    channel.perform_all([Request("load", "attn_softmax")])
    with busy_neighbours():
        began = time.monotonic()
        channel.begin("attn_softmax", "public")
        (reply,) = channel.perform_all([SOFTMAX])
        passed = time.monotonic() - began
    assert isinstance(reply, Reply), reply
    assert 0.5 * DEADLINE < channel.allowance.computed < DEADLINE
    if passed <= DEADLINE:
        pytest.skip("the neighbours were not busy enough for this to show anything")


ENDLESS = {
    "computes": ("while True:\n    pass", "did not finish within 1 s of processor time", 20),
    "sleeps": ("import time\ntime.sleep(1000)", "did not finish within 1 s, in which it only waited", 10),
    "waits for itself": (
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        "did not finish within 1 s, in which it only waited",
        10,
    ),
    "computes a little": ("import time\nwhile True:\n    time.sleep(0.03)", "did not finish within 1 s", 20),
    "computes in a thread": (
        "import threading\ndef loop():\n    while True:\n        pass\n"
        "one = threading.Thread(target=loop)\none.start()\none.join()",
        "did not finish within 1 s of processor time",
        20,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDLESS)
def test_what_does_not_end_is_ended_and_the_reason_is_true(serve, course, name):  # noqa: F811
    code, told, patience = ENDLESS[name]
    channel = serve(module(code), course=shortened(course, 1))
    began = time.monotonic()
    (reply,) = channel.perform_all([SOFTMAX])
    assert reply.kind == "timeout" and reply.text.splitlines()[0].startswith(told)
    assert time.monotonic() - began < patience


def test_computing_and_waiting_count_together(serve, course):  # noqa: F811
    """Code that computes and waits in turns has no more time than code that does one of the two."""
    half = "import time\nwhile True:\n    began = time.process_time()\n    while time.process_time() - began < 0.1:\n"
    channel = serve(module(half + "        pass\n    time.sleep(0.1)"), course=shortened(course, 2))
    (reply,) = channel.perform_all([SOFTMAX])
    assert reply.text.splitlines()[0] == "did not finish within 2 s, in which it partly waited"
    assert 0.5 < channel.allowance.computed < 2


@pytest.mark.slow
def test_each_exercise_has_time_of_its_own(serve, course):  # noqa: F811
    channel = serve(module(BUSY.format(seconds=0.7)), course=shortened(course, 1))
    for part in PARTS:
        channel.begin("attn_softmax", part)
        assert isinstance(channel.perform_all([SOFTMAX])[0], Reply)
    channel.begin("attn_softmax", "hidden")
    first, second = channel.perform_all([SOFTMAX, SOFTMAX])
    assert isinstance(first, Reply) and second.kind == "timeout"


def test_the_kernels_own_limit_is_beyond_all_deadlines(serve, short):  # noqa: F811
    """Or code that keeps to every deadline would be killed without a reason."""
    channel = serve(
        module("import resource\nreturn torch.tensor(resource.getrlimit(resource.RLIMIT_CPU))"), course=short
    )
    (reply,) = channel.perform_all([SOFTMAX])
    deadlines = sum(item.deadline for item in short.graded for part in PARTS if item.runs(part)) + short.retries
    assert reply.value.tolist() == [deadlines + 5, deadlines + 6]


def looks(monkeypatch, *seen):
    """The clock, and what is seen of the worker at each look."""
    clock = iter([now for now, *_ in seen])
    told = iter([found and Seen(*found) for _, *rest in seen for found in rest])
    monkeypatch.setattr(allowance.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(allowance, "look", lambda _: next(told))


def test_only_what_was_done_in_this_exercise_is_charged(monkeypatch):
    looks(monkeypatch, (100.0,), (100.05, (50.0, False)), (100.1, (50.04, False)), (103.0, (50.04, False)))
    one = Allowance(10)
    seen = one.charge(7, Seen(49.0, False), idle=False)
    assert one.computed == pytest.approx(0.05)  # of the second before, no more than has passed
    seen = one.charge(7, seen, idle=False)
    assert one.computed == pytest.approx(0.09)
    one.charge(7, seen, idle=True)  # ready to run for three seconds, while others had the processor
    assert one.computed == pytest.approx(0.09) and one.waited == 0


def test_waiting_counts_only_while_it_owes_us_something(monkeypatch):
    looks(monkeypatch, (0.0,), *((number / 20, (1.0, True)) for number in range(1, 5)), (9.0, (1.0, True)))
    one = Allowance(10)
    seen = one.charge(7, Seen(1.0, True), idle=True)
    for idle in (True, False, True):
        seen = one.charge(7, seen, idle=idle)
    assert one.waited == pytest.approx(2 * WATCH)
    one.charge(7, seen, idle=True)  # it was we who slept
    assert one.waited == pytest.approx(4 * WATCH)


def test_a_worker_that_cannot_be_seen_is_charged_by_the_clock(monkeypatch):
    looks(monkeypatch, (0.0,), (0.05, None), (0.1, None))
    one = Allowance(10)
    one.charge(7, None, idle=True)
    one.charge(7, None, idle=False)
    assert one.computed == pytest.approx(0.1)


def test_a_process_is_seen_with_all_its_threads():
    program = "import threading\nfor _ in range(2): threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()"
    with subprocess.Popen([sys.executable, "-c", program]) as process:
        seen, until = allowance.look(process.pid), time.monotonic() + 30
        while seen is not None and seen.processor < 1 and time.monotonic() < until:  # to start takes less
            time.sleep(0.1)
            seen = allowance.look(process.pid)
        process.kill()
    assert seen is not None and seen.processor >= 1
    assert allowance.look(2**22 + 1) is None
    with subprocess.Popen(["sleep", "100"]) as process:
        time.sleep(1)
        seen = allowance.look(process.pid)
        process.kill()
    assert seen is not None and seen.asleep and seen.processor < 0.1


# On a platform


def test_on_a_platform_every_exercise_to_come_keeps_its_time(serve, course):  # noqa: F811
    """What one waits for the processor beyond its deadline is taken from what is left over, not from the others."""
    given = course.of_code
    room = sum(item.deadline for item in given.graded for part in PARTS if item.runs(part)) + given.retries
    minutes = replace(given, gradescope=replace(given.gradescope, minutes=(room + container.END) // 60 + 1))
    end = minutes.gradescope.minutes * 60 - container.END
    spare = end - room
    first, last = given.graded[0].slug, given.graded[-1].slug
    channel = serve(module("return A"), course=minutes, until=time.monotonic() + container.time_for_checks(minutes))
    channel.begin(first, "public")
    assert channel.allowance.limit == pytest.approx(min(longest(20), 20 + spare), abs=9)
    channel.until -= spare  # as if so much time had been used
    channel.begin(first, "public")
    assert channel.allowance.limit == 20
    channel.begin(last, "hidden")
    assert channel.allowance.limit == longest(20) == 80
    channel.until -= room
    channel.begin(last, "hidden")
    assert channel.allowance.limit == 20  # and not less: nothing begins so late


def test_the_limit_by_the_clock_is_generous():
    assert longest(20) == TIMES * 20 and longest(2) == 2 + MORE and longest(180) == 720


# What was refused

HOSTILE = """
import os, socket, subprocess


def tried(function, *arguments):
    try:
        function(*arguments)
    except Exception:
        pass


def attn_softmax(A):
    tried(os.fork)
    tried(socket.create_connection, ("127.0.0.1", 80))
    tried(subprocess.run, ["ls"])
    return A.softmax(-1)


def attn_scaled(A, n_embd, n_heads):
    tried(open, "/etc/attack-was-here", "w")
    tried(open, "/etc/passwd")
    tried(os.kill, -1, 0)
    os._exit(0)
"""
SLEEPING = "import time\n\n\ndef attn_softmax(A):\n    time.sleep(1000)\n"
ASKING = "def attn_softmax(A):\n    return A.to('cuda').softmax(-1)\n"
SHORT = 2


@pytest.mark.slow
@pytest.mark.parametrize("situation", situations(), ids=lambda situation: situation.name.replace(" ", "_"))
def test_time_notes_and_what_was_refused_are_told_in_every_situation(root, sources, course, situation):
    submissions = {
        "honest": sources.solved(),
        "hostile": {"src/attention.py": HOSTILE},
        "sleeping": {"src/attention.py": SLEEPING},
        "asking": {"src/attention.py": ASKING},
    }
    slugs = ("attn_softmax", "attn_scaled", "self_attention", "span_corruption")
    items = {slug: replace(item, deadline=SHORT) for slug, item in course.items.items() if slug in slugs}

    def task(layers: Layers) -> list[Line]:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder).resolve()
            place.chmod(0o711)
            paths = [place / f"{name}.zip" for name in submissions]
            for path, files in zip(paths, submissions.values(), strict=True):
                write_atomically(path, zipped(files))
            folders = tuple(root / "tests" / part for part in PARTS)
            setting = Setting(replace(course, items=items), layers, Limits(), folders, 2)
            records = grade(read_roster(paths), setting, place / "out")
            found = {one.id: json.loads((place / "out" / one.id / "results.json").read_text()) for one in records}
        return [_line(name, content) for name, content in found.items()]

    lines = {line.what: json.loads(line.found) for line in situation.run(task)}
    assert lines["honest"] == {"refused": [], "notes": [], "late": False}
    assert lines["hostile"]["refused"] == ["fork", "read", "signal", "socket", "subprocess", "write"]
    assert lines["sleeping"] == {"refused": [], "notes": [], "late": True}
    note = {"exercise": "attn_softmax", "note": "your code asks for cuda; it was run on the CPU"}
    assert lines["asking"] == {"refused": [], "notes": [note], "late": False}


def _line(name: str, content: dict) -> Line:
    extra = content["extra_data"]
    late = any(
        f"did not finish within {SHORT} s, in which it only waited" in test["output"] for test in content["tests"]
    )
    told = {"refused": extra["refused"], "notes": extra["notes"], "late": late}
    return Line(name, "", json.dumps(told), True)


def test_only_words_of_the_list_are_told_of_what_was_tried(tmp_path):
    (tmp_path / tried.NAME).write_text("fork\nLEAK 0.25\nsocket socket\n<b>write</b>\n")
    assert tried.told(tmp_path) == {"fork", "socket"}
    assert tried.told(tmp_path / "nowhere") == set()


@pytest.mark.parametrize(
    ("event", "details", "word"),
    [
        ("open", ("/etc/shadow", "r", 0), "read"),
        ("open", ("/etc/shadow", None, os.O_RDWR), "write"),
        ("open", ("/content/drive/data.txt", "r", 0), ""),  # an honest path of another machine
        ("open", ("/home/own/x", "w", os.O_WRONLY), ""),
        ("open", ("/home/own/../x", "w", os.O_WRONLY), "write"),
        ("open", ("/root/python/lib/statistics.py", "r", 0), ""),
        ("open", ("/root/python/lib/statistics.py", "w", os.O_WRONLY), "write"),
        ("open", ("/dev/null", "w", os.O_WRONLY), ""),
        ("open", (3, "w", os.O_WRONLY), ""),
        ("os.remove", (b"/home/tree", -1), "write"),
        ("os.remove", ("/home/own/x", -1), ""),
        ("os.kill", (1, 9), "signal"),
        ("os.kill", (os.getpid(), 9), ""),
    ],
)
def test_what_counts_as_tried(event, details, word):
    assert tried._word(event, details, "/home/own", ("/root/python",)) == word


def test_what_goes_beyond_deadlines_is_counted_over_all_exercises(serve, course):  # noqa: F811
    """Or code that does a little, again and again, would last for as long as it likes."""
    channel = serve(module("return A.softmax(-1)"), course=shortened(course, 2))
    channel.begin("attn_softmax", "public")
    assert channel.allowance.limit == allowance.longest(2)
    channel.allowance.began -= 2 + channel.slack  # all of it was used by this exercise
    channel.begin("attn_scaled", "public")
    assert channel.allowance.limit == 2
