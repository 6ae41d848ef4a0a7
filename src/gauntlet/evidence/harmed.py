"""Messages to which something happened, trial by trial."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gauntlet.errors import UserError
from gauntlet.evidence.fates import Fate, fates
from gauntlet.evidence.trials import trials
from gauntlet.evidence.verdict import INVALID
from gauntlet.results.reader import Results


@dataclass(frozen=True)
class Harmed:
    """A valid trial in which messages did not come as they should."""

    run: str
    flow: int
    """The flow's place in the run."""
    threat: str
    verdict: str
    messages: tuple[Fate, ...]
    """Those that did not come once, unchanged, in order and in time."""


def harmed(results: Results | Path) -> Iterator[Harmed]:
    """The trials of results with such messages. Raises UserError as `trials`, and where none is valid."""
    valid = False
    for trial in trials(results):
        if trial.verdict.verdict == INVALID:
            continue
        valid = True
        messages = tuple(it for it in fates(trial.course) if it.fates != ("once",))
        if messages:
            yield Harmed(trial.run.id, trial.flow, trial.threat, trial.verdict.verdict, messages)
    if not valid:
        raise UserError(
            "There is no valid trial of safety messages among these results; give a folder of an experiment "
            "with the application 'safety'."
        )
