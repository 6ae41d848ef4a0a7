"""recovered: after which share of the sessions that a threat ended the application had a fresh message again.

Where a sender opens a further session once one has broken (`reopen_after`), a session that it gave up with
messages left to be sent is a *stop* (`gauntlet.evidence.course`). Of these the share is, so `n` counts stops.
"""

from gauntlet.errors import NotMeasured
from gauntlet.evidence.verdict import INVALID
from gauntlet.studies.decide import Context, Decision
from gauntlet.studies.rules.counted import Counting
from gauntlet.studies.trialled import RECOVERY

KIND = "recovered"


class Rule(Counting):
    """That share under one selection, within bounds (0 to 1)."""

    def decide(self, context: Context) -> Decision:
        """See `gauntlet.studies.rules.counted`."""
        rows = self.rows(context)
        if any(row.get(RECOVERY[0]) is None for row in rows):
            raise NotMeasured(f"The senders of {self.experiment} open no further session.")
        stopped, recovered = (sum(row[name] for row in rows) for name in RECOVERY[:2])
        left_out = {"invalid trials": sum(row["trials"] for row in rows if row["verdict"] == INVALID)}
        what = "Stops after which a fresh message came again"
        return self.share(context, (recovered, stopped), "stop", what, left_out)
