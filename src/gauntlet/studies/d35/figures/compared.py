"""Tables of mean download times: one row a way to carry something, one column a condition of the channel."""

from collections.abc import Sequence
from dataclasses import dataclass

from gauntlet.metrics.intervals import Mean
from gauntlet.studies.d35.figures.times import ENDS, TIME, words
from gauntlet.studies.model import NotMeasured, Table
from gauntlet.studies.select import Quantity, Selection, by_repetition
from gauntlet.studies.summary import Summary

_CONDITIONS = tuple((delay_s, loss) for delay_s in ENDS for loss in (0.0, 0.01))


@dataclass(frozen=True)
class Way:
    """A row."""

    name: str
    experiment: str
    of: Selection


def each_protocol(
    summary: Summary, experiment: str, application: str, of: Selection | None = None
) -> list[Way]:
    """A way for each protocol of an experiment; none when it was not played."""
    if experiment not in summary.experiments:
        return []
    return [
        Way(
            f"{application} over {summary.label(experiment, 'protocols', protocol)}",
            experiment,
            {**(of or {}), "protocol": protocol},
        )
        for protocol in summary.factors(experiment)["protocol"]
    ]


def compared(summary: Summary, ways: Sequence[Way], of: Selection, what: str) -> Table:
    """Means with 95 % intervals at the ends of the study's delays, without loss and at 1 %.

    Raises NotMeasured when there is no way.
    """
    if not ways:
        raise NotMeasured(f"Nothing that carries {what} is among these results.")
    rows = tuple(
        (way.name, *(_cell(summary, way, of, *condition) for condition in _CONDITIONS)) for way in ways
    )
    header = (
        "carried by",
        *(f"{words(delay_s)}, loss {100 * loss:g} % (s)" for delay_s, loss in _CONDITIONS),
    )
    return Table(f"{what}: mean download time with its 95 % interval.", header, rows)


def _cell(summary: Summary, way: Way, of: Selection, delay_s: float, loss: float) -> str:
    chosen = {**way.of, **of, "channel_delay_s": delay_s, "loss": loss}
    try:
        return _shown(by_repetition(summary, way.experiment, chosen, Quantity(TIME)).mean())
    except NotMeasured:
        return "not measured"


def _shown(found: Mean) -> str:
    if found.low is None or found.high is None:
        return f"{found.value:.1f}"
    return f"{found.value:.1f} ({found.low:.1f} to {found.high:.1f})"
