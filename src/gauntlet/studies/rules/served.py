"""served: the protocols that the study recommends for a class of service do serve it.

The class and its needs stand in classes.toml; which protocols keep all limits is worked out by
`gauntlet.advice`. The number is the share of the recommended ones that do.
"""

from pydantic import Field

from gauntlet.advice.classes import CLASSES
from gauntlet.advice.serves import of_class
from gauntlet.errors import UserError
from gauntlet.metrics.intervals import Mean
from gauntlet.studies.advised import FromSummary
from gauntlet.studies.decide import EXACT, Context, Decision, judged
from gauntlet.studies.model import Study
from gauntlet.studies.rules.base import Bounded

KIND = "served"


class Rule(Bounded):
    """class, a name of classes.toml, and bounds of the share."""

    class_: str = Field(alias="class")

    def check(self, study: Study) -> None:
        """See `Ruled.check`."""
        known = study.advice.by_name if study.advice else {}
        if self.class_ not in known:
            raise UserError(
                f"there is no class '{self.class_}'; classes.toml has {', '.join(known) or 'none'}."
            )

    def experiments(self, study: Study) -> tuple[str, ...]:
        """See `Ruled.experiments`."""
        self.check(study)
        assert study.advice is not None
        needs = study.advice.by_name[self.class_].needs
        return tuple(dict.fromkeys(name for need in needs for name in need.experiments))

    def files(self, study: Study) -> tuple[str, ...]:
        """See `Ruled.files`."""
        return (CLASSES,)

    def decide(self, context: Context) -> Decision:
        """See the module."""
        self.check(context.study)
        assert context.study.advice is not None
        service = context.study.advice.by_name[self.class_]
        share = of_class(FromSummary(context.study, context.summary), service).share_served
        what = "share of the recommended transports that serve the class"
        return judged(Mean(share, share, share, 0, EXACT), self.bounds, what=what)
