"""A study's claims in TOML, strictly checked: what is claimed where, and how it is decided.

docs/formats/ledger.md is the reference for who writes one.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from gauntlet.errors import UserError
from gauntlet.experiment.strict import Strict, sentence
from gauntlet.experiment.tomlfile import checked, toml, words
from gauntlet.studies.rules import rule
from gauntlet.studies.rules.base import Ruled


class _Claim(Strict):
    """One [[claim]] but its rule."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    where: str = Field(min_length=1)
    claim: str = Field(min_length=1)
    threshold: str = Field(min_length=1)
    printed: str = ""
    note: str = ""
    figures: list[str] = Field(default_factory=list)
    decide: dict[str, Any]

    @field_validator("claim", "threshold", "note")
    @classmethod
    def _sentences(cls, text: str) -> str:
        return " ".join(text.split())


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

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments that it is decided from."""
        return tuple(dict.fromkeys(name for name, _ in self.rule.selections()))


def load(path: Path) -> tuple[Claim, ...]:
    """Read a ledger. Raises UserError with the file, the claim and what would be right."""
    raw = toml(path, "ledger")
    for key in raw:
        if key != "claim":
            raise UserError(f"{path}: unknown key '{key}'; a ledger has [[claim]] tables and nothing else.")
    given = raw.get("claim")
    if not isinstance(given, list) or not given:
        raise UserError(f"{path}: there is no claim; add [[claim]] tables.")
    claims = tuple(_claim(path, place, entry) for place, entry in enumerate(given, 1))
    seen: set[str] = set()
    for claim in claims:
        if claim.id in seen:
            raise UserError(f"{path}: the id '{claim.id}' stands twice; ids are unique.")
        seen.add(claim.id)
    return claims


def _claim(path: Path, place: int, given: dict[str, Any]) -> Claim:
    name = f"claim '{given['id']}'" if isinstance(given.get("id"), str) else f"claim number {place}"
    read = checked(_Claim, given, f"{path}: {name}")
    try:
        how = rule(read.decide)
    except ValidationError as error:
        raise UserError(f"{path}: {name}, decide: {sentence(error, words)}") from None
    except ValueError as error:
        raise UserError(f"{path}: {name}, decide: {str(error).rstrip('.')}.") from None
    return Claim(
        id=read.id,
        where=read.where,
        claim=read.claim,
        threshold=read.threshold,
        printed=read.printed,
        note=read.note,
        figures=tuple(read.figures),
        rule=how,
    )
