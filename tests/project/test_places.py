"""Where checks stand, and with which references the claims of a file are checked."""

from __future__ import annotations

import pytest

from autograder.checking.engine import collect
from autograder.checking.places import beside, parts_of, side_of, sides
from autograder.judging import references

CLAIM = "from autograder.checking.claims import core, note\n\n\n"
CORE = '@core\ndef test_{slug}_works(reference):\n    """it works"""\n\n\n'
NOTE = '@note\ndef test_{slug}_told(reference):\n    """it is told"""\n'


@pytest.fixture
def folders(tmp_path):
    """Two exercises with references on both sides; one of them has hidden claims of its own, too."""
    found = {side: tmp_path / side for side in ("public", "hidden")}
    for side, folder in found.items():
        for slug in ("split_heads", "merge_heads"):
            path = folder / "attention/references" / f"{slug}.safetensors"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(references.encode(references.Reference(slug, side, (), {})))
    for slug in ("split_heads", "merge_heads"):
        text = CLAIM + (CORE + NOTE).format(slug=slug)
        (found["public"] / f"attention/test_{slug}.py").write_text(text)
    hidden = CLAIM + CORE.format(slug="merge_heads").replace("_works", "_hides")
    (found["hidden"] / "attention/test_merge_heads.py").write_text(hidden)
    return found


def test_a_public_file_is_checked_on_each_side_that_has_references(folders):
    path = folders["public"] / "attention/test_split_heads.py"
    assert side_of(path, folders) == "public" and sides(path, folders) == ["public", "hidden"]
    assert beside(path, "hidden", folders) == folders["hidden"] / "attention"
    (folders["hidden"] / "attention/references/split_heads.safetensors").unlink()
    assert sides(path, folders) == ["public"]
    assert sides(path, {"public": folders["public"]}) == ["public"]


def test_hidden_claims_stand_in_for_public_ones_and_notes_are_told_once(folders):
    found = {}

    def job(examiner):
        found.update({key: [(c.name, c.reference.part) for c in checks] for key, checks in examiner._checks.items()})

    collect(list(folders.values()), job)
    assert found == {
        ("split_heads", "public"): [("works", "public"), ("told", "public")],
        ("split_heads", "hidden"): [("works", "hidden")],
        ("merge_heads", "public"): [("works", "public"), ("told", "public")],
        ("merge_heads", "hidden"): [("hides", "hidden")],
    }


def test_every_exercise_belongs_to_the_part_whose_folder_it_is_in(root, course):
    parts = parts_of(root / "tests/public")
    assert set(parts.values()) == {"queries", "attention", "pretraining"}
    assert set(parts) == {item.slug for item in course.graded}
    assert parts_of(root / "tests/hidden").keys() == {slug for slug in parts if slug.startswith("predictions_")}
