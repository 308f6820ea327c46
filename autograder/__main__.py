"""python -m autograder COMMAND: grade | release | list | references | verify | bundle | simulate | data."""

from __future__ import annotations

import argparse
import errno
import gc
import io
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path

from autograder.errors import UserError
from autograder.running.threads import one_each

# What people can mend: a disk that is full or closed to us, and something else where a file or folder should be.
IN_THE_WAY = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM),
    *(errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG),
)
LEAST_MEMORY = 0.25  # gigabytes: with less, what is right would fail, too


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    _never_stopped_by_its_output()
    try:
        return int(options.run(options))
    except UserError as error:
        print(f"autograder: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(f"autograder: interrupted; {str(interrupt) or 'nothing is left half-written'}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        if not _nobody_reads():
            raise
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.errno not in IN_THE_WAY:
            raise
        where = f" ({error.filename})" if error.filename else ""
        print(f"autograder: {error.strerror}{where}; mend that and run the same command again", file=sys.stderr)
        return 2


def _never_stopped_by_its_output() -> None:
    """By a name that the terminal cannot show, or because there is none."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 (for as long as we live)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _nobody_reads() -> bool:
    """As in `grade ... | head`: whatever we would still say, there is no one to read it."""
    line = select.poll()
    line.register(sys.stdout.fileno(), 0)  # an error is always reported
    if not line.poll(0):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more in the end
    return True


def _gigabytes(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not LEAST_MEMORY <= found <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of gigabytes from {LEAST_MEMORY} to 1024")
    return found


def _moment(text: str) -> datetime:
    """A time from the command line; without a zone, it is this machine's."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write it like '2026-11-15 23:59'") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m autograder")
    parser.add_argument("--root", type=Path, default=Path(), help="the repository (default: this folder)")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    called = os.environ.get("GRADE_CALLED_AS")  # by grade.sh, so that the usage is what people type
    grade = commands.add_parser(
        "grade", prog=called, help="grade zips, folders, single files, or the export of a whole class"
    )
    grade.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="an export, a zip, a folder, a .py or an .ipynb"
    )
    grade.add_argument("--examples", action="store_true", help="grade the example submissions as well")
    grade.add_argument("--course", default="default", help="a course's name, or a .toml file (default: default)")
    grade.add_argument("--out", type=Path, default=Path("results"), help="where results go (default: results)")
    grade.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once (default: cores)")
    grade.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="WHO",
        help="only these (id, name, e-mail, or a pattern like 'a*')",
    )
    grade.add_argument("--student", metavar="WHO", help="only this one, and print all that it is told")
    grade.add_argument(
        "--due",
        type=_moment,
        metavar="TIME",
        help="when it was due, like '2026-11-15 23:59': tells lateness where the export has only times of submission",
    )
    grade.add_argument("--regrade", action="store_true", help="grade again what was graded before")
    grade.add_argument(
        "--replace", action="store_true", help="let an export replace results that came from another path"
    )
    grade.add_argument("--similar", action="store_true", help="also look for submissions that are alike")
    grade.add_argument(
        "--given",
        type=Path,
        action="append",
        default=[],
        metavar="PATH",
        help="with --similar: another starter (folder or zip) whose code is nobody's own; may be given several times",
    )
    grade.add_argument("--dask", metavar="ADDRESS", help="on a Dask cluster: its scheduler's address, or 'local'")
    grade.add_argument(
        "--memory", type=_gigabytes, default=2.0, help="gigabytes that one submission may use (default: 2)"
    )
    grade.add_argument("--no-namespaces", action="store_true", help="do without namespaces, as in a container")
    grade.add_argument(
        "--allow-weak-isolation", action="store_true", help="run submissions unprotected where nothing better works"
    )
    grade.set_defaults(run=_grade)

    release = commands.add_parser("release", help="make what students get from solutions/, and prove it")
    release.add_argument(
        "--course", help="a course's name, or a .toml file: only its parts, in dist/NAME/ (default: all, in student/)"
    )
    release.add_argument(
        "--out", type=Path, metavar="FOLDER", help="write student/ and the zips into this folder instead"
    )
    release.add_argument("--check", action="store_true", help="change nothing; fail if student/ is not up to date")
    release.add_argument("--zip", action="store_true", help="also write student.zip, in dist/ or dist/NAME/")
    release.add_argument("--otter", action="store_true", help="also write Otter's own autograders, otter-*.zip, there")
    release.add_argument("--prune", action="store_true", help="delete files in student/ that release did not make")
    release.set_defaults(run=_release)

    overview = commands.add_parser("list", help="show parts, exercises, points and courses as a table")
    overview.set_defaults(run=_list)

    references = commands.add_parser("references", help="compute the reference files from solutions/")
    references.add_argument("--check", action="store_true", help="change nothing; fail if they are not up to date")
    references.set_defaults(run=_references)

    verify = commands.add_parser("verify", help="the gate: prove that everything is right")
    verify.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once (default: cores)")
    verify.add_argument("--attacks", action="store_true", help="instead, try the attack suite in every situation")
    verify.set_defaults(run=lambda options: _attacks(options) if options.attacks else _verify(options))

    bundle = commands.add_parser("bundle", help="make the zip to upload to Gradescope, and prove it")
    bundle.add_argument("--course", default="default", help="a course's name, or a .toml file (default: default)")
    bundle.add_argument("--pip-conf", type=Path, metavar="FILE", help="settings of pip for the image, such as an index")
    bundle.set_defaults(run=_bundle)

    simulate = commands.add_parser("simulate", help="run a bundle on a submission as Gradescope would")
    simulate.add_argument("bundle", type=Path, metavar="BUNDLE")
    simulate.add_argument("submission", type=Path, metavar="SUBMISSION", help="a zip, a folder or a file")
    simulate.add_argument("--late", type=float, default=0.0, metavar="HOURS", help="after the due date")
    simulate.add_argument(
        "--previous",
        type=Path,
        action="append",
        default=[],
        metavar="RESULTS",
        help="results.json of an earlier submission, an hour before the next; may be given several times",
    )
    simulate.add_argument("--leftover", action="store_true", help="let forged results lie there already")
    simulate.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="kill everything after so long (default: the course's minutes)"
    )
    simulate.add_argument("--out", type=Path, metavar="FILE", help="keep results.json as this file")
    simulate.add_argument("--python", metavar="PYTHON", help="for setup.sh (default: the one of this environment)")
    simulate.add_argument("--venv", type=Path, metavar="FOLDER", help="do without setup.sh, in this environment")
    simulate.set_defaults(run=_simulate)

    data = commands.add_parser("data", help="make a term's corpus of people who never lived, and its answers")
    which = data.add_mutually_exclusive_group(required=True)
    which.add_argument("--term", metavar="NAME", help="such as fall-2026; a new name gives new people")
    which.add_argument("--answers", type=Path, metavar="TSV", help="instead, keep the files that are in data/ now")
    data.set_defaults(run=_data)
    return parser


def _grade(options: argparse.Namespace) -> int:
    one_each()
    from autograder.workers.zygote import Zygote

    # Before all else: it loads torch while we do.
    with nullcontext() if options.dask is not None else Zygote() as zygote:
        with _undisturbed():
            from autograder.classroom.class_run import Supplies, run
            from autograder.proving.examples import write_examples
            from autograder.publishing.terms import answers_file
        supplies = Supplies(
            answers=partial(answers_file, options.root / "data"),
            examples=partial(write_examples, options.root / "solutions"),
        )
        return run(options, supplies, zygote)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """For imports. Ctrl-C waits for their end, because torch would lose it, or break; and no garbage is looked for,
    because there is next to none, and looking takes a tenth of the time."""
    gc.disable()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        gc.enable()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _release(options: argparse.Namespace) -> int:
    from autograder.checking.courses import USUAL, read_course
    from autograder.files import write_atomically
    from autograder.publishing import release

    courses, plan_file = options.root / "autograder" / "courses", options.root / "solutions" / "release.toml"
    course = read_course(options.course or USUAL, courses)
    plan = release.read_plan(plan_file, options.root, course)
    tree = release.build(plan)
    if wrong := release.prove(plan, tree):
        return _complain("the release is not fit to go out; nothing was written", wrong)
    dist = options.out or options.root / "dist" / (course.name if options.course else "")
    student = options.root / "student" if not (options.course or options.out) else dist / "student"
    shown = "student/" if student == options.root / "student" else f"{student}/"
    if options.check:
        if wrong := release.differences(student, tree):
            more = "".join(f" --{key} {value}" for key in ("course", "out") if (value := getattr(options, key)))
            return _complain(f"{shown} is not up to date; run 'python -m autograder release{more}'", wrong)
        print(f"{shown} is up to date: {len(tree)} files")
    else:
        changed = release.write(student, tree, prune=options.prune)
        print(f"{shown}: {len(tree)} files, {len(changed)} changed")
    if options.zip:
        path = dist / "student.zip"
        release.write_zip(path, tree)
        print(f"{path}: {path.stat().st_size:,} bytes")
    if options.otter:
        for name, content in release.otter_zips(plan, tree, options.root / "tests" / "hidden").items():
            write_atomically(dist / name, content)
            print(f"{dist / name}: {len(content):,} bytes; holds hidden checks, for staff only")
    return 0


def _list(options: argparse.Namespace) -> int:
    from autograder.checking.courses import available, read_course
    from autograder.publishing.overview import overview

    folder = options.root / "autograder" / "courses"
    print(overview([read_course(name, folder) for name in available(folder)]))
    return 0


def _data(options: argparse.Namespace) -> int:
    from autograder.judging import held_out
    from autograder.publishing import terms

    folder = options.root / "data"
    if options.answers:
        count = terms.use_own(folder, options.answers)
        print(f"{folder}: {count} test answers taken; grade with them from now on")
        return 0
    made = terms.make_term(folder, options.term)
    groups = {"train": made.train, "dev": made.dev, "test": made.test}
    sizes = ", ".join(f"{len(people)} {group}" for group, people in groups.items())
    print(f"{folder}: term {options.term}, {sizes} people, {len(made.documents):,} biographies")
    print(f"{folder / held_out.HELD_OUT}: answers and secret, for staff only; keep a copy of the secret")
    print("Next: python -m autograder release, which takes the new files into student/")
    return 0


def _references(options: argparse.Namespace) -> int:
    from autograder.proving import make_references

    made = _make_references(options.root)
    folder = options.root / "tests"
    if options.check:
        wrong, exact = make_references.differences(folder, made)
        if wrong:
            return _complain("references are not up to date; run 'python -m autograder references'", wrong)
        how = "to the byte" if exact else "up to the rounding of this machine"
        print(f"references are up to date: {len(made)} files, {how}")
    else:
        changed = make_references.write(folder, made)
        print(f"references: {len(made)} files, {len(changed)} changed")
    return 0


def _make_references(root: Path) -> dict[str, bytes]:
    from autograder.checking.courses import read_course
    from autograder.checking.places import parts_of
    from autograder.proving import make_references
    from autograder.proving.assembling import Sources
    from autograder.proving.knowledge import FOLDER, read_knowledge
    from autograder.proving.mistakes import read_table

    solutions = root / "solutions"
    with _Progress() as told:
        return make_references.make(
            Sources(solutions),
            read_knowledge(solutions / FOLDER),
            read_table(solutions / FOLDER),
            read_course("default"),
            parts_of(root / "tests" / "public"),
            told,
        )


def _verify(options: argparse.Namespace) -> int:
    import torch

    from autograder.checking.courses import PARTS, available, read_course
    from autograder.judging.held_out import supplied
    from autograder.proving import make_references
    from autograder.proving.assembling import Sources
    from autograder.proving.gate import Line, table_text, verify
    from autograder.proving.knowledge import FOLDER
    from autograder.proving.mistakes import read_table
    from autograder.proving.releases import prove_releases
    from autograder.publishing.terms import answers_file

    torch.set_num_threads(1)  # forking after multi-threaded work hangs the child
    started = time.monotonic()
    solutions = options.root / "solutions"
    folder = options.root / "autograder" / "courses"
    courses = [read_course(name, folder) for name in available(folder)]
    with _Progress() as told:
        lines = prove_releases(options.root, courses, told)
    made = _make_references(options.root)
    wrong, _ = make_references.differences(options.root / "tests", made)
    lines.append(
        Line("references are up to date", "no difference", f"{len(wrong)} differences", not wrong, tuple(wrong[:5]))
    )
    table, variants = read_table(solutions / FOLDER), read_table(solutions / FOLDER, "variant")
    folders = [options.root / "tests" / part for part in PARTS]
    with _Progress() as told:
        answers, jobs = supplied(answers_file(options.root / "data")), max(1, options.jobs)
        found, confusion = verify(Sources(solutions), table, variants, courses, folders, answers, jobs, told)
    lines += found
    print(table_text(lines, shutil.get_terminal_size((100, 24)).columns))
    print(f"\n{confusion.text()}\n")
    seconds = time.monotonic() - started
    print(f"{len(table)} mistakes, {len(variants)} right variants, {len(courses)} courses, {seconds:.0f} s")
    return 0 if all(line.held for line in lines) else 1


def _attacks(options: argparse.Namespace) -> int:
    one_each()
    from autograder.checking.courses import PARTS, read_course
    from autograder.proving.assembling import Sources
    from autograder.proving.attacks import hold, read_attacks, read_trained
    from autograder.proving.gate import Line, table_text
    from autograder.proving.situations import situations

    folder = options.root / "tests" / "project" / "attacks"
    attacks, (trained, _) = read_attacks(folder), read_trained(folder)
    sources, course = Sources(options.root / "solutions"), read_course("default")
    folders = tuple(options.root / "tests" / part for part in PARTS)
    started = time.monotonic()
    lines: list[Line] = []
    for situation in situations():
        with _Progress() as told:
            lines += situation.run(partial(hold, attacks, trained, sources, course, folders, options.jobs, told))
    print(table_text(lines, shutil.get_terminal_size((100, 24)).columns))
    print(f"{len(attacks)} attacks in {len(situations())} situations, {time.monotonic() - started:.0f} s")
    return 0 if all(line.held for line in lines) else 1


def _bundle(options: argparse.Namespace) -> int:
    one_each()
    from autograder.checking.courses import read_course
    from autograder.files import write_atomically
    from autograder.judging.held_out import read_answers
    from autograder.publishing import bundle
    from autograder.publishing.terms import DEMO, answers_file

    answers = answers_file(options.root / "data")
    plan, course = options.root / "scripts" / "gradescope" / "bundle.toml", read_course(options.course)
    tree = bundle.build(plan, options.root, course, options.pip_conf, answers)
    if wrong := bundle.prove(plan, options.root, tree):
        return _complain("the bundle is not fit to go out; nothing was written", wrong)
    path = options.root / "dist" / f"gradescope-{course.name}.zip"
    write_atomically(path, bundle.packed(tree))
    print(f"{path}: {len(tree)} files, {path.stat().st_size:,} bytes")
    if course.asks and read_answers(answers).term == DEMO:
        print("note: these are the answers of the demo, which anybody can make; for a course: data --term NAME")
    print(f"On Gradescope, choose a timeout of {course.gradescope.minutes} minutes for it.")
    return 0


def _simulate(options: argparse.Namespace) -> int:
    from autograder.proving.rehearsal import rehearse

    return rehearse(options)


def _complain(what: str, wrong: list[str]) -> int:
    print(f"autograder: {what}", file=sys.stderr)
    for line in wrong[:20]:
        print(f"  {line}", file=sys.stderr)
    if len(wrong) > 20:
        print(f"  and {len(wrong) - 20} more", file=sys.stderr)
    return 1


class _Progress:
    """One line on a terminal that is written over; nothing where output is kept in a file."""

    def __enter__(self) -> Callable[[str], None]:
        self.live = sys.stderr.isatty()
        return self._tell

    def _tell(self, text: str) -> None:
        if self.live:
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self.live:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
