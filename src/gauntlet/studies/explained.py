"""Claims that are not reproduced, grouped by the cause that they share (causes.toml)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet.errors import UserError
from gauntlet.studies.causes import CAUSES, Cause
from gauntlet.studies.decide import Verdict
from gauntlet.studies.judging import MEASURED, Judged
from gauntlet.studies.ledger import Claim

UNKNOWN = "No cause is named"
"""Heading of the claims that are not reproduced and name no cause."""


@dataclass(frozen=True)
class Explained:
    """A cause and the claims that are not reproduced because of it."""

    cause: Cause | None
    """None: nobody has said why."""
    claims: tuple[Judged, ...]

    @property
    def name(self) -> str:
        """Its heading."""
        return self.cause.name if self.cause else UNKNOWN

    @property
    def words(self) -> str:
        """What it is; empty where no cause is named."""
        return self.cause.words if self.cause else ""

    @property
    def counted(self) -> int:
        """How many of the claims are counted."""
        return sum(it.group == MEASURED for it in self.claims)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "id": self.cause.id if self.cause else None,
            "name": self.name,
            "words": self.words,
            "claims": [it.claim.id for it in self.claims],
        }


def check(home: Path, claims: Sequence[Claim], known: Mapping[str, Cause]) -> None:
    """Raise UserError when a claim names a cause that is not there, or no claim names one that is."""
    for claim in claims:
        if claim.cause and claim.cause not in known:
            raise UserError(
                f"claim '{claim.id}': there is no cause '{claim.cause}'; {home / CAUSES} has "
                f"{', '.join(known) or 'none'}."
            )
    if idle := known.keys() - {claim.cause for claim in claims}:
        raise UserError(f"{home / CAUSES}: no claim names the cause '{min(idle)}'; name it or remove it.")


def explained(judged: Sequence[Judged], known: Mapping[str, Cause]) -> list[Explained]:
    """The claims that are not reproduced by their cause: the cause of most claims first, those without one
    last.
    """
    of_cause: dict[str, list[Judged]] = {}
    for it in judged:
        if it.decision.verdict == Verdict.NOT_REPRODUCED:
            of_cause.setdefault(it.claim.cause if it.claim.cause in known else "", []).append(it)
    found = [Explained(known.get(name), tuple(those)) for name, those in of_cause.items()]
    return sorted(found, key=lambda it: (it.cause is None, -len(it.claims)))
