"""The attack suite holds in every situation that this machine can be put into."""

from __future__ import annotations

import re
import sys
from functools import partial

import pytest

from autograder.errors import UserError
from autograder.proving.attacks import Attack, hold, read_attacks
from autograder.proving.situations import situations

ANYTHING = {"": "points|checks"}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="isolation needs Linux")


# Processes of one user are counted together: who tries to have too many of them is not to meet another who does.
as_ordinary_user = pytest.mark.xdist_group("ordinary_user")
SITUATIONS = [
    pytest.param(one, id=one.name.replace(" ", "_"), marks=as_ordinary_user if one.ordinary else ())
    for one in situations()
]


@pytest.fixture(scope="module")
def attacks(root):
    return read_attacks(root / "tests/project/attacks")


@pytest.mark.slow
@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_attack_gains_nothing(root, sources, course, attacks, trained, situation):
    folders = (root / "tests/public", root / "tests/hidden")
    # More at once than there are cores: many only wait for their end.
    lines = situation.run(partial(hold, attacks, trained, sources, course, folders, 3, lambda _: None))
    assert len(lines) > len(attacks)
    assert [f"{line.what}: {line.found}" for line in lines if not line.held] == []


@pytest.mark.slow
def test_every_row_of_the_threats_that_code_can_try_is_tried(attacks):
    """31 to 34, 36, 59 and 60 are archives and folders (test_intake, test_class_run), 41, 42 and 62 are reports, 58 is
    a machine (test_isolation)."""
    tried = {row for attack in attacks for row in attack.threats}
    assert set(range(1, 31)) | {35, *range(37, 41), *range(43, 48), *range(49, 58), 61} <= tried


def test_attacks_name_modules_that_are_there(root):
    """One that looks for a module under its former name gains nothing, and shows nothing."""
    folder = root / "tests/project/attacks"
    written = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py")))
    modules = {match[1] for match in re.finditer(r"\b(autograder(?:\.[a-z][a-z_]*)+)", written)}
    modules |= {
        f"{match[1]}.{name}"
        for match in re.finditer(r"from (autograder[\w.]*) import ([a-z_, ]+)$", written, re.M)
        for name in match[2].split(", ")
    }
    assert len(modules) > 15
    for name in sorted(modules):
        parts = name.split(".")
        known = [parts[:length] for length in range(len(parts), 1, -1)]
        assert (
            any((root / "/".join(some)).with_suffix(".py").is_file() for some in known)
            or (root / name.replace(".", "/") / "__init__.py").is_file()
        ), name


@pytest.mark.slow
@as_ordinary_user
def test_the_harness_sees_an_attack_that_succeeds(root, sources, course, trained):
    """A solution is the most successful attack there is: what it earns must be seen, and so must a trace."""
    folders = (root / "tests/public", root / "tests/hidden")
    honest = sources.texts["src/attention.py"].split("import annotations", 1)[1]
    answer = '{"cells": [{"cell_type": "code", "source": "query131 = [0.0, 0.0, 0.0]"}]}'
    tried = [
        Attack("solved", (1,), "does it right", honest, ANYTHING),
        Attack("answered", (1,), "in a notebook", "", ANYTHING, {"A2S1.ipynb": answer}),
        Attack("learnt", (39,), "has a model", "", ANYTHING, trained.files, frozenset({"predictions_rope (public)"})),
    ]
    lines = situations()[-1].run(partial(hold, tried, trained, sources, course, folders, 2, lambda _: None))
    assert not lines[0].held and "earned" in lines[0].found
    assert not lines[1].held and "earned 3 points: query131 (public)" in lines[1].found
    assert not lines[2].held and "earned 18 points: london_baseline (public)" in lines[2].found


@pytest.mark.slow
@as_ordinary_user
def test_an_attack_that_does_not_get_as_far_as_it_meant_to_is_caught(root, sources, course, trained):
    """Of its own mistake, or because it says as its success what any submission says."""
    folders = (root / "tests/public", root / "tests/hidden")
    raises = '\n\ndef attn_scaled(A, n_embd, n_heads):\n    raise RuntimeError("REACHED")\n'
    far = {"": "REACHED"}
    tried = [
        Attack("arrives", (1,), "", raises, far),
        Attack("fails", (1,), "", f"import no_such_module{raises}", far),
        Attack("is_elsewhere", (1,), "", raises, {situations()[-1].name: "NOT REACHED", "": "REACHED"}),
        Attack("says_nothing", (1,), "", raises, {"": "not started"}),
        Attack("fails_and_says_so", (1,), "", "import no_such_module", {"": "no_such_module"}),
    ]
    lines = situations()[-1].run(partial(hold, tried, trained, sources, course, folders, 2, lambda _: None))
    assert lines[0].held
    # Public checks say in other words what hidden ones call by its type.
    assert [line.found for line in lines[1:3]] == [
        "hidden checks tell what no public one has told: ModuleNotFoundError; "
        "did not get as far as it meant to: no 'REACHED' in its result",
        "did not get as far as it meant to: no 'NOT REACHED' in its result",
    ]
    assert ["tries nothing" in line.found and not line.held for line in lines[3:5]] == [True, True]


def test_attacks_must_say_what_they_try(tmp_path):
    with pytest.raises(UserError, match="holds no attacks"):
        read_attacks(tmp_path)
    (tmp_path / "a.py").write_text('"""Evil."""\n')
    with pytest.raises(UserError, match="the docstring must start with 'THREATS"):
        read_attacks(tmp_path)
    (tmp_path / "a.py").write_text('"""THREATS 1: evil"""\n')
    with pytest.raises(UserError, match="must say how far it gets: 'Reached: a regular expression'"):
        read_attacks(tmp_path)
    (tmp_path / "a.py").write_text('"""THREATS 1: evil\n\nReached: (\n"""\n')
    with pytest.raises(UserError, match=r"'\(' is not a regular expression"):
        read_attacks(tmp_path)
    (tmp_path / "a.py").write_text('"""THREATS 1: evil\n\nReached: far\nReached (ordinary user): not far\n"""\n')
    assert read_attacks(tmp_path)[0].reached == {"": "far", "ordinary user": "not far"}
