"""unnoticed: in which share of the trials of a threat nobody noticed what it did to the application."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from gauntlet.evidence.course import BY_TRANSPORT
from gauntlet.evidence.verdict import DISTURBED, INVALID, NOT_NOTICED, SIGNALLED, UNDISTURBED
from gauntlet.metrics.numbers import listed
from gauntlet.studies.decide import Context, Decision
from gauntlet.studies.rules.counted import Counting

KIND = "unnoticed"
OF_ANOTHER = "of another trial (alike to the nanosecond, so it says nothing more)"
"""What a copy is, for people."""


class Rule(Counting):
    """The share of trials under one selection, within bounds (0 to 1)."""

    harms: list[Literal["changed", "repeated", "out of order", "late", "missing"]] = Field(
        default_factory=list
    )
    """Only trials in which the application suffered one of these count as unnoticed; none: any. What it was
    told of by its own checks counts all the same where `noticed_by` is the transport: what it refused it did
    not suffer.
    """
    noticed_by: Literal["anybody", "transport"] = "anybody"
    """transport: trials count as noticed only where the transport told, and before the application acted on
    what it should not have: what the application found by checks of its own was let through to it."""

    def decide(self, context: Context) -> Decision:
        """See `gauntlet.studies.rules.counted`."""
        rows = self.rows(context)
        invalid = sum(row["trials"] for row in rows if row["verdict"] == INVALID)
        said = [row for row in rows if row["verdict"] not in (INVALID, DISTURBED, UNDISTURBED)]
        count = sum(row["distinct"] for row in said)
        unnoticed = sum(row["distinct"] for row in said if self._went_unnoticed(row))
        copies = sum(row["trials"] for row in said) - count
        left_out = {"invalid": invalid, f"{'copy' if copies == 1 else 'copies'} {OF_ANOTHER}": copies}
        what = f"Trials that {self._nobody} noticed"
        return self.share(context, (unnoticed, count), "trial", what, left_out)

    def under(self, context: Context) -> list[str]:
        """See `Counting.under`."""
        harms = [f"of harms only {listed(list(self.harms))}"] if self.harms else []
        return super().under(context) + harms

    def _went_unnoticed(self, row: Mapping[str, Any]) -> bool:
        if row["verdict"] == SIGNALLED:
            let_through = row["by"] != BY_TRANSPORT or row["accepted_before"]
            return self.noticed_by == BY_TRANSPORT and let_through
        suffered = not self.harms or bool(set(self.harms) & set(row["harms"].split(", ")))
        return row["verdict"] in NOT_NOTICED and suffered

    @property
    def _nobody(self) -> str:
        return "nobody" if self.noticed_by == "anybody" else "the transport has not"
