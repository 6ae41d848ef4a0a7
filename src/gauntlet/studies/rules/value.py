"""value: a number that a function of the study gives, within bounds.

For results that no campaign holds, such as a formula against the study's own table. The function is named in
`Study.values`; a plain number is exact, a `Mean` has its interval.
"""

from gauntlet.errors import UserError
from gauntlet.metrics.intervals import Mean
from gauntlet.studies.decide import EXACT, Context, Decision, judged
from gauntlet.studies.model import Study
from gauntlet.studies.rules.base import Bounded

KIND = "value"


class Rule(Bounded):
    """A named function's value within bounds."""

    function: str
    what: str
    """What the number is, for people."""
    unit: str = ""

    def check(self, study: Study) -> None:
        """See `Ruled.check`."""
        if self.function not in study.values:
            known = ", ".join(study.values) or "none"
            raise UserError(f"the study has no value function '{self.function}'; it has {known}.")

    def decide(self, context: Context) -> Decision:
        """See the module."""
        self.check(context.study)
        found = context.study.values[self.function](context.summary)
        value = found if isinstance(found, Mean) else Mean(float(found), float(found), float(found), 1, EXACT)
        return judged(value, self.bounds, what=self.what, unit=self.unit)
