"""Everything of a report but its page: figures, tables, sentences, gathered once."""

from dataclasses import dataclass

from gauntlet.report.campaign import Campaign
from gauntlet.report.figures import against, cdfs, link, series
from gauntlet.report.figures.figure import Figure


@dataclass(frozen=True)
class Figures:
    """The figures of a report, by section."""

    link: list[Figure]
    cdfs: list[Figure]
    against: list[Figure]
    series: series.Series | None

    def all(self) -> list[Figure]:
        """Every figure, in the order of the page."""
        last = [self.series.figure] if self.series else []
        return [*self.link, *self.cdfs, *self.against, *last]


def figures(campaign: Campaign) -> Figures:
    """Make every figure that the results have data for."""
    main = campaign.main_kpi
    kpis = [kpi for kpi in campaign.kpis if kpi is main or kpi.name == "delay_p95_s"]
    distributions = (cdfs.throughput(campaign), cdfs.delay(campaign))
    curves = (against.against(campaign, kpi, axis) for axis in campaign.axes if axis.numeric for kpi in kpis)
    return Figures(
        link=link.link(campaign),
        cdfs=[figure for figure in distributions if figure is not None],
        against=[figure for figure in curves if figure is not None],
        series=series.series(campaign),
    )
