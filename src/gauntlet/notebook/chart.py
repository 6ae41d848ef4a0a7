"""Figures of the report as Altair charts. The one place where notebooks meet the figures."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

import altair as alt

from gauntlet.errors import UserError
from gauntlet.metrics.kpi import Kpi
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Factor
from gauntlet.report.figures import against, cdfs, link, repetitions
from gauntlet.report.figures.figure import Figure
from gauntlet.results.store import Results

Found = TypeVar("Found")
Draw = Callable[[Evaluation, Mapping[str, str]], Figure | None]


def chart(results: Results, kind: str, **wanted: str) -> alt.TopLevelMixin:
    """A figure of the report, made of trusted runs, as an Altair chart.

    | kind | shows | may be given |
    |---|---|---|
    | `repetitions` | a KPI of every repetition, by protocol and condition | `kpi` |
    | `against` | means of a KPI over a numeric factor, with intervals | `kpi`, `axis` |
    | `throughput` | distributions of the throughput by windows | |
    | `delay` | distributions of the one-way delay | |
    | `link` | the line, and the stretches that the runs rode | |

    `kpi` (default: what the flows are judged by) and `axis` (default: the first numeric one) are names of
    columns. Where flows have different work, `subject` says which are meant.

    Raises UserError for what is not there, and where no trusted run has what the figure shows.
    """
    draw = _one_of(KINDS, kind, "kind of chart")
    evaluation = Evaluation.load(results)
    if kind != "link":
        subjects = {part.subject: part for part in evaluation.parts}
        evaluation = _one_of(subjects, wanted.pop("subject", next(iter(subjects), "")), "subject")
    unknown = set(wanted) - (
        {"kpi", "axis"} if kind == "against" else {"kpi"} if kind == "repetitions" else set()
    )
    if unknown:
        raise UserError(f"a chart of the kind '{kind}' takes no '{min(unknown)}'; leave it out.")
    figure = draw(evaluation, wanted)
    if figure is None:
        raise UserError(f"no trusted run of {results.folder} has what a chart of the kind '{kind}' shows.")
    # Notebooks may be dark; the page's own background is no colour to Altair.
    spec = figure.spec | {"config": figure.spec["config"] | {"background": "white"}}
    made: alt.TopLevelMixin = alt.Chart.from_dict(spec)
    return made


def _repetitions(evaluation: Evaluation, wanted: Mapping[str, str]) -> Figure | None:
    return repetitions.dots([evaluation], _kpi(evaluation, wanted))


def _against(evaluation: Evaluation, wanted: Mapping[str, str]) -> Figure | None:
    return against.against(evaluation, _kpi(evaluation, wanted), _factor(evaluation, wanted))


def _link(evaluation: Evaluation, _wanted: Mapping[str, str]) -> Figure | None:
    return next(iter(link.link(evaluation)), None)


KINDS: Mapping[str, Draw] = MappingProxyType(
    {
        "repetitions": _repetitions,
        "against": _against,
        "throughput": lambda evaluation, _: cdfs.throughput(evaluation),
        "delay": lambda evaluation, _: cdfs.delay(evaluation),
        "link": _link,
    }
)
"""Who draws which kind of chart."""


def _kpi(evaluation: Evaluation, wanted: Mapping[str, str]) -> Kpi:
    found = {kpi.name: kpi for kpi in evaluation.kpis}
    main = evaluation.main_kpi
    return _one_of(found, wanted.get("kpi", main.name if main else ""), "KPI")


def _factor(evaluation: Evaluation, wanted: Mapping[str, str]) -> Factor:
    found = {factor.name: factor for factor in evaluation.factors if factor.numeric}
    return _one_of(found, wanted.get("axis", next(iter(found), "")), "numeric factor")


def _one_of(found: Mapping[str, Found], name: str, what: str) -> Found:
    if name in found:
        return found[name]
    known = ", ".join(found) or "none"
    raise UserError(f"there is no {what} '{name}' here; choose one that is there ({known}).")
