"""Reference files: stored inputs, byte-identical when made again, and every change noticed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from autograder.__main__ import main
from autograder.checking.places import parts_of
from autograder.errors import UserError
from autograder.judging import references
from autograder.judging.exercises import EXERCISES
from autograder.judging.fingerprints import fingerprint
from autograder.judging.references import Case, Reference, close
from autograder.proving import make_references
from autograder.proving.cases import strided
from autograder.proving.knowledge import read_knowledge

KNOWN = read_knowledge(Path(__file__).parents[2] / "solutions/exercises")
TENSORS = [slug for slug in KNOWN if slug in EXERCISES]


@pytest.mark.slow
def test_making_them_again_gives_the_same_bytes(root, sources, table, course):
    few = [mistake for mistake in table.values() if mistake.exercise in ("self_attention", "attn_scaled")]
    homes = parts_of(root / "tests/public")
    one, two = (make_references.make(sources, KNOWN, few, course, homes, lambda _: None) for _ in range(2))
    assert one == two


@pytest.fixture
def few_mistakes(repository):
    """A repository whose table of mistakes is short, with references that are up to date: made in a moment."""
    for path in (repository / "solutions/exercises").glob("[!q]*/*.py"):  # all but those of queries
        path.write_text(path.read_text().split("# ── Known mistakes")[0])
    assert main(["--root", str(repository), "references"]) == 0
    return repository


@pytest.mark.parametrize("slug", KNOWN)
def test_hidden_cases_are_many_and_varied(slug):
    cases = KNOWN[slug].of("hidden")
    assert len(cases) >= 8
    tensors = [value for case in cases.values() for value in case.values() if isinstance(value, torch.Tensor)]
    if not tensors or slug == "precompute_rotary_emb":
        return
    assert {t.dtype for t in tensors} >= {torch.float32, torch.float64}
    assert any("one token" in name for name in cases)
    assert any(not t.is_contiguous() for t in tensors)


# Large scores must be the same however they are computed; one token has the weight 1, and position 0 does not turn.
ROUND = {
    *(
        ("attn_softmax", "large", "A"),
        ("compute_outputs", "one token", "A"),
        ("apply_rotary_emb", "one token", "rope_cache"),
    ),
    *(("apply_causal_mask", name, "A") for name in ("scores of a million", "all very negative")),
    *(("self_attention", "large", name) for name in ("Q", "K")),
}


def test_hidden_inputs_are_no_multiples_of_one_64th():
    """Round numbers can be guessed from a few bits, and half precision holds them."""

    def is_round(value: torch.Tensor) -> bool:
        fine = value[value.isfinite()].double() * 64
        return float((fine == fine.round()).double().mean()) > 0.6

    found = {
        (slug, name, argument)
        for slug in KNOWN
        for name, case in KNOWN[slug].of("hidden").items()
        for argument, value in case.items()
        if isinstance(value, torch.Tensor) and value.is_floating_point() and is_round(value)
    }
    assert found == ROUND


@pytest.mark.parametrize("part", ["public", "hidden"])
@pytest.mark.parametrize(
    "slug",
    [slug for slug in TENSORS if slug not in ("make_causal_mask", "precompute_rotary_emb")],
)
def test_no_half_precision_holds_the_inputs(slug, part):
    """Else code that computes in half precision would pass."""

    def is_lost(value: torch.Tensor) -> bool:
        coarse = [value.to(dtype).to(value.dtype) for dtype in (torch.float16, torch.bfloat16)]
        return all(float((rounded != value).double().mean()) > 0.7 for rounded in coarse)

    cases = [[v for v in case.values() if isinstance(v, torch.Tensor)] for case in KNOWN[slug].of(part).values()]
    assert sum(any(is_lost(value) for value in case) for case in cases) >= 3


@pytest.mark.parametrize("slug", ["pairwise_similarities", "split_heads", "merge_heads", "self_attention"])
def test_sizes_within_most_cases_are_pairwise_distinct(slug):
    cases = KNOWN[slug].of("hidden")
    distinct = [c for c in cases.values() if (s := next(iter(c.values())).shape) and len(set(s)) == len(s)]
    assert len(distinct) >= 0.7 * len(cases)


def test_encoding_survives_a_round_trip():
    case = Case(
        "odd",
        {"x": strided(torch.randn(2, 3, 4)), "n": 3, "flag": True},
        torch.tensor([1.0, float("-inf"), float("nan")]),
        {"f.wrong": fingerprint(torch.ones(3))},
        {"f.raises": "ValueError: no"},
        torch.ones(3),
        {"x": torch.zeros(2, 3, 4)},
    )
    reference = Reference("f", "public", (case,), {"f.wrong": "So wrong.", "f.raises": "It raises."})
    content = references.encode(reference)
    again = references.parse(content)
    assert references.differs(reference, again) == ""
    assert not again.cases[0].tensor("x").is_contiguous()
    assert type(again.cases[0].arguments["flag"]) is bool
    assert references.encode(again) == content


def changed(case: Case, **parts: object) -> Reference:
    return Reference("f", "public", (replace(case, **parts),), {})


def test_differs_names_what_differs():
    case = Case(
        "c",
        {"x": torch.ones(3), "n": 2},
        torch.ones(3),
        {"f.m": fingerprint(torch.zeros(3))},
        gradients={"x": torch.ones(3)},
    )
    one = Reference("f", "public", (case,), {})
    rounding = torch.ones(3) + 1e-7
    assert references.differs(one, changed(case, expected=rounding)) == ""
    assert "expected output" in references.differs(one, changed(case, expected=torch.ones(3) + 1e-4))
    assert "input x" in references.differs(one, changed(case, arguments={"x": rounding, "n": 2}))
    assert "input n" in references.differs(one, changed(case, arguments={"x": torch.ones(3), "n": 3}))
    assert "mistake f.m" in references.differs(one, changed(case, lookalikes={"f.m": fingerprint(torch.ones(3))}))
    assert "gradient of x" in references.differs(one, changed(case, gradients={"x": torch.zeros(3)}))
    assert "another set of mistakes" in references.differs(one, changed(case, lookalikes={}))
    assert "another set of outputs" in references.differs(one, changed(case, gradients={}))
    assert "list of cases" in references.differs(one, changed(case, name="d"))
    assert "header" in references.differs(one, replace(one, causes={"f.m": "x"}))


def test_close_is_about_shape_dtype_infinities_and_scale():
    assert close(torch.tensor([1e6, 1.0]), torch.tensor([1e6, 1.5]), 1e-5)
    assert not close(torch.tensor([1.0, 1.0]), torch.tensor([1.0, 1.5]), 1e-5)
    assert not close(torch.ones(3), torch.ones(3, 1), 1e-5)
    assert not close(torch.ones(3), torch.ones(3, dtype=torch.float64), 1e-5)
    assert not close(torch.tensor([torch.inf]), torch.tensor([-torch.inf]), 1e-5)
    assert not close(torch.tensor([torch.nan]), torch.tensor([0.5]), 1e-5)
    assert close(torch.tensor([torch.nan, torch.inf]), torch.tensor([torch.nan, torch.inf]), 1e-5)
    assert not close(torch.zeros(3), torch.full((3,), 1e-9), 1e-5)


@pytest.mark.slow
def test_check_catches_a_changed_reference_and_references_repairs_it(few_mistakes, capsys):
    path = few_mistakes / "tests/hidden/attention/references/attn_scaled.safetensors"
    good = path.read_bytes()
    spoilt = bytearray(good)
    spoilt[-3] ^= 0x40
    path.write_bytes(spoilt)
    arguments = ["--root", str(few_mistakes), "references"]
    assert main([*arguments, "--check"]) == 1
    assert "attn_scaled" in capsys.readouterr().err
    assert path.read_bytes() == bytes(spoilt)
    assert main(arguments) == 0
    assert path.read_bytes() == good


@pytest.mark.slow
def test_check_catches_a_changed_solution(few_mistakes, capsys):
    path = few_mistakes / "solutions/src/attention.py"
    path.write_text(path.read_text().replace("math.sqrt(n_embd / n_heads)", "math.sqrt(n_embd)", 1))
    assert main(["--root", str(few_mistakes), "references", "--check"]) == 1
    assert "expected output differs" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"not a tensor file", b"\x08\0\0\0\0\0\0\0{}      "])
def test_damaged_reference_is_one_line(tmp_path, content):
    path = tmp_path / "f.safetensors"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"f\.safetensors is not a reference file \(.*\); run") as error:
        references.read(path)
    assert "\n" not in str(error.value)


def test_missing_reference_says_what_to_run(tmp_path):
    with pytest.raises(UserError, match="is missing; run 'python -m autograder references'"):
        references.read(tmp_path / "f.safetensors")


def test_reference_of_another_format_is_refused(monkeypatch):
    content = references.encode(Reference("f", "public", (), {}))
    monkeypatch.setattr(references, "FORMAT", references.FORMAT + 1)
    with pytest.raises(ValueError, match=r"format \d, this version reads \d"):
        references.parse(content)
