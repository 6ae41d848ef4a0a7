"""Figures of the report as Altair charts. The one place where notebooks meet the figures."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

import altair as alt

from gauntlet.errors import UserError
from gauntlet.metrics.kpi import Kpi
from gauntlet.report.axes import Axis
from gauntlet.report.campaign import Campaign
from gauntlet.report.figures import against, cdfs, link, repetitions
from gauntlet.report.figures.figure import Figure
from gauntlet.results.store import Results

Found = TypeVar("Found")
Draw = Callable[[Campaign, Mapping[str, str]], Figure | None]


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
    campaign = Campaign.load(results)
    if kind != "link":
        subjects = {part.subject: part for part in campaign.parts}
        campaign = _one_of(subjects, wanted.pop("subject", next(iter(subjects), "")), "subject")
    unknown = set(wanted) - (
        {"kpi", "axis"} if kind == "against" else {"kpi"} if kind == "repetitions" else set()
    )
    if unknown:
        raise UserError(f"a chart of the kind '{kind}' takes no '{min(unknown)}'; leave it out.")
    figure = draw(campaign, wanted)
    if figure is None:
        raise UserError(f"no trusted run of {results.folder} has what a chart of the kind '{kind}' shows.")
    # Notebooks may be dark; the page's own background is no colour to Altair.
    spec = figure.spec | {"config": figure.spec["config"] | {"background": "white"}}
    made: alt.TopLevelMixin = alt.Chart.from_dict(spec)
    return made


def _repetitions(campaign: Campaign, wanted: Mapping[str, str]) -> Figure | None:
    return repetitions.dots(campaign, _kpi(campaign, wanted))


def _against(campaign: Campaign, wanted: Mapping[str, str]) -> Figure | None:
    return against.against(campaign, _kpi(campaign, wanted), _axis(campaign, wanted))


def _link(campaign: Campaign, _wanted: Mapping[str, str]) -> Figure | None:
    return next(iter(link.link(campaign)), None)


KINDS: Mapping[str, Draw] = MappingProxyType(
    {
        "repetitions": _repetitions,
        "against": _against,
        "throughput": lambda campaign, _: cdfs.throughput(campaign),
        "delay": lambda campaign, _: cdfs.delay(campaign),
        "link": _link,
    }
)
"""Who draws which kind of chart."""


def _kpi(campaign: Campaign, wanted: Mapping[str, str]) -> Kpi:
    found = {kpi.name: kpi for kpi in campaign.kpis}
    main = campaign.main_kpi
    return _one_of(found, wanted.get("kpi", main.name if main else ""), "KPI")


def _axis(campaign: Campaign, wanted: Mapping[str, str]) -> Axis:
    found = {axis.name: axis for axis in campaign.axes if axis.numeric}
    return _one_of(found, wanted.get("axis", next(iter(found), "")), "numeric factor")


def _one_of(found: Mapping[str, Found], name: str, what: str) -> Found:
    if name in found:
        return found[name]
    known = ", ".join(found) or "none"
    raise UserError(f"there is no {what} '{name}' here; choose one that is there ({known}).")
