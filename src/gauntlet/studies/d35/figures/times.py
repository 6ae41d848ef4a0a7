"""The four shapes in which D3.5 shows download times: against delay, against loss, against size, spread."""

from collections.abc import Sequence

from gauntlet.metrics.kpi import Kpi
from gauntlet.studies.charts import Mark, against, cdf
from gauntlet.studies.joined import JOINED, joined
from gauntlet.studies.model import Chart
from gauntlet.studies.select import Selection
from gauntlet.studies.summary import Summary

TIME = "download_time_s"
SHORT_S, LONG_S = 0.025, 0.15
"""The channel delays of which the study says most."""
ENDS = (SHORT_S, LONG_S)
_MEANS = "Means over stretches with 95 % intervals"


def words(delay_s: float) -> str:
    """A channel delay as people read it."""
    return f"{1e3 * delay_s:g} ms"


def against_delay(
    summary: Summary,
    experiments: Sequence[str],
    kpi: str | Kpi,
    of: Selection,
    what: str,
    *,
    printed: Sequence[Mark] = (),
) -> Chart:
    """Means against the channel's delay; solid: no loss, broken: 1 %."""
    chosen = {**of, "loss": [0.0, 0.01]}
    chart = against(joined(summary, experiments), JOINED, kpi, of=chosen, printed=printed)
    return Chart(f"{what}. {_MEANS}; solid: no loss, broken: 1 %.", chart)


def against_loss(
    summary: Summary,
    experiments: Sequence[str],
    kpi: str | Kpi,
    of: Selection,
    what: str,
    *,
    printed: Sequence[Mark] = (),
) -> Chart:
    """Means against loss, levels side by side; solid: 25 ms, broken: 150 ms."""
    chosen = {**of, "channel_delay_s": list(ENDS)}
    chart = against(
        joined(summary, experiments),
        JOINED,
        kpi,
        x="loss",
        of=chosen,
        dash="channel_delay_s",
        even=True,
        printed=printed,
    )
    return Chart(f"{what}. {_MEANS}; solid: 25 ms, broken: 150 ms.", chart)


def against_size(
    summary: Summary,
    experiments: Sequence[str],
    kpi: str | Kpi,
    of: Selection,
    *,
    printed: Sequence[Mark] = (),
) -> Chart:
    """Means against the file's size, one small multiple a delay; solid: no loss, broken: 1 %."""
    chart = against(
        joined(summary, experiments),
        JOINED,
        kpi,
        x="size_bytes",
        of={**of, "loss": [0.0, 0.01], "channel_delay_s": list(ENDS)},
        facet="channel_delay_s",
        printed=printed,
    )
    return Chart(f"{_MEANS}; solid: no loss, broken: 1 %.", chart)


def distribution(
    summary: Summary, experiments: Sequence[str], kpi: str | Kpi, of: Selection, what: str
) -> Chart:
    """Distributions, one value a stretch; solid: no loss, broken: 1 %."""
    chosen = {**of, "loss": [0.0, 0.01]}
    chart = cdf(joined(summary, experiments), JOINED, kpi, of=chosen, facet=None)
    return Chart(f"{what}. Solid: no loss, broken: 1 %.", chart)
