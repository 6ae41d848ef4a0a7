"""Everything of a report but its page: figures, tables, sentences, gathered once."""

from dataclasses import dataclass

from gauntlet.report.evaluation import Evaluation
from gauntlet.report.figures import against, cdfs, link, load, map, network, repetitions, series
from gauntlet.report.figures.figure import Figure


@dataclass(frozen=True)
class Figures:
    """The figures of a report, by section."""

    link: list[Figure]
    load: list[Figure]
    repetitions: list[Figure]
    cdfs: list[Figure]
    against: list[Figure]
    series: series.Series | None

    def all(self) -> list[Figure]:
        """Every figure, in the order of the page."""
        last = [self.series.figure] if self.series else []
        return [*self.link, *self.load, *self.repetitions, *self.cdfs, *self.against, *last]


def figures(evaluation: Evaluation) -> Figures:
    """Make every figure that the results have data for."""
    dots, distributions, curves = [], [], []
    # Nothing is answered about the background: tables and the flows over time have it.
    for part in (it.by_itself for it in evaluation.parts if not it.background):
        main = part.main_kpi
        dots += [] if main is None else [repetitions.dots(part, main), repetitions.over_by(part, main)]
        distributions += [cdfs.throughput(part), cdfs.delay(part)]
        # The delay of a flow that sends all it can is not judged (`gauntlet.report.answer.delays`).
        felt = () if part.greedy else ("delay_p95_s",)
        kpis = [kpi for kpi in part.kpis if kpi is main or kpi.name in felt]
        curves += [
            against.against(part, kpi, factor) for factor in part.factors if factor.numeric for kpi in kpis
        ]
    return Figures(
        link=link.link(evaluation) + (map.geography(evaluation) or network.network(evaluation)),
        load=[figure for figure in [load.load(evaluation)] if figure is not None],
        repetitions=[figure for figure in dots if figure is not None],
        cdfs=[figure for figure in distributions if figure is not None],
        against=[figure for figure in curves if figure is not None],
        series=series.series(evaluation),
    )
