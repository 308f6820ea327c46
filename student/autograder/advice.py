"""One mistake in a low step makes ten checks fail. Say once, at the top, what to fix first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.diagnose import TOGETHER
from autograder.engine import Outcome
from autograder.findings import SPOKEN
from autograder.report import inert
from autograder.results import Row

STEPS = (
    *("pairwise_similarities", "attn_scaled", "attn_softmax", "compute_outputs"),
    *("make_causal_mask", "apply_causal_mask", "split_heads", "merge_heads"),
)
# What an exercise is usually built on. It may be built otherwise, so this orders advice and nothing else.
BUILT_ON: Mapping[str, tuple[str, ...]] = {
    "key141": ("query132",),
    "key142": ("query132",),
    "apply_causal_mask": ("make_causal_mask",),
    "split_heads_qkv": ("split_heads",),
    "self_attention": STEPS,
    "causal_self_attention": (*STEPS, "precompute_rotary_emb", "apply_rotary_emb"),
    "name_dataset": ("char_vocabulary",),
    "span_corruption": ("char_vocabulary",),
}


@dataclass(frozen=True)
class Advice:
    """Something to fix, and the exercises that fail with it."""

    exercise: str
    says: str
    waiting: tuple[str, ...] = ()

    def text(self) -> str:
        if not self.waiting:
            return f"{self.exercise}: {self.says}"
        verb = "fails" if len(self.waiting) == 1 else "fail"
        return f"{self.exercise}: {self.says} ({_listed(self.waiting)} {verb} with it.)"


def advice(rows: Sequence[Row]) -> list[Advice]:
    """What to fix, the roots first; nothing for exercises that are right or not started."""
    wrong = {slug: found for slug in dict.fromkeys(row.item.slug for row in rows) if (found := _failures(rows, slug))}
    missing = [slug for slug, outcomes in wrong.items() if _kinds(outcomes) == {"missing"}]
    for slug in missing:
        del wrong[slug]
    told: list[Advice] = []
    for reason, slugs in _unloadable(wrong).items():
        first, *others = slugs
        told.append(Advice(first, reason, tuple(others)))
        for slug in slugs:
            del wrong[slug]
    blamed = {slug: _blamed(slug, wrong) for slug in wrong}
    for slug in wrong:
        if not blamed[slug]:
            waiting = tuple(other for other, roots in blamed.items() if slug in roots)
            told.append(Advice(slug, _says(wrong[slug]), waiting))
    if missing:
        more = f"; nor {'is' if len(missing) == 2 else 'are'} {_listed(missing[1:])}" if missing[1:] else ""
        told.append(Advice(missing[0], f"not found in your submission{more}."))
    return told


def _failures(rows: Sequence[Row], slug: str) -> list[Outcome]:
    outcomes = [outcome for row in rows if row.item.slug == slug for outcome in row.outcomes]
    failed = [outcome for outcome in outcomes if outcome.verdict == "failed" and outcome.finding]
    return [] if _kinds(failed) <= {"not started"} else failed


def _kinds(outcomes: Sequence[Outcome]) -> set[str]:
    return {outcome.finding.kind for outcome in outcomes if outcome.finding}


def _listed(names: Sequence[str], most: int = 4) -> str:
    """'a, b and c', or 'a, b, c and 7 more'."""
    shown = [*names[: most - 1], f"{len(names) - most + 1} more"] if len(names) > most else list(names)
    return " and ".join(([", ".join(shown[:-1])] if shown[:-1] else []) + shown[-1:])


def _unloadable(wrong: Mapping[str, Sequence[Outcome]]) -> dict[str, list[str]]:
    """Files that could not be loaded, each with the exercises that wait for it."""
    found: dict[str, list[str]] = {}
    for slug, outcomes in wrong.items():
        reasons = {
            outcome.finding.where for outcome in outcomes if outcome.finding and outcome.finding.kind == "import"
        }
        if len(reasons) == 1 and all(outcome.finding and outcome.finding.kind == "import" for outcome in outcomes):
            found.setdefault(f"the file could not be loaded ({reasons.pop()}).", []).append(slug)
    return found


def _blamed(slug: str, wrong: Mapping[str, Sequence[Outcome]]) -> set[str]:
    """The failing exercises from which this one's failure follows, or may follow."""
    below = {step for step in BUILT_ON.get(slug, ()) if step in wrong}
    known = {step: {cause for outcome in wrong[step] for cause in _causes(outcome)} for step in below}
    causes = {cause for outcome in wrong[slug] for cause in _causes(outcome)}
    alike = {cause for outcome in wrong[slug] if outcome.finding for cause in outcome.finding.also}
    named = {step for step in below if known[step] & (causes | alike)}
    if named:
        return named
    return set() if any(cause.startswith(f"{slug}.") for cause in causes) else below


def _causes(outcome: Outcome) -> list[str]:
    cause = outcome.finding.cause if outcome.finding and outcome.says else ""
    return cause.split(TOGETHER) if cause else []


def _says(outcomes: Sequence[Outcome]) -> str:
    """The named mistake; without one, what is wrong, in the words that hidden checks may use, too."""
    for outcome in outcomes:
        if outcome.says:
            return outcome.says
    finding = outcomes[0].finding
    assert finding is not None
    said = finding.headline.removeprefix(f"{outcomes[0].exercise}: ") if finding.open else SPOKEN[finding.kind]
    return f"{inert(said)}."
