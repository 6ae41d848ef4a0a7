"""value: a number that a function of the study gives, within bounds.

For results that no campaign holds, such as a formula against the study's own table. The function is named in
`Study.values`; a plain number is exact, a `Mean` has its interval.
"""

from gauntlet.errors import UserError
from gauntlet.metrics.intervals import Mean
from gauntlet.studies.decide import Context, Decision, judged
from gauntlet.studies.rules.base import Bounded

KIND = "value"


class Rule(Bounded):
    """A named function's value within bounds."""

    function: str
    what: str
    """What the number is, for people."""
    unit: str = ""

    def decide(self, context: Context) -> Decision:
        """See the module."""
        if self.function not in context.values:
            known = ", ".join(context.values) or "none"
            raise UserError(f"The study has no value function '{self.function}'; it has {known}.")
        found = context.values[self.function](context.summary)
        value = (
            found if isinstance(found, Mean) else Mean(float(found), float(found), float(found), 1, "exact")
        )
        return judged(value, self.bounds, what=self.what, unit=self.unit)
