"""ordering: selections in the order that the claim gives, each neighbour beyond chance.

Each selection is compared with the next, paired by repetition. Reproduced when every step's interval lies on
the claimed side of zero (or beyond `by`, a share of the larger one); not reproduced when one step lies wholly
on the other side at a confidence that allows for the number of steps.
"""

import itertools
import math
from typing import Any, Literal, Self

from pydantic import Field

from gauntlet.studies.decide import Context, Decision
from gauntlet.studies.rules import all_of, comparison
from gauntlet.studies.rules.base import Measuring, Selecting
from gauntlet.studies.select import Selection

KIND = "ordering"


class Rule(Measuring):
    """The quantity falls (or rises) from each selection to the next."""

    of: list[Selecting] = Field(min_length=2)
    order: Literal["falling", "rising"]
    by: float = Field(default=0.0, ge=0, lt=1)
    """How much smaller the smaller of two neighbours must be at least, as a share of the larger."""

    def selections(self) -> list[tuple[str, Selection]]:
        """All that stand in order."""
        return [(str(it.get("experiment", self.experiment)), it) for it in self.of]

    def where(self, chosen: dict[str, Any]) -> Self:
        """The same with these factors in every selection."""
        return self.model_copy(update={"of": [{**it, **chosen} for it in self.of]})

    def decide(self, context: Context) -> Decision:
        """See the module."""
        falling = self.of if self.order == "falling" else self.of[::-1]
        shared = self.model_dump(include={"experiment", "kpi", "quantile", "over_flows"})
        # Equal values are in no order, so a ratio of exactly 1 must not pass.
        at_most = math.nextafter(1.0, 0.0) if self.by == 0 else 1.0 - self.by
        steps = [
            {**shared, "this": smaller, "that": larger, "at_most": at_most}
            for larger, smaller in itertools.pairwise(falling)
        ]
        if len(steps) == 1:
            return comparison.Rule.model_validate(steps[0]).decide(context)
        return all_of.Rule(parts=[{"kind": comparison.KIND, **step} for step in steps]).decide(context)
