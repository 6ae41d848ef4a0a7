"""A study's claims judged: each reading decided, the verdicts counted by what the claims rest on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gauntlet.errors import UserError
from gauntlet.metrics.numbers import counted, listed
from gauntlet.studies import ledger
from gauntlet.studies.decide import Context, Decision, Verdict, decided
from gauntlet.studies.ledger import Claim, Kind
from gauntlet.studies.model import Study
from gauntlet.studies.registration import Registration
from gauntlet.studies.rules.base import Ruled
from gauntlet.studies.summary import Summary

VERDICTS_FORMAT = {"format": "gauntlet-study-verdicts", "version": 2}

MEASURED = "measured"
KIND_WORDS: Mapping[Kind, str] = {
    Kind.MEASURED: MEASURED,
    Kind.CALIBRATED: "calibrated",
    Kind.FORMULA: "by formula",
    Kind.UNAVOIDABLE: "unavoidable",
}
"""Each kind for people."""

NOT_REGISTERED = "not registered"
"""Of a measured claim that is not decided as it was registered."""

NOT_PLAYED = "not played"
"""Of a claim that is undecided since the results lack what it is decided from."""


@dataclass(frozen=True)
class Judged:
    """A claim and what the results say of it."""

    claim: Claim
    decision: Decision
    """Of the claim as a whole; its numbers are those of the first reading."""
    readings: tuple[tuple[str, Decision], ...] = ()
    """Where the sentence can be read in several ways: each way and what the results say of it."""
    departure: str = ""
    """Why it is not decided as it was registered, in one clause; empty when it is, or nothing is."""
    lacking: bool = False
    """Whether it needs an experiment or bench that the results do not have."""

    @property
    def group(self) -> str:
        """What it rests on, for people: one of `KIND_WORDS`, `NOT_REGISTERED` or `NOT_PLAYED`."""
        if self.lacking and self.decision.verdict == Verdict.UNDECIDED:
            return NOT_PLAYED
        departed = self.departure and self.claim.kind is Kind.MEASURED
        return NOT_REGISTERED if departed else KIND_WORDS[self.claim.kind]

    def to_json(self) -> dict[str, Any]:
        """Plain data, as verdicts.json holds it."""
        readings = [{"words": words, **decision.to_json()} for words, decision in self.readings]
        return {
            "kind": str(self.claim.kind),
            "not_registered": self.departure,
            **self.decision.to_json(),
            "readings": readings,
        }


def judge(study: Study, summary: Summary, claims: Sequence[Claim] | None = None) -> list[Judged]:
    """Decide every claim of the study's ledger. Raises UserError for what is wrong in the ledger."""
    context = Context(study, summary)
    registered, manifest = Registration.of(study), summary.manifest() | summary.bench_manifest()
    found = []
    for claim in claims or ledger.load(study.ledger):
        departure = registered.departure(study, claim, manifest) if registered else ""
        lacking = any(name not in manifest for name in claim.experiments(study))
        found.append(replace(_judged(claim, context), departure=departure, lacking=lacking))
    return found


def _judged(claim: Claim, context: Context) -> Judged:
    context = replace(context, adjusted=claim.adjusted)
    first, *others = (_decided(claim, rule, context) for rule in claim.rules)
    if not others:
        return Judged(claim, first)
    words = (claim.threshold, *(reading.words for reading in claim.readings))
    whole = first
    if any(other.verdict != first.verdict for other in others):
        whole = replace(first, verdict=Verdict.UNDECIDED, power=None).because(_differing((first, *others)))
    return Judged(claim, whole, tuple(zip(words, (first, *others), strict=True)))


def _differing(readings: Sequence[Decision]) -> str:
    """What is said of readings that differ: which difference each could have shown, and what would decide."""
    verdicts = listed([str(it.verdict) for it in readings])
    seen = listed(list(dict.fromkeys(it.seen for it in readings if it.seen)))
    undecided = [it for it in readings if it.verdict == Verdict.UNDECIDED]
    whole = {it.verdict for it in readings} - {Verdict.UNDECIDED}
    powers = [it.power for it in undecided if it.power is not None]
    last = max(powers, key=lambda it: it.times, default=None)
    if len(whole) > 1:
        decides = "no more runs would decide, only what the sentence means"
    elif last is None:
        decides = undecided[0].reason
    elif all(it.holds == (Verdict.REPRODUCED in whole) for it in powers):
        decides = last.would_decide
    else:
        decides = f"{last.would_decide} the open one, and then only what the sentence means"
    return "; ".join(
        it
        for it in (
            f"it depends on how the sentence is read: {verdicts}",
            f"from the bounds {seen} could have been seen" if seen else "",
            decides,
        )
        if it
    )


def _decided(claim: Claim, rule: Ruled, context: Context) -> Decision:
    try:
        return decided(rule, context)
    except UserError as error:
        raise UserError(f"{context.study.ledger}: claim '{claim.id}': {error}") from None


def want_plugin(study: Study, judged: Sequence[Judged]) -> list[str]:
    """Ids of the claims that are undecided because the study's plugin.py was not run: their expressions call
    its functions, or they rest on measures of it that the results lack.
    """
    if not study.plugin.withheld:
        return []
    return [
        it.claim.id
        for it in judged
        if it.decision.verdict == Verdict.UNDECIDED
        and it.decision.value is None
        and any(rule.own(study) for rule in it.claim.rules)
    ]


def counts(judged: Sequence[Judged]) -> dict[Verdict, int]:
    """How many of the claims have each verdict."""
    return {verdict: sum(it.decision.verdict == verdict for it in judged) for verdict in Verdict}


def grouped(judged: Sequence[Judged]) -> dict[str, list[Judged]]:
    """The claims by what they rest on; only those under `MEASURED` are counted. Empty groups are left out."""
    words = (*KIND_WORDS.values(), NOT_REGISTERED, NOT_PLAYED)
    groups = {group: [it for it in judged if it.group == group] for group in words}
    return {group: found for group, found in groups.items() if found}


def not_played(study: Study, summary: Summary) -> str:
    """Which experiments and benches the results lack, in a sentence for people; empty when none."""
    missing = [name for name in study.parts if name not in summary.measured]
    return (
        f"Not among these results: {listed(missing)}. Claims that need them are undecided and not counted."
        if missing
        else ""
    )


def measured(judged: Sequence[Judged]) -> list[Judged]:
    """The claims that are counted."""
    return grouped(judged).get(MEASURED, [])


def beside(judged: Sequence[Judged]) -> str:
    """The claims that are not counted, for people: "12 calibrated (11 hold) and 3 not played"; empty when all
    are.
    """

    def hold(found: Sequence[Judged]) -> str:
        return f" ({counted(counts(found)[Verdict.REPRODUCED], 'holds', 'hold')})"

    others = [
        f"{len(found)} {group}{'' if group == NOT_PLAYED else hold(found)}"
        for group, found in grouped(judged).items()
        if group != MEASURED
    ]
    return listed(others) if others else ""


def verdicts(study: Study, judged: Sequence[Judged]) -> dict[str, Any]:
    """The content of verdicts.json."""
    registered = Registration.of(study)
    return {
        **VERDICTS_FORMAT,
        "study": study.key,
        "registration_sha256": registered.sha256 if registered else None,
        "claims": {it.claim.id: it.to_json() for it in judged},
    }
