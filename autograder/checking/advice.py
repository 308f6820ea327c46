"""What to fix first, said once at the top: one mistake in a low step makes ten checks fail."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from autograder.checking.courses import Item
from autograder.checking.engine import Outcome
from autograder.checking.points import Row
from autograder.checking.wording import inert
from autograder.judging.diagnosis import TOGETHER
from autograder.judging.exercises import COMES_AFTER, DEFINES
from autograder.judging.findings import SPOKEN, Finding


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
    items = {row.item.slug: row.item for row in rows}
    wrong = {slug: found for slug in items if (found := _failures(rows, slug))}
    missing = [slug for slug, outcomes in wrong.items() if _kinds(outcomes) == {"missing"}]
    for slug in missing:
        del wrong[slug]
    told: list[Advice] = []
    for reason, slugs in _unloadable(wrong).items():
        first, *others = sorted(slugs, key=lambda slug: items[slug].given)  # given code is not the one to fix
        told.append(Advice(first, reason, tuple(others)))
        for slug in slugs:
            del wrong[slug]
    follows = {slug: _follows_from(slug, wrong) for slug in wrong}
    may_follow = {slug: set() if follows[slug] else _may_follow_from(slug, wrong, follows) for slug in wrong}
    for slug in wrong:
        if not follows[slug] and not may_follow[slug]:
            waiting = tuple(other for other, roots in follows.items() if slug in roots)
            says = _says(items[slug], wrong[slug], wrong)
            if perhaps := [other for other, roots in may_follow.items() if slug in roots]:
                says += f" It may be why {_listed(perhaps)} {'fails' if len(perhaps) == 1 else 'fail'}."
            told.append(Advice(slug, says, waiting))
    if missing:
        more = f"; nor {'is' if len(missing) == 2 else 'are'} {_listed(missing[1:])}" if missing[1:] else ""
        files = f" (looked for in {_listed(items[missing[0]].files)})" if items[missing[0]].files else ""
        told.append(Advice(missing[0], f"not found in your submission{files}{more}."))
    return told


def _failures(rows: Sequence[Row], slug: str) -> list[Outcome]:
    outcomes = [outcome for row in rows if row.item.slug == slug for outcome in row.outcomes]
    failed = [o for o in outcomes if o.verdict == "failed" and o.finding and o.counts != "note"]
    return [] if _kinds(failed) <= {"not started"} else failed


def _kinds(outcomes: Sequence[Outcome]) -> set[str]:
    return {outcome.finding.kind for outcome in outcomes if outcome.finding}


def _listed(names: Sequence[str], most: int = 4) -> str:
    """'a, b and c', or 'a, b, c and 7 more'."""
    shown = [*names[: most - 1], f"{len(names) - most + 1} more"] if len(names) > most else list(names)
    return " and ".join(([", ".join(shown[:-1])] if shown[:-1] else []) + shown[-1:])


def _unloadable(wrong: Mapping[str, Sequence[Outcome]]) -> dict[str, list[str]]:
    """Files that could not be loaded, in words, each with the exercises that wait for it."""
    found: dict[str, list[str]] = {}
    for slug, outcomes in wrong.items():
        findings = [outcome.finding for outcome in outcomes if outcome.finding]
        if {finding.kind for finding in findings} == {"import"} and len({finding.where for finding in findings}) == 1:
            first = next((o.finding for o in outcomes if o.part == "public" and o.finding), None)
            why = f": {_capped(_reason(first))}" if first and first.evidence else ""
            place = findings[0].where.partition(", ")[2] or "the file"
            found.setdefault(f"{place.partition(' line ')[0]} could not be loaded{why} → {place}.", []).append(slug)
    return found


def _reason(finding: Finding) -> str:
    """Why a file could not be loaded: a package that is not there, or what was raised."""
    lacks = re.search(r"(?:imports|uses) `.+`, which is not installed where we grade", finding.headline)
    return f"it {lacks[0]}" if lacks else finding.evidence[0]


def _follows_from(slug: str, wrong: Mapping[str, Sequence[Outcome]]) -> set[str]:
    """The failing exercises that make this one fail: their mistake explains it, or it was raised in their lines."""
    below = {step for step in COMES_AFTER.get(slug, ()) if step in wrong}
    causes = {cause for outcome in wrong[slug] for cause in _causes(outcome)}
    alike = {cause for outcome in wrong[slug] if outcome.finding for cause in outcome.finding.also}
    named = {step for step in below if {c for outcome in wrong[step] for c in _causes(outcome)} & (causes | alike)}
    raised = {outcome.finding.inside for outcome in wrong[slug] if outcome.finding} & wrong.keys()
    return named | {other for other in raised if slug not in {o.finding.inside for o in wrong[other] if o.finding}}


def _may_follow_from(
    slug: str, wrong: Mapping[str, Sequence[Outcome]], follows: Mapping[str, Container[str]]
) -> set[str]:
    """The failing exercises below this one that may be the reason, if it has no mistake of its own that is known."""
    if any(cause.startswith(f"{slug}.") for outcome in wrong[slug] for cause in _causes(outcome)):
        return set()
    return {step for step in COMES_AFTER.get(slug, ()) if step in wrong and not follows[step]}


def _causes(outcome: Outcome) -> list[str]:
    cause = outcome.finding.cause if outcome.finding and outcome.says else ""
    return cause.split(TOGETHER) if cause else []


def _says(item: Item, outcomes: Sequence[Outcome], wrong: Container[str]) -> str:
    """What is wrong, and where: the named mistake; else what a public check saw; else what a hidden one claims."""
    file = next((outcome.file for outcome in outcomes if outcome.file), "") or next(iter(item.files), "")
    there = f" → {inert(file)}" if file else ""
    if named := next((outcome.says for outcome in outcomes if outcome.says), ""):
        return f"{named.removesuffix('.')}{there}."
    seen = [outcome.finding for outcome in outcomes if outcome.part == "public" and outcome.finding]
    if seen:
        first = next((finding for finding in seen if finding.kind != "waiting"), seen[0])
        return f"{_seen(first, item.slug, wrong, there)}."
    finding = outcomes[0].finding
    assert finding is not None
    if finding.open:
        return f"{_headline(finding, item.slug)}{there}."
    public = "the public checks pass; " if item.public else ""
    return f"{public}a hidden check of '{outcomes[0].claim}' fails: {SPOKEN[finding.kind]}{there}."


def _seen(finding: Finding, slug: str, wrong: Container[str], there: str) -> str:
    """What a public check saw: the headline, its most telling fact, and the place."""
    facts = [fact for fact in finding.evidence if fact and not fact.startswith("Right for: ")]
    headline = _headline(finding, slug)
    if finding.kind == "exception":
        if finding.inside and finding.inside not in wrong:
            headline += ", whose own checks pass: look at what it is called with"
        kind = re.search(r"\braised (\w+)", finding.headline)
        text = next((fact.partition(": ")[2] for fact in facts if kind and fact.startswith(f"{kind[1]}: ")), "")
        place = finding.where.partition(", ")[2]
        return headline + (f": {_capped(text)}" if text else "") + (f" → {place}" if place else there)
    if len(facts) > 1 and finding.kind in ("values", "shape", "non-finite", "property"):
        facts = (
            facts[2:] if len(facts) > 2 and finding.kind == "values" else facts[1:]
        )  # the first says how it was called
    return "; ".join([headline, *(_capped(fact).rstrip(".") for fact in facts[:1])]) + there


def _headline(finding: Finding, slug: str) -> str:
    name, _, rest = finding.headline.partition(": ")
    return _capped(rest if rest and name in (slug, DEFINES.get(slug)) else finding.headline)


def _capped(text: str, most: int = 160) -> str:
    text = inert(text)
    return text if len(text) <= most else text[: most - 1] + "…"
