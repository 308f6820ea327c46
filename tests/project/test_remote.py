"""A submission in a real worker: many requests at once, also when the worker dies of one of them."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from autograder.checking.courses import PARTS
from autograder.checking.engine import Outcome, Sitting
from autograder.errors import UserError
from autograder.grading import batch
from autograder.grading.batch import Task, _Standing, examine_in_workers
from autograder.grading.dens import den
from autograder.grading.grade import Setting, Tree, _free_users, here
from autograder.intake.clean_tree import Intake
from autograder.intake.people import Student
from autograder.isolation import Layers, probe
from autograder.judging import checks
from autograder.judging.checks import answer
from autograder.judging.exercises import EXERCISES
from autograder.judging.findings import CheckFailed
from autograder.judging.references import Case
from autograder.judging.submission import Submission
from autograder.running.perform import Reply, Request, Script, Trouble
from autograder.workers import remote, wire
from autograder.workers.remote import Limits, RemoteChannel, _that_fit
from autograder.workers.zygote import Zygote

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="isolation needs Linux")

CODE = """
import os
import torch


def attn_softmax(A):
    if A.shape[-1] == 13:
        os._exit(3)
    return A + 1


class CausalSelfAttention(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        if config.n_head == 5:
            raise ValueError("no five heads")
        if config.n_head == 7:
            os._exit(3)
        self.width = config.n_embd
        for name in ("key", "query", "value", "proj"):
            setattr(self, name, torch.nn.Linear(self.width, self.width))

    def forward(self, x):
        if x.shape[1] == 13:
            os._exit(3)
        return x + self.key.weight[0, 0]
"""


@pytest.fixture(scope="module")
def zygote():
    started = Zygote()
    yield started
    started.close()


@pytest.fixture
def channel(zygote, course, this_machine, request):
    """To a submission that is CODE, or what a test says instead."""
    with den() as folder:
        source = folder / "submission" / "src" / "attention.py"
        source.parent.mkdir(parents=True)
        source.write_text(getattr(request, "param", CODE))
        user = _free_users(1) if this_machine.own_user else None
        made = RemoteChannel(zygote, folder / "submission", ["src/attention.py"], course, this_machine, Limits(), user)
        made.begin("attn_softmax", "public")
        yield made
        made.close()


def softmax(size: int) -> Request:
    return Request("call", "attn_softmax", arguments=(torch.zeros(2, size),))


def module(name: str, heads: int, tokens: int, weight: float) -> Case:
    width = 2 * heads
    arguments = {"n_embd": width, "n_head": heads, "block_size": 16, "rope": False, "x": torch.zeros(1, tokens, width)}
    for layer in ("key", "query", "value", "proj"):
        arguments |= {f"{layer}.weight": torch.full((width, width), weight), f"{layer}.bias": torch.zeros(width)}
    return Case(name, arguments, torch.empty(0))


def test_replies_come_in_order_and_end_with_the_request_that_killed_the_worker(channel):
    replies = channel.perform_all([softmax(2), softmax(3), softmax(13), softmax(4)])
    assert [type(reply) for reply in replies] == [Reply, Reply, Trouble]
    assert [reply.value.shape[-1] for reply in replies[:2]] == [2, 3]
    assert replies[2].kind == "crash" and channel.epoch == 1
    assert [reply.value.shape[-1] for reply in channel.perform_all([softmax(4), softmax(5)])] == [4, 5]


def test_an_exercise_is_answered_in_all_cases_but_those_that_kill(channel):
    cases = [Case(str(size), {"A": torch.zeros(2, size)}, torch.empty(0)) for size in (2, 13, 3, 13, 4)]
    replies = EXERCISES["attn_softmax"].ask(Submission(channel), cases)
    assert [isinstance(reply, CheckFailed) for reply in replies] == [False, True, False, True, False]
    assert [reply.value.shape[-1] for reply in replies if isinstance(reply, Reply)] == [2, 3, 4]


def test_modules_that_died_with_their_process_are_made_again(channel):
    shapes = [(2, 4), (3, 13), (5, 4), (2, 6), (7, 4), (4, 13), (3, 5)]  # heads and tokens
    cases = [module(str(n), *shape, weight=n / 10) for n, shape in enumerate(shapes)]
    replies = EXERCISES["causal_self_attention"].ask(Submission(channel), cases)
    told = [r.finding.kind if isinstance(r, CheckFailed) else round(float(r.value.max()), 3) for r in replies]
    assert told == [0.0, "crash", "exception", 0.3, "crash", "crash", 0.6]


def test_more_than_a_socket_holds_is_sent_in_parts(channel):
    count, size = 40, 5000  # 40 requests of 40 kB, and as much comes back
    requests = [Request("call", "attn_softmax", arguments=(torch.full((2, size), float(n)),)) for n in range(count)]
    replies = channel.perform_all(requests)
    assert [float(reply.value[0, 0]) for reply in replies] == [n + 1.0 for n in range(count)]


def test_what_is_sent_before_anything_is_read_fits_into_a_socket():
    half = b"x" * (wire.AT_ONCE // 2)
    assert _that_fit([half, half, half]) == [half, half]
    assert _that_fit([4 * half, half]) == [4 * half]


def examine_with(examine, tasks, jobs=2):
    examiner = SimpleNamespace(examine=examine)
    found = examine_in_workers(examiner, lambda task, slot: Sitting(None, task), tasks, jobs)  # type: ignore[arg-type]
    return {position: [outcome.name for outcome in outcomes] for position, outcomes, _ in found}


def test_a_child_of_ours_that_dies_loses_its_submission_only(capfd):
    def examine(sitting):
        if sitting.submission.root == "3":
            os._exit(9)
        if sitting.submission.root == "5":
            raise RuntimeError("a fault of ours")
        return [Outcome("split_heads", "public", sitting.submission.root, "", "passed")]

    found = examine_with(examine, [Task(str(number), ()) for number in range(8)])
    assert found == {number: [] if number in (3, 5) else [str(number)] for number in range(8)}
    assert "a fault of ours" in capfd.readouterr().err


def test_a_child_of_ours_that_outlives_all_deadlines_is_killed_and_loses_its_submission_only():
    def examine(sitting):
        while sitting.submission.root == "1":
            pass
        return [Outcome("split_heads", "public", sitting.submission.root, "", "passed")]

    examiner, tasks, lost = SimpleNamespace(examine=examine), [Task(str(number), ()) for number in range(5)], []
    examining = examine_in_workers(
        examiner,  # type: ignore[arg-type]
        lambda task, _: Sitting(None, task),  # type: ignore[arg-type]
        tasks,
        2,
        seconds=2,
        lost=lost.append,
    )
    found = {position: [outcome.name for outcome in outcomes] for position, outcomes, _ in examining}
    assert found == {number: [] if number == 1 else [str(number)] for number in range(5)}
    assert len(lost) == 1


def test_a_child_of_ours_has_a_memory_limit(monkeypatch, capfd):
    monkeypatch.setattr(batch, "MEMORY", 100 << 20)

    def examine(sitting):
        size = (200 if sitting.submission.root == "1" else 20) << 20
        return [Outcome("split_heads", "public", str(len(bytearray(size)) >> 20), "", "passed")]

    assert examine_with(examine, [Task(str(number), ()) for number in range(3)]) == {0: ["20"], 1: [], 2: ["20"]}
    assert "MemoryError" in capfd.readouterr().err


def test_replies_that_would_fill_the_grader_end_their_exercise_only(channel, monkeypatch):
    monkeypatch.setattr(remote, "MOST_KEPT", 1 << 20)
    channel.begin("attn_softmax", "public")
    large = Request("call", "attn_softmax", arguments=(torch.zeros(2, 50_000),))  # 400 kB come back
    replies = channel.perform_all([large] * 5)
    assert [type(reply) for reply in replies] == [Reply, Reply, Trouble]
    assert replies[-1].text == "your code returned more than 1 MB in one exercise and was stopped"
    assert channel.perform_all([softmax(2)]) == [replies[-1]]
    channel.begin("merge_heads", "public")
    channel.begin("attn_softmax", "hidden")
    channel.given_up.clear()
    assert isinstance(channel.perform_all([softmax(2)])[0], Reply)


def test_answers_are_given_up_when_another_exercise_begins(channel):
    case = Case("one", {"A": torch.zeros(2, 3)}, torch.empty(0))
    submission = Submission(channel)
    submission._begin("attn_softmax", "public")
    value = weakref.ref(checks.answer(submission, EXERCISES["attn_softmax"], case))
    assert value() is checks.answer(submission, EXERCISES["attn_softmax"], case)
    submission._begin("merge_heads", "public")
    assert value() is None


def test_a_child_that_died_between_two_submissions_loses_neither():
    found = {}

    def examine(sitting):
        return [Outcome("split_heads", "public", str(os.getpid()), "", "passed")]

    examiner, tasks = SimpleNamespace(examine=examine), [Task(str(number), ()) for number in range(3)]
    examining = examine_in_workers(examiner, lambda task, _: Sitting(None, task), tasks, 1, ahead=False)  # type: ignore[arg-type]
    for position, outcomes, _ in examining:
        found[position] = int(outcomes[0].name)
        if position == 0:
            os.kill(found[0], signal.SIGKILL)
            while Path(f"/proc/{found[0]}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                pass
    assert list(found) == [0, 1, 2] and found[0] != found[1] == found[2]


def test_a_child_that_dies_with_its_task_unread_loses_only_that():
    """The kernel then says "connection reset" instead of "closed"."""
    ours, theirs = socket.socketpair()
    child = _Standing(0)
    child.channel, child.received = theirs, bytearray()
    theirs.sendall(b"a task that nobody reads")
    ours.close()
    with theirs:
        assert child.read() == []


def counted(count: int, asked: list[int]) -> Iterator[Task]:
    """So many tasks; `asked` tells which were taken."""
    for number in range(count):
        asked.append(number)
        yield Task(str(number), ())


def test_tasks_are_asked_for_only_when_somebody_is_free():
    asked: list[int] = []
    examiner = SimpleNamespace(examine=lambda sitting: [])
    examining = examine_in_workers(examiner, lambda task, _: Sitting(None, task), counted(6, asked), 2)  # type: ignore[arg-type]
    for done, _ in enumerate(examining, start=1):
        assert len(asked) <= done + 2
    assert asked == list(range(6))


@pytest.mark.parametrize("ahead", [False, True])
def test_a_child_has_its_next_task_before_its_last_is_written_down_if_that_may_be(ahead):
    asked: list[int] = []
    examiner = SimpleNamespace(examine=lambda sitting: [])
    examining = examine_in_workers(examiner, lambda task, _: Sitting(None, task), counted(3, asked), 1, ahead=ahead)  # type: ignore[arg-type]
    assert next(examining)[0] == 0
    assert asked == ([0, 1] if ahead else [0])
    assert [position for position, *_ in examining] == [1, 2]


def test_where_memory_runs_out_the_kernel_ends_a_worker_first(channel, zygote):
    channel.perform_all([softmax(2)])
    assert Path(f"/proc/{channel.worker.pid}/oom_score_adj").read_text() == "1000\n"
    assert int(Path(f"/proc/{zygote.pid}/oom_score_adj").read_text()) < 1000


@pytest.mark.parametrize(
    "channel",
    [
        """
import threading, time, torch
hoard = []
def fill():
    while True:
        hoard.append(torch.ones(16 << 20))
def attn_softmax(A):
    threading.Thread(target=fill, daemon=True).start()
    return A
"""
    ],
    indirect=True,
)
def test_memory_is_watched_while_nobody_asks_for_anything(channel):
    """THREATS 54: a grader that compares, or waits for its own disk, does not look at a worker meanwhile."""
    channel.limits = Limits(memory=256 << 20)
    assert isinstance(channel.perform_all([softmax(2)])[0], Reply)
    assert select.select([channel.worker.line], [], [], 120)[0]  # it was ended, with nobody waiting for an answer
    (trouble,) = channel.perform_all([softmax(2)])
    assert (trouble.kind, trouble.text) == ("memory", "your code used more than 0.25 GB of memory and was stopped")


def test_a_script_is_not_run_where_it_could_read_what_was_handed_in(channel):
    """THREATS 58: predictions that are read from the submission are not made again."""
    channel.layers = Layers(own_user=True, landlock=0, seccomp=True, namespaces=(), no_new_privs=True, limits=True)
    with pytest.raises(UserError, match="cannot be kept from what was handed in"):
        channel.run(Script("run.py", (), "out", {}), 5)


def test_interrupted_while_a_result_is_written_everything_ends(course, root):
    """Our children hold the zygote's line: if they were left alone, it would wait for them for ever, and we for it."""
    folders = tuple(root / "tests" / part for part in PARTS)
    setting = Setting(course, probe(), Limits(), folders, jobs=1)
    before = _children()
    with den() as folder:
        (folder / "submission" / "src").mkdir(parents=True)
        tree = Tree(0, Student("one"), Intake(folder / "submission", (), (), (), ""))

        def interrupted(*_):
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)
        try:
            with pytest.raises(KeyboardInterrupt):
                here(setting, Zygote())(iter([tree]), interrupted)
        finally:
            signal.alarm(0)
    assert _children() == before


def _children() -> set[str]:
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())


def test_answers_are_those_of_their_own_case_though_cases_come_and_go(channel):
    """A case that is gone must not lend its number, and its answer, to another."""
    submission = Submission(channel)
    for size in range(2, 12):
        case = Case("short-lived", {"A": torch.zeros(2, size)}, torch.empty(0))
        assert answer(submission, EXERCISES["attn_softmax"], case).value.shape[-1] == size


def test_a_zygote_whose_line_somebody_else_holds_is_ended_all_the_same(monkeypatch):
    monkeypatch.setattr("autograder.workers.zygote.PATIENCE", 0.2)
    started = Zygote()
    holder = os.dup(started._control.fileno())
    started.close()
    os.close(holder)
    assert started._process.returncode == -signal.SIGKILL


def test_a_zygote_that_nobody_used_is_gone_at_once():
    with Zygote() as started:
        pass
    assert started._process.returncode == -signal.SIGKILL


EARLY = """
import sys
from autograder import __main__
from autograder.workers import zygote
def early(self):
    sys.exit("torch came first" if {"torch", "numpy"} & set(sys.modules) else "early")
zygote.Zygote.__init__ = early
__main__.main(["grade", "some.zip"])
"""


def test_the_zygote_is_started_before_anything_slow_is_loaded(root):
    done = subprocess.run([sys.executable, "-c", EARLY], cwd=root, capture_output=True, text=True, check=False)
    assert done.stderr.endswith("early\n")


def test_a_zygote_that_is_still_loading_ends_with_its_grader(root):
    program = (
        "import signal; from autograder.workers.zygote import Zygote; print(Zygote().pid, flush=True); signal.pause()"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=root, stdout=subprocess.PIPE, text=True) as grader:
        assert grader.stdout is not None
        zygote = int(grader.stdout.readline())
        while "libtorch" not in Path(f"/proc/{zygote}/maps").read_text():
            time.sleep(0.01)
        os.kill(zygote, signal.SIGSTOP)  # it will not hear that the grader is gone
        grader.kill()
    try:
        deadline = time.monotonic() + 10
        while Path(f"/proc/{zygote}").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not Path(f"/proc/{zygote}").exists()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(zygote, signal.SIGKILL)


INTERRUPTING = """
import _thread, signal, threading, time
def again():
    while True:
        time.sleep(0.001)
        _thread.interrupt_main()
threading.Thread(target=again, daemon=True).start()
def attn_softmax(A):
    signal.raise_signal(signal.SIGINT)
    return A
"""


@pytest.mark.parametrize("channel", [INTERRUPTING], indirect=True, ids=["interrupting"])
def test_code_that_interrupts_itself_goes_on(channel):
    """A worker that died of it between two requests would cost whatever comes next."""
    submission = Submission(channel)
    for size in range(2, 60):
        assert submission.attn_softmax(torch.ones(size)).shape == (size,)
