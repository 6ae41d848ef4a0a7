"""What threats to safety messages came to: a verdict a trial, and what the trials of a cell show together.

`A_TRIAL` says what is counted. A cell is what is alike but for the repetition and the session: threat,
protocol, freshness check, and whatever else the experiment varies.
"""

from gauntlet.evidence.cells import FEWEST, Cell, Cells, cells, is_new, place
from gauntlet.evidence.fates import Fate, fates
from gauntlet.evidence.harmed import Harmed, harmed
from gauntlet.evidence.met import THREATS, Met, met
from gauntlet.evidence.trials import A_TRIAL, Trial, trials, trials_of
from gauntlet.evidence.verdict import Verdict, judged

__all__ = [
    "A_TRIAL",
    "FEWEST",
    "THREATS",
    "Cell",
    "Cells",
    "Fate",
    "Harmed",
    "Met",
    "Trial",
    "Verdict",
    "cells",
    "fates",
    "harmed",
    "is_new",
    "judged",
    "met",
    "place",
    "trials",
    "trials_of",
]
