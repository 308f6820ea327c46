"""Who handed in what: every kind of path, and what a hostile one among them may not do to the others."""

from __future__ import annotations

import io
import os
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.classroom import roster
from autograder.classroom.roster import Entry, Source, Student, read_roster
from autograder.errors import UserError
from autograder.intake import zips
from autograder.intake.clean_tree import Intake, Refused, take_in
from autograder.intake.people import Person

CODE = b"def attn_softmax(A):\n    return A.softmax(-1)\n"
MIB = 1 << 20
SUBMITTED = "2024-02-01 10:00:00+00:00"

Files = dict[str, bytes]


def zipped(files: Files) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def spread(folder: Path, files: Files) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(params=["zip", "folder"])
def handed_over(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Files], Path]:
    """The same files as a zip and as a folder."""

    def make(files: Files) -> Path:
        if request.param == "folder":
            return spread(tmp_path / "hw2", files)
        (tmp_path / "hw2.zip").write_bytes(zipped(files))
        return tmp_path / "hw2.zip"

    return make


@pytest.fixture
def take(tmp_path: Path) -> Callable[[Entry], Intake]:
    def take(entry: Entry) -> Intake:
        into = tmp_path / "taken" / entry.student.id
        into.mkdir(parents=True)
        return take_in(entry.source, into)

    return take


def ids(entries: list[Entry]) -> list[str]:
    return [entry.student.id for entry in entries]


METADATA = """---
submission_11:
  :submitters:
  - :name: Ada Lovelace
    :sid: '007'
    :email: ada@example.edu
  :created_at: 2024-02-01 10:00:00.000000000 Z
  :score: 3.0
  :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess
    tests: [{name: a, output: "x"}]
submission_12:
  :submitters:
  - :name: "Zo\\xEB \\"O'Neil\\" <b>\\u202E;\\n=1+1"
    :sid: 0123
    :email: zoe@example.edu
  - :name: 李小龍
    :sid: ~
    :email: li@example.edu
  :lateness_in_seconds: 97200
submission_13:
  :submitters: []
""".encode()
EXPORT = {
    "submission_metadata.yml": METADATA,
    "submission_11/src/attention.py": CODE,
    "submission_12/A2S1.py": b"a = 1\n",
    "submission_12/A2S2.py": CODE,
    "submission_13/notes.md": b"",
}


def below(top: str, files: Files) -> Files:
    return {f"{top}/{name}": content for name, content in files.items()}


# One submission


def test_read_roster_takes_a_zip_a_folder_and_a_file_as_one_submission_each(
    tmp_path: Path, take: Callable[[Entry], Intake]
) -> None:
    spread(tmp_path, {"alice.zip": zipped({"A2S1.py": CODE}), "bob/src/attention.py": CODE, "carol.py": CODE})
    found = read_roster([tmp_path / "alice.zip", tmp_path / "bob", tmp_path / "carol.py", tmp_path / "dora.zip"])
    assert [entry.student for entry in found] == [Student(name) for name in ("alice", "bob", "carol", "dora")]
    assert [take(entry).files for entry in found[:3]] == [("A2S1.py",), ("src/attention.py",), ("carol.py",)]
    with pytest.raises(Refused, match=r"'dora\.zip' is not there; check the path"):
        take(found[3])


@pytest.mark.parametrize(
    "name",
    [
        *("src/x.py", "SRC/x.py", "A2S1.ipynb", "a2s3.py", "attention.py", "dataset.py", "rope.finetune.params"),
        *("vanilla.pretrain.dev.predictions", "london_baseline_accuracy.txt", "notebooks/A2S1.ipynb", "README.md"),
    ],
)
@pytest.mark.parametrize("top", ["", "hw2/", "a/b/c/"])
def test_read_roster_takes_a_folder_with_work_in_it_as_one_submission(tmp_path: Path, name: str, top: str) -> None:
    folder = spread(
        tmp_path / "bob", {top + name: CODE, top + "helper.py": CODE} if "README" not in name else {name: b""}
    )
    assert read_roster([folder]) == [Entry(Student("bob"), Source(folder))]


def test_read_roster_takes_an_empty_folder_as_one_submission(tmp_path: Path) -> None:
    assert ids(read_roster([spread(tmp_path / "bob", {})])) == ["bob"]


def test_read_roster_gives_safe_and_unique_ids(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a b.zip", "A_B.py", "a_b", "...", "e\u0301;$(x).zip", "Zoë.zip", "x" * 200)]
    assert ids(read_roster(paths)) == ["a_b", "A_B-2", "a_b-3", "submission", "e____x_", "Zoë", "x" * 80]
    long = [tmp_path / str(number) / ("𠀀" * 60) for number in range(3)]
    found = ids(read_roster(long))
    assert len(set(found)) == 3 and all(len(name) <= 80 and len(name.encode()) <= 200 for name in found)
    assert read_roster([Path("x" * 100), Path("x" * 100)])[1].student.id == "x" * 78 + "-2"


# Folders of submissions


def test_read_roster_takes_each_thing_in_a_folder_of_submissions(
    tmp_path: Path, take: Callable[[Entry], Intake]
) -> None:
    folder = spread(
        tmp_path / "class",
        {
            **{"alice.zip": zipped({"src/attention.py": CODE}), "bob/src/attention.py": CODE, "carol.py": CODE},
            **{"dora.ipynb": b"{}", "emil.tar.gz": b"", "roster.csv": b"", ".DS_Store": b"", "__MACOSX/x.py": b""},
            **{".hidden/x.py": b"", "results/alice/results.json": b"{}", "results/alice/report.html": b""},
            **{"old/results.json": b"{}", "old/report.html": b"", "results/index.html": b"", "results/similar/x": b""},
        },
    )
    (folder / "link.py").symlink_to("carol.py")
    found = read_roster([folder])
    assert ids(found) == ["alice", "bob", "carol", "dora", "emil.tar.gz", "link"]
    assert [take(entry).files for entry in found[:2]] == [("src/attention.py",), ("src/attention.py",)]
    with pytest.raises(Refused, match=r"hand in a \.zip"):
        take(found[4])
    with pytest.raises(Refused, match="is a symbolic link"):
        take(found[5])


def test_read_roster_does_not_forget_a_student_who_hands_in_results(tmp_path: Path) -> None:
    folders = ("a", "b", "c/hw", "e", "f/1", "submission_1")
    posing = {f"{folder}/{name}": b"" for folder in folders for name in ("results.json", "report.html")}
    work = {"a/A2S1.py": b"", "b/src/x.py": b"", "c/hw/x.py": b"", "d/results.json": b"", "e/hw/src/x.py": b""}
    work |= {"f/hw/src/x.py": b""}
    found = read_roster([spread(tmp_path / "class", {**posing, **work})])
    assert ids(found) == ["a", "b", "c", "d", "e", "f", "submission_1"]


def test_read_roster_refuses_a_class_among_submissions(tmp_path: Path, take: Callable[[Entry], Intake]) -> None:
    """A student must not be able to hand in an export with somebody else's name in it."""
    canvas = zipped({"bob_12345_67890_A2S1.py": CODE})
    spread(tmp_path, {"x.zip": zipped(EXPORT), "y.zip": canvas, "ok.zip": zipped({"A2S1.py": CODE})})
    spread(tmp_path / "z", EXPORT)
    alone = read_roster([tmp_path])
    assert ids(alone) == ["ok", "x", "y", "z"]
    for found in (alone, read_roster([tmp_path / name for name in ("ok.zip", "x.zip", "y.zip", "z")])):
        for entry in found[1:]:
            with pytest.raises(Refused, match="is a whole class, not one submission; grade it by itself"):
                take_in(entry.source, spread(tmp_path / "empty", {}))
    assert take(alone[0]).files == ("A2S1.py",)


def test_read_roster_says_when_a_folder_has_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "MAX_IN_FOLDER", 3)
    with pytest.raises(UserError, match="has more than 3 files; give the folder of submissions"):
        read_roster([spread(tmp_path / "class", {f"{number}.py": b"" for number in range(5)})])


def test_read_roster_does_not_guess_between_one_submission_and_several(tmp_path: Path) -> None:
    """A loose file among zips must not make one submission of a class."""
    files = {"alice.zip": zipped({"A2S1.py": CODE}), "bob.zip": zipped({"A2S1.py": CODE}), "attention.py": CODE}
    folder = spread(tmp_path / "class", files)
    with pytest.raises(UserError, match=r"'class' may be one submission \('attention.py'\) or several \('alice.zip'\)"):
        read_roster([folder])
    assert ids(read_roster([folder / name for name in files])) == ["alice", "bob", "attention"]
    own = spread(tmp_path / "own", {"src/attention.py": CODE, "hw.zip": b""})  # as collect_submission.sh leaves it
    assert ids(read_roster([own])) == ["own"]


def test_read_roster_takes_each_of_several_folders_as_one_submission(tmp_path: Path) -> None:
    """As in `grade.sh class/*`: by what is in a folder, its student chooses neither who is graded nor as whom."""
    spread(tmp_path / "mallory", {"smithbob_12345_678_attention.py": CODE})
    spread(tmp_path / "eve", {"bob.py": CODE, "carol.zip": zipped({"A2S1.py": CODE})})
    spread(tmp_path / "dan", {"attention.py": CODE, "old.zip": b""})
    found = read_roster([tmp_path / name for name in ("mallory", "eve", "dan")])
    assert [entry.student for entry in found] == [Student("mallory"), Student("eve"), Student("dan")]


@pytest.mark.parametrize(
    "left", [[], ["alice/report.html"], ["alice/.results.json.1a.tmp"], [".writable", "index.html"]]
)
def test_read_roster_knows_where_results_go_also_if_the_run_was_interrupted(tmp_path: Path, left: list[str]) -> None:
    folder = spread(tmp_path / "class", {"alice.zip": zipped({"A2S1.py": CODE}), "bob/A2S1.py": CODE})
    spread(folder / "results", dict.fromkeys(left, b""))
    assert ids(read_roster([folder], folder / "results")) == ["alice", "bob"]
    spread(folder / "results", {"src/attention.py": CODE})  # somebody's work is there
    assert ids(read_roster([folder], folder / "results")) == ["alice", "bob", "results"]


def test_read_roster_finds_parameters_among_canvas_files(handed_over: Callable[[Files], Path]) -> None:
    """Their names end like files of a submission, and are Canvas's all the same."""
    files = {
        "doejane_101_1001_A2S1.py": CODE,
        "doejane_101_1002_rope.finetune.params": b"",
        "roejo_102_1003_x.py": CODE,
    }
    assert ids(read_roster([handed_over(files)])) == ["doejane_101", "roejo_102"]


# Gradescope


def test_read_roster_lists_everybody_of_an_export_without_folders(handed_over: Callable[[Files], Path]) -> None:
    found = read_roster([handed_over({"submission_metadata.yml": METADATA})])
    assert ids(found) == ["submission_11", "submission_12", "submission_13"]
    assert all("the export has no such folder" in entry.source.refusal for entry in found)


@pytest.mark.parametrize(
    ("text", "submitted"),
    [
        ("2024-02-01 10:00:00.123456000 Z", SUBMITTED),
        ("2024-02-01T10:00:00.123-08:00", "2024-02-01 10:00:00-08:00"),
        ("2024-02-01 10:00:00 +01:00", "2024-02-01 10:00:00+01:00"),
        ("2024-02-01 10:00:00.5 -08:00", "2024-02-01 10:00:00-08:00"),
        ("2024-02-01 10:00:00 UTC", SUBMITTED),
        *(("2024-02-01 10:00:00", SUBMITTED), ("yesterday", ""), ("9999-12-31 23:59:59 Z", ""), ("[1]", "")),
    ],
)
def test_read_roster_knows_when_a_submission_came(tmp_path: Path, text: str, submitted: str) -> None:
    metadata = f"submission_1:\n  :created_at: {text}\n".encode()
    folder = spread(tmp_path / "x", {"submission_metadata.yml": metadata, "submission_1/a.py": b""})
    assert read_roster([folder])[0].student.submitted == submitted


@pytest.mark.parametrize("top", ["", "assignment_12345_export"])
def test_read_roster_reads_a_gradescope_export(
    handed_over: Callable[[Files], Path], take: Callable[[Entry], Intake], top: str
) -> None:
    files = below(top, EXPORT) if top else EXPORT
    found = read_roster([handed_over({**files, "__MACOSX/._x": b"", ".DS_Store": b""})])
    assert [entry.student for entry in found] == [
        Student("submission_11", (Person("Ada Lovelace", "007", "ada@example.edu"),), SUBMITTED),
        Student(
            "submission_12",
            (Person('Zoë "O\'Neil" <b> ; =1+1', "0123", "zoe@example.edu"), Person("李小龍", "", "li@example.edu")),
            seconds_late=97200,
        ),
        Student("submission_13"),
    ]
    taken = [take(entry) for entry in found]
    assert [one.files for one in taken] == [("src/attention.py",), ("A2S1.py", "A2S2.py"), ()]
    assert (taken[1].root / "A2S2.py").read_bytes() == CODE


def test_read_roster_grades_folders_without_metadata_and_refuses_metadata_without_folders(
    handed_over: Callable[[Files], Path], take: Callable[[Entry], Intake]
) -> None:
    metadata = (
        b"submission_1: 5\nsubmission_2:\n  :submitters: {':name': Solo}\n../../etc:\n  :submitters:\n  - :name: Eve\n"
    )
    files = {f"submission_{number}/A2S1.py": CODE for number in (1, 3)}
    found = read_roster([handed_over({"submission_metadata.yml": metadata, **files})])
    assert [entry.student for entry in found] == [
        *(Student("submission_1"), Student("submission_3")),
        *(Student("_.._etc", (Person("Eve"),)), Student("submission_2", (Person("Solo"),))),
    ]
    assert take(found[1]).files == ("A2S1.py",)
    with pytest.raises(Refused) as caught:
        take(found[3])
    assert str(caught.value) == (
        "submission_metadata.yml lists 'submission_2', but the export has no such folder; "
        "download this submission by itself"
    )


def test_read_roster_reads_an_unpacked_export_whose_metadata_was_deleted(tmp_path: Path) -> None:
    folder = spread(tmp_path / "export", {name: content for name, content in EXPORT.items() if "metadata" not in name})
    assert ids(read_roster([folder])) == ["submission_11", "submission_12", "submission_13"]


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        (b"a: [1\nb: 2\n", r"is not valid YAML \(line 2\)"),
        (b"- 1\n", "does not list submissions"),
        (b"", "does not list submissions"),
        (b"[" * 5_000, "is not valid YAML"),
        (b"a: " + b"{b: " * 300, "is not valid YAML"),
    ],
)
def test_read_roster_says_what_to_do_about_metadata_it_cannot_read(
    handed_over: Callable[[Files], Path], metadata: bytes, why: str
) -> None:
    path = handed_over({**EXPORT, "submission_metadata.yml": metadata})
    with pytest.raises(UserError, match=why) as caught:
        read_roster([path])
    message = str(caught.value)
    assert message.startswith(f"'{path.name}': submission_metadata.yml ") and "\n" not in message
    assert message.endswith("or unpack it and delete submission_metadata.yml to grade it without names")


def test_read_roster_caps_metadata(handed_over: Callable[[Files], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster, "MAX_METADATA", MIB)
    with pytest.raises(UserError, match="has more than 1 MiB"):
        read_roster([handed_over({**EXPORT, "submission_metadata.yml": b"#" * (MIB + 1)})])


def test_read_roster_reads_bytes_that_yaml_does_not_allow(handed_over: Callable[[Files], Path]) -> None:
    metadata = b'submission_11:\n  :submitters:\n  - :name: "Ad\xff\x07a"\n    :email: [1, {x: y}]\n'
    assert (
        read_roster([handed_over({**EXPORT, "submission_metadata.yml": metadata})])[0].student.name == "Ad\ufffd\ufffda"
    )


def test_read_roster_survives_alias_bombs(handed_over: Callable[[Files], Path]) -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 60)]
    lines += ["m0: &m0 {k: v}"] + [f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}" for n in range(1, 60)]
    lines += ["submission_11: {':submitters': &s [{':name': &n Ada}, *a59, *m59, *s], ':late': *n, ':x': *unknown}"]
    started = time.process_time()
    found = read_roster([handed_over({**EXPORT, "submission_metadata.yml": "\n".join(lines).encode()})])
    assert time.process_time() - started < 1
    assert found[0].student == Student("submission_11", (Person("Ada"),))


@pytest.mark.parametrize(
    ("line", "late"),
    [
        ("':lateness_in_seconds': 97200", "1 d 3 h late"),
        ("lateness: '26:05:00'", "1 d 2 h late"),
        ("':Seconds_Late': 90.5", "1 min 30 s late"),
        ("':lateness': 7200", "2 h late"),
        ("':late': true", "late"),
        ("':late': false", ""),
        ("':lateness': 0", ""),
        ("':lateness': '00:00:00'", ""),
        ("':lateness': -3", ""),
        ("':lateness': [1]", ""),
        ("':created_at': 2024-02-01 10:00:00 Z", ""),
    ],
)
def test_read_roster_says_how_late(tmp_path: Path, line: str, late: str) -> None:
    folder = spread(
        tmp_path / "x", {"submission_metadata.yml": b"submission_1: {%s}" % line.encode(), "submission_1/a.py": b""}
    )
    assert read_roster([folder])[0].student.late == late


# Hostile submissions in an export


def test_take_in_refuses_one_hostile_submission_of_an_export_and_no_other(
    tmp_path: Path, take: Callable[[Entry], Intake]
) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("x/submission_metadata.yml", METADATA)
        archive.writestr("x/submission_1/A2S1.py", CODE)
        archive.writestr("x/submission_2/bomb.txt", bytes(60 * MIB))
        archive.writestr("x/submission_3/../submission_1/A2S1.py", b"stolen")
        archive.writestr("x/submission_4//etc/passwd.py", b"")
        link = zipfile.ZipInfo("x/submission_5/link.py")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        for name in ("A2S1.py", "a2s1.PY"):
            archive.writestr(f"x/submission_6/{name}", CODE)
        for _ in range(2):
            archive.writestr("x/submission_7/A2S1.py", CODE)
        for number in range(2_001):
            archive.writestr(f"x/submission_8/{number}.txt", b"")
        archive.writestr("x/submission_9/A2S1.py", b"good = 1\n")
        archive.writestr("x/submission_91/damaged.py", CODE)
    content = out.getvalue().replace(b"x/submission_91/damaged.py", b"x/submission_91/damaged.pY", 1)
    (tmp_path / "export.zip").write_bytes(content)
    said = {}
    for entry in read_roster([tmp_path / "export.zip"]):
        try:
            said[entry.student.id] = " ".join(take(entry).files)
        except Refused as refused:
            said[entry.student.id] = str(refused)
            assert list((tmp_path / "taken" / entry.student.id).iterdir()) == []
    for name, words in {
        "submission_1": "A2S1.py",
        "submission_2": "unpacks to more than 200 times its size",
        "submission_3": "leads out of the submission",
        "submission_4": "has an absolute path",
        "submission_5": "is a symbolic link",
        "submission_6": "are one name on some computers",
        "submission_7": "is there twice",
        "submission_8": "more than 2,000 files",
        "submission_9": "A2S1.py",
        "submission_91": "is described twice, and differently",
    }.items():
        assert words in said[name], name
    assert (tmp_path / "taken/submission_1/A2S1.py").read_bytes() == CODE


def test_read_roster_takes_a_thousand_submissions_of_one_zip_reading_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"submission_{number}" for number in range(1_000)]
    files = {f"export/{name}/src/{part}.py": CODE for name in names for part in "abcdef"}
    metadata = "".join(f"{name}:\n  :submitters:\n  - :name: Name of {name}\n" for name in names)
    (tmp_path / "all.zip").write_bytes(zipped({"export/submission_metadata.yml": metadata.encode(), **files}))
    readings = []
    plain = zips._read_directory
    monkeypatch.setattr(zips, "_read_directory", lambda *args: readings.append(1) or plain(*args))
    started = time.process_time()
    found = read_roster([tmp_path / "all.zip"])
    assert len(found) == 1_000 and found[7].student.name == f"Name of {found[7].student.id}"
    for entry in found[::4]:
        into = tmp_path / "taken" / entry.student.id
        into.mkdir(parents=True)
        assert len(take_in(entry.source, into).files) == 6
    assert readings == [1]
    assert time.process_time() - started < 8


def test_take_in_reads_a_changed_export_again(tmp_path: Path, take: Callable[[Entry], Intake]) -> None:
    path = tmp_path / "export.zip"
    path.write_bytes(zipped(EXPORT))
    entry = read_roster([path])[0]
    path.write_bytes(zipped({**EXPORT, "submission_11/src/dataset.py": CODE}))
    os.utime(path, ns=(1, 1))
    assert take(entry).files == ("src/attention.py", "src/dataset.py")


# Canvas


def test_read_roster_reads_a_canvas_download(
    handed_over: Callable[[Files], Path], take: Callable[[Entry], Intake]
) -> None:
    found = read_roster(
        [
            handed_over(
                {
                    "doejane_12345_67890_hw2.zip": zipped({"src/attention.py": CODE}),
                    "doejane_12345_67891_writeup.pdf": b"%PDF",
                    "doejohn_LATE_12346_67892_attention-1.py": b"new = 1\n",
                    "doejohn_LATE_12346_678_attention.py": b"old = 1\n",
                    "doejohn_LATE_12346_67893_A2S1_10_200_x-2.ipynb": b"{}",
                    "doejohn_LATE_12346_67899_-1.py": b"",
                    "李小龍_12347_67894_A2S1.py": CODE,
                    "o_neil_pat_12348_67895_attention-12.py": CODE,
                    "roehans_12349_text.html": b"<p>I forgot",
                    "LATE_anon_aB3dE_67896_A2S1.py": CODE,
                }
            )
        ]
    )
    assert [entry.student for entry in found] == [
        Student("anon_aB3dE", seconds_late=None),
        Student("doejane_12345", (Person("doejane", canvas="12345"),)),
        Student("doejohn_12346", (Person("doejohn", canvas="12346"),), seconds_late=None),
        Student("o_neil_pat_12348", (Person("o_neil_pat", canvas="12348"),)),
        Student("李小龍_12347", (Person("李小龍", canvas="12347"),)),
    ]
    taken = [take(entry) for entry in found]
    assert [one.files for one in taken] == [
        *(
            ("A2S1.py",),
            ("src/attention.py",),
            ("-1.py", "A2S1_10_200_x.ipynb", "attention.py"),
            ("attention.py",),
            ("A2S1.py",),
        )
    ]
    assert (taken[2].root / "attention.py").read_bytes() == b"new = 1\n"


def test_read_roster_groups_canvas_files_given_one_by_one(tmp_path: Path, take: Callable[[Entry], Intake]) -> None:
    spread(tmp_path, {"doe_123_456_A2S1-1.py": CODE, "doe_123_457_A2S2.py": CODE, "alice.py": CODE})
    found = read_roster(sorted(tmp_path.iterdir()))
    assert ids(found) == ["alice", "doe_123"]
    assert take(found[1]).files == ("A2S1.py", "A2S2.py")


MANY = {part: zipped({f"{part}{number}.txt": b"" for number in range(1_200)}) for part in "ab"}


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"doe_123_456_hw.zip": zipped({"bomb.txt": bytes(60 * MIB)})}, "unpacks to more than 200 times"),
        ({"doe_123_456_hw.zip": b"no zip"}, "'hw.zip' is "),
        ({"doe_123_456_hw.zip": zipped({"../x.py": b""})}, "leads out of the submission"),
        ({"doe_123_456_hw.zip": zipped({"a.py": b""}), "doe_123_457_A.py": b""}, "are one name"),
        ({f"doe_123_456_{part}.zip": MANY[part] for part in MANY}, "more than 2,000 files"),
    ],
)
def test_take_in_refuses_one_hostile_canvas_submission_and_no_other(
    handed_over: Callable[[Files], Path], take: Callable[[Entry], Intake], files: Files, words: str
) -> None:
    found = read_roster([handed_over({**files, "good_124_458_A2S1.py": CODE})])
    assert ids(found) == ["doe_123", "good_124"]
    with pytest.raises(Refused, match=words):
        take(found[0])
    assert take(found[1]).files == ("A2S1.py",)


def test_take_in_refuses_canvas_files_that_are_links_or_gone(tmp_path: Path, take: Callable[[Entry], Intake]) -> None:
    folder = spread(tmp_path / "canvas", {"a_123_456_A2S1.py": CODE, "b.py": CODE})
    (folder / "c_124_457_A2S1.py").symlink_to("b.py")
    b, a, c = read_roster([folder])
    (folder / "a_123_456_A2S1.py").unlink()
    assert ids([b, a, c]) == ["b", "a_123", "c_124"]
    for entry, words in ((a, "is not there any more; hand it in again"), (c, "is a symbolic link")):
        with pytest.raises(Refused, match=words):
            take(entry)


@pytest.mark.parametrize(
    "files", [{"doe_123_456_A2S1.py": CODE, "README.md": b""}, {"doe_123_456_A2S1.py": CODE, "src/x.py": b""}]
)
def test_read_roster_takes_a_zip_with_other_files_as_one_submission(tmp_path: Path, files: Files) -> None:
    (tmp_path / "alice.zip").write_bytes(zipped(files))
    assert ids(read_roster([tmp_path / "alice.zip"])) == ["alice"]


def test_read_roster_gives_a_class_that_takes_too_long_to_read_a_line(
    handed_over: Callable[[Files], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*_: object, **__: object) -> None:
        while True:
            pass

    path = handed_over({"submission_1/a.py": b"", "submission_metadata.yml": b"submission_1:\n"})
    monkeypatch.setattr(roster, "_plain", endless)
    monkeypatch.setattr(roster, "MAX_SECONDS", 1)
    with pytest.raises(UserError, match=r"'hw2(\.zip)?' took more than 1 s to read; is it what you meant\?"):
        read_roster([path])


def test_read_roster_looks_no_further_into_one_of_several_zips_than_a_submission_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, take: Callable[[Entry], Intake]
) -> None:
    """A directory of 64 MiB is for a class, and a class is the one path given."""
    names = [f"submission_1/{number}.py" for number in range(2_000)]
    files = dict.fromkeys(names, b"") | {"submission_metadata.yml": b"submission_1:\n"}
    paths = [tmp_path / "hw1.zip", tmp_path / "hw2.zip"]
    for path in paths:
        path.write_bytes(zipped(files))
    assert len(read_roster(paths[:1])) == 1 and read_roster(paths[:1])[0].source.folder
    read: list[int] = []
    monkeypatch.setattr(zips, "_record", lambda *_: read.append(1))
    found = read_roster(paths)
    assert not read and [entry.source.folder for entry in found] == ["", ""]
    with pytest.raises(Refused, match="more than 2,000 files and folders; hand in only your own work"):
        take(found[0])


def test_read_roster_follows_no_link_that_takes_a_folders_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, take: Callable[[Entry], Intake]
) -> None:
    spread(tmp_path / "others", {"bob/x.py": b"", "cleo/x.py": b""})
    path = spread(tmp_path / "hw", {"inner/ada/x.py": b"", "inner/dan/x.py": b""})
    entries = read_roster([path])
    assert [entry.student.id for entry in entries] == ["ada", "dan"]
    (path / "inner").rename(tmp_path / "away")
    (path / "inner").symlink_to(tmp_path / "others")
    for entry in entries:
        with pytest.raises(Refused, match="'hw/inner' was changed while it was read"):
            take(entry)
    (path / "inner").unlink()
    (tmp_path / "away").rename(path / "inner")
    plain = roster._level_of_folder

    def swapped(folder: Path, *rest: object) -> object:
        if folder.name == "inner":
            folder.rename(tmp_path / "away")
            folder.symlink_to(tmp_path / "others")
        return plain(folder, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(roster, "_level_of_folder", swapped)
    (entry,) = read_roster([path])
    assert "was changed while it was read" in entry.source.refusal
