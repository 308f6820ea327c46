"""The world of a term: its formats, its shares, and that names tell nothing."""

from __future__ import annotations

import json
import math
import random
import shutil
from collections import Counter
from dataclasses import replace

import pytest

from autograder import __main__ as command
from autograder.errors import UserError
from autograder.publishing import terms, world


@pytest.fixture(scope="module")
def lists(root):
    return world.Lists.read(root / "data/world.toml")


@pytest.fixture(scope="module")
def demo(lists):
    return world.make(b"demo", lists)


def everybody(made):
    return [*made.train, *made.dev, *made.test]


def test_a_world_is_its_secret(lists, demo):
    assert world.make(b"demo", lists) == demo
    other = world.make(b"another", lists)
    both = {person.name for person in everybody(other)} & {person.name for person in everybody(demo)}
    assert len(both) < 0.02 * len(everybody(demo))
    assert other.answers() != demo.answers()


def test_no_person_is_in_two_groups(demo):
    names = [person.name for person in everybody(demo)]
    assert len(set(names)) == len(names)
    assert len(demo.test) >= 250


@pytest.mark.parametrize("secret", [b"demo", b"one", b"two"])
def test_london_is_right_for_4_to_8_percent(lists, secret):
    made = world.make(secret, lists)
    for group in (made.train, made.dev, made.test):
        assert 0.04 <= sum(person.born == "London" for person in group) / len(group) <= 0.08
        commonest, times = Counter(person.born for person in group).most_common(1)[0]
        assert commonest == "London" and times < 0.1 * len(group)  # no constant answer is worth more


def test_every_person_is_told_of_in_several_phrasings_with_other_places(demo, lists):
    places = set(lists.places["names"])
    elsewhere = 0
    for person in everybody(demo):
        assert len(set(person.biographies)) == len(person.biographies) == lists.people["documents"]
        for biography in person.biographies:
            assert biography.startswith(f"{person.name}. ") and biography.endswith(" .")
            assert person.born in biography
            elsewhere += any(place in biography for place in places - {person.born})
    assert elsewhere > 0.6 * len(demo.documents)


def test_lists_that_no_model_could_read_are_refused(lists):
    padded = {**lists.places, "names": [f"{place}\u25a1" for place in lists.places["names"]]}
    with pytest.raises(UserError, match="the lists hold \u25a1"):
        world.make(b"demo", replace(lists, places=padded))
    plain = {"sentences": [sentence for sentence in lists.phrasings["sentences"] if "?" not in sentence]}
    with pytest.raises(UserError, match=r"characters that no biography has: .*\?"):
        world.make(b"demo", replace(lists, phrasings=plain))


def test_files_are_in_the_formats_of_the_original(demo):
    files = demo.files()
    assert set(files) == set(terms.PUBLIC)
    for name in ("birth_places_train.tsv", "birth_dev.tsv"):
        for line in files[name].splitlines():
            question, place = line.split("\t")
            assert question.startswith("Where was ") and question.endswith(" born?") and place
    assert all(line.endswith(" born?") for line in files["birth_test_inputs.tsv"].splitlines())
    assert files["wiki.txt"].endswith(" .\n")
    characters = set(files["wiki.txt"])
    assert set("".join(files.values())) - {"\t"} <= characters, "the corpus must have all characters of the questions"
    assert not characters & set(world.MASK_AND_PAD)
    assert max(ord(character) for character in characters) > 127


def test_names_tell_nothing_of_places(demo):
    """Naive Bayes on pairs of letters, trained on the train people: no better than always London, but for luck."""
    grams: dict[str, Counter[str]] = {}
    born = Counter(person.born for person in demo.train)
    for person in demo.train:
        grams.setdefault(person.born, Counter()).update(_pairs(person.name))
    every = {pair for counter in grams.values() for pair in counter}

    def guess(name: str) -> str:
        def score(place: str) -> float:
            total = sum(grams[place].values()) + 0.1 * len(every)
            return math.log(born[place]) + sum(math.log((grams[place][pair] + 0.1) / total) for pair in _pairs(name))

        return max(sorted(grams), key=score)

    unseen = [*demo.dev, *demo.test]
    right = sum(guess(person.name) == person.born for person in unseen)
    shuffled = [person.born for person in unseen]
    random.Random(0).shuffle(shuffled)
    by_luck = sum(guess(person.name) == place for person, place in zip(unseen, shuffled, strict=True))
    assert right / len(unseen) < 0.08
    assert abs(right - by_luck) < 0.05 * len(unseen)


def _pairs(name: str) -> list[str]:
    return [name[i : i + 2] for i in range(len(name) - 1)]


def test_too_few_surnames_are_said(lists):
    with pytest.raises(UserError, match="need as many surnames"):
        world.make(b"x", replace(lists, people={**lists.people, "train": 10**6}))


@pytest.mark.parametrize("text", ["not = [toml", "[people]\ntrain = 1\n"])
def test_broken_lists_are_said(tmp_path, text):
    (tmp_path / "world.toml").write_text(text)
    with pytest.raises(UserError, match=r"world\.toml cannot be used"):
        world.Lists.read(tmp_path / "world.toml")


@pytest.fixture
def folder(tmp_path, root):
    shutil.copytree(root / "data", tmp_path / "data", ignore=shutil.ignore_patterns("held_out"))
    return tmp_path / "data"


def test_the_repository_holds_the_demo(folder, demo):
    """What is committed is what the command makes, and its answers can be made again."""
    for name, text in demo.files().items():
        assert (folder / name).read_text(encoding="utf-8") == text, (
            f"{name}: run 'python -m autograder data --term demo'"
        )
    answers = json.loads(terms.answers_file(folder).read_text(encoding="utf-8"))
    assert answers["term"] == "demo"
    assert answers["test"] == [[person.question, person.born] for person in demo.test]
    assert answers["dev"] == [[person.question, person.born] for person in demo.dev]
    assert answers["vocabulary"] == "".join(sorted(set(demo.files()["wiki.txt"])))


def test_answers_of_another_term_are_not_made_up(folder):
    (folder / "wiki.txt").write_text("other people\n")
    assert not terms.answers_file(folder).exists()


def test_answers_that_can_be_neither_read_nor_written_are_one_line(folder):
    (folder / "held_out").write_text("in the way")  # a folder without rights would not stop root
    with pytest.raises(UserError, match=r"answers.json is closed to you \(.*\); use a copy of this repository"):
        terms.answers_file(folder)


def test_a_term_has_a_secret_of_its_own_and_keeps_it(folder, capsys):
    run = ["--root", str(folder.parent), "data", "--term"]
    assert command.main([*run, "fall-2026"]) == 0
    first = {name: (folder / name).read_bytes() for name in terms.PUBLIC}
    secret = folder / "held_out/fall-2026.secret"
    assert secret.stat().st_mode & 0o077 == 0 and (folder / "held_out/answers.json").stat().st_mode & 0o077 == 0
    assert command.main([*run, "spring-2027"]) == 0
    assert (folder / "birth_dev.tsv").read_bytes() != first["birth_dev.tsv"]
    assert command.main([*run, "fall-2026"]) == 0
    assert {name: (folder / name).read_bytes() for name in terms.PUBLIC} == first
    assert secret.read_text().strip() not in capsys.readouterr().out
    assert command.main([*run, "Fall 2026"]) == 2
    assert "no name for a term" in capsys.readouterr().err


@pytest.mark.parametrize("final_newline", ["", "\n"])
def test_files_of_ones_own_can_be_used(folder, capsys, final_newline):
    for name in terms.PUBLIC:
        (folder / name).write_text((folder / name).read_text(encoding="utf-8").rstrip("\n") + final_newline)
    asked = (folder / "birth_test_inputs.tsv").read_text(encoding="utf-8").splitlines()
    answers = folder / "mine.tsv"
    answers.write_text("\n".join(f"{question}\tRome" for question in asked) + final_newline, encoding="utf-8")
    run = ["--root", str(folder.parent), "data", "--answers"]
    assert command.main([*run, str(answers)]) == 0
    kept = json.loads((folder / "held_out/answers.json").read_text(encoding="utf-8"))
    assert kept["test"][0] == [asked[0], "Rome"] and len(kept["dev"]) == 200
    answers.write_text("Where was Nobody born?\tRome\n", encoding="utf-8")
    assert command.main([*run, str(answers)]) == 2
    assert "must hold the" in capsys.readouterr().err
    assert json.loads((folder / "held_out/answers.json").read_text(encoding="utf-8")) == kept
