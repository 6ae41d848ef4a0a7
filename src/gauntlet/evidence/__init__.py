"""What threats to safety messages came to: a verdict a trial, and what the trials of a cell show together.

A trial is one run in which one threat acts once, on the message that it names. A cell is what is alike but
for the repetition: threat, protocol, freshness check, and whatever else the experiment varies.
"""

from gauntlet.evidence.cells import Cell, cells, place
from gauntlet.evidence.fates import Fate, fates
from gauntlet.evidence.trials import Trial, trials
from gauntlet.evidence.verdict import Verdict, judged

__all__ = ["Cell", "Fate", "Trial", "Verdict", "cells", "fates", "judged", "place", "trials"]
