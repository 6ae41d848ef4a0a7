"""A study's claims in TOML, strictly checked: what is claimed where, and how it is decided.

docs/formats/ledger.md is the reference for who writes one.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from gauntlet.errors import UserError
from gauntlet.experiment.strict import Strict, sentence
from gauntlet.experiment.tomlfile import checked, toml, words
from gauntlet.studies.model import Study
from gauntlet.studies.rules import rule
from gauntlet.studies.rules.base import Ruled

ADJUSTED = "adjusted_for_capacity"
"""The key of a ledger for quantities that are freed of which stretches were drawn."""


class Kind(StrEnum):
    """What a claim's number rests on. Only measured claims count as reproduced."""

    MEASURED = "measured"
    """It comes out of runs, or of data of the line, and nothing was chosen to meet it."""
    CALIBRATED = "calibrated"
    """A parameter was chosen so that this value is met."""
    FORMULA = "formula"
    """A formula or a specification gives it; nothing was played."""
    UNAVOIDABLE = "unavoidable"
    """It cannot come out otherwise, as the protocol or the experiment is made."""


class _Reading(Strict):
    """One [[claim.reading]] but its rule."""

    words: str = Field(min_length=1)
    threshold: str = Field(min_length=1)
    decide: dict[str, Any]

    @field_validator("words", "threshold")
    @classmethod
    def _sentences(cls, text: str) -> str:
        return " ".join(text.split())


class _Claim(Strict):
    """One [[claim]] but its rule."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    where: str = Field(min_length=1)
    claim: str = Field(min_length=1)
    threshold: str = Field(min_length=1)
    printed: str = ""
    note: str = ""
    cause: str = ""
    figures: list[str] = Field(default_factory=list)
    kind: Kind = Field(default=Kind.MEASURED, strict=False)
    basis: str = ""
    decide: dict[str, Any]
    reading: list[_Reading] = Field(default_factory=list)

    @field_validator("claim", "threshold", "note", "basis")
    @classmethod
    def _sentences(cls, text: str) -> str:
        return " ".join(text.split())

    @model_validator(mode="after")
    def _founded(self) -> Self:
        if (self.kind is Kind.MEASURED) == bool(self.basis):
            raise ValueError(
                "basis goes with a kind other than measured: add or remove it"
                if self.basis
                else f"a claim of the kind {self.kind} needs basis: a sentence on what was chosen, which "
                "formula gives it, or why it cannot fail"
            )
        return self


@dataclass(frozen=True)
class Reading:
    """Another way to read a claim's sentence, with a rule of its own."""

    words: str
    """How the sentence is read."""
    threshold: str
    rule: Ruled


@dataclass(frozen=True)
class Claim:
    """One claim of a study, in our own words."""

    id: str
    where: str
    """Section, figure, table or page of the study."""
    claim: str
    threshold: str
    """Why the rule's bound is where it is, as written before the result was known."""
    printed: str
    """The value that the study prints, with its unit; empty when it prints none."""
    note: str
    """Why we think that the result differs; empty when it does not."""
    figures: tuple[str, ...]
    rule: Ruled
    kind: Kind = Kind.MEASURED
    basis: str = ""
    """For a kind other than measured: what was chosen, which formula gives it, or why it cannot fail."""
    readings: tuple[Reading, ...] = ()
    """Other ways to read the sentence; `rule` judges the first."""
    adjusted: tuple[str, ...] = ()
    """Quantities that are freed of which stretches were drawn; the same for all claims of a ledger."""
    cause: str = ""
    """Id in causes.toml of why the result differs, shared with other claims; empty when it does not."""
    canonical: str = ""
    """Kind, rules and `adjusted` as the ledger has them, as sorted JSON: what a registration fixes."""

    @property
    def rules(self) -> tuple[Ruled, ...]:
        """The rules of all readings."""
        return (self.rule, *(reading.rule for reading in self.readings))

    def experiments(self, study: Study) -> tuple[str, ...]:
        """The experiments that it is decided from."""
        return tuple(dict.fromkeys(name for rule in self.rules for name in rule.experiments(study)))


def load(path: Path) -> tuple[Claim, ...]:
    """Read a ledger. Raises UserError with the file, the claim and what would be right."""
    raw = toml(path, "ledger")
    for key in raw:
        if key not in ("claim", ADJUSTED):
            raise UserError(f"{path}: unknown key '{key}'; a ledger has [[claim]] tables and {ADJUSTED}.")
    adjusted = raw.get(ADJUSTED, [])
    if not isinstance(adjusted, list) or not all(isinstance(it, str) for it in adjusted):
        raise UserError(f"{path}: {ADJUSTED} is no list of quantities, such as ['throughput_bps'].")
    given = raw.get("claim")
    if not isinstance(given, list) or not given:
        raise UserError(f"{path}: there is no claim; add [[claim]] tables.")
    claims = tuple(_claim(path, place, entry, adjusted) for place, entry in enumerate(given, 1))
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise UserError(f"{path}: the id '{claim.id}' stands twice; ids are unique.")
        seen.add(claim.id)
    return claims


def _claim(path: Path, place: int, given: dict[str, Any], adjusted: list[str]) -> Claim:
    name = f"claim '{given['id']}'" if isinstance(given.get("id"), str) else f"claim number {place}"
    at = f"{path}: {name}"
    read = checked(_Claim, given, at)
    return Claim(
        id=read.id,
        where=read.where,
        claim=read.claim,
        threshold=read.threshold,
        printed=read.printed,
        note=read.note,
        figures=tuple(read.figures),
        rule=_rule(f"{at}, decide", read.decide),
        kind=read.kind,
        basis=read.basis,
        readings=tuple(
            Reading(it.words, it.threshold, _rule(f"{at}, reading {number}, decide", it.decide))
            for number, it in enumerate(read.reading, 2)
        ),
        adjusted=tuple(adjusted),
        cause=read.cause,
        canonical=json.dumps(
            [
                read.kind,
                read.decide,
                *(it.decide for it in read.reading),
                *filter(None, [adjusted]),
            ],
            sort_keys=True,
        ),
    )


def _rule(at: str, given: dict[str, Any]) -> Ruled:
    try:
        return rule(given)
    except ValidationError as error:
        raise UserError(f"{at}: {sentence(error, words)}") from None
    except ValueError as error:
        raise UserError(f"{at}: {str(error).rstrip('.')}.") from None
