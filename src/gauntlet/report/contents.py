"""Everything of a report but its page: figures, tables, sentences, gathered once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gauntlet.metrics.kpi import Kpi
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
    judged: dict[Kpi, list[Evaluation]] = {}
    over, distributions, curves = [], [], []
    # Nothing is answered about the background: tables and the flows over time have it.
    for part in (it.by_itself for it in evaluation.parts if not it.background):
        main = part.main_kpi
        if main is not None:
            judged.setdefault(main, []).append(part)
            over.append(repetitions.over_by(part, main))
        distributions += [cdfs.throughput(part), cdfs.delay(part)]
        # The delay of a flow that sends all it can is not judged (`gauntlet.report.answer.delays`); of one
        # whose quantile is asked that one is drawn, and no other beside it.
        asked = part.asked is not None and part.asked.level is not None
        felt = () if part.greedy or asked else ("delay_p95_s",)
        kpis = [kpi for kpi in part.kpis if kpi is main or kpi.name in felt]
        curves += [
            against.against(part, kpi, factor) for factor in part.factors if factor.numeric for kpi in kpis
        ]
    return Figures(
        link=link.link(evaluation) + (map.geography(evaluation) or network.network(evaluation)),
        load=[figure for figure in [load.load(evaluation)] if figure is not None],
        repetitions=_said_once([*(repetitions.dots(parts, main) for main, parts in judged.items()), *over]),
        cdfs=_said_once(distributions),
        against=_said_once(curves),
        series=series.series(evaluation),
    )


def _said_once(figures: Sequence[Figure | None]) -> list[Figure]:
    """The figures that there are; one with the words of an earlier one refers to it."""
    first: dict[str, str] = {}
    found = []
    for it in figures:
        if it is not None:
            said = first.setdefault(it.caption, it.title)
            found.append(it if said == it.title else replace(it, caption=f'Read as "{said}" above.'))
    return found
