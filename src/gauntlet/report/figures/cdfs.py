"""Distributions with their bands: one small multiple a condition, on shared axes."""

from collections.abc import Callable, Sequence

import numpy as np

from gauntlet.figures import cdf as chart
from gauntlet.figures.cdf import WIDEST_BAND, banded
from gauntlet.figures.look import CAPACITY, Look, facet_columns, facet_width
from gauntlet.figures.tidy import Quantity, add
from gauntlet.metrics.ecdf import Cdf, dkw_half_width, ecdf, ecdf_of_quantiles, mixed_quantiles
from gauntlet.metrics.intervals import BOOTSTRAP_FROM
from gauntlet.metrics.numbers import counted, number
from gauntlet.metrics.steps import Floats
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Condition
from gauntlet.report.figures.figure import Figure, figure

POINTS_IN_ALL = 24_000
"""Points over all curves of a figure: about half a megabyte of CSV."""

MOST_POINTS = 160
LINK = "Link capacity"

LEAST_OF_LINK = 0.1
"""Flows that send at a rate of their own and never bring more than this share of the link's capacity say
nothing by their throughput.
"""


def throughput(evaluation: Evaluation) -> Figure | None:
    """Throughput per whole window of each protocol, and the capacity of the link in the same windows. None
    where nothing arrived in any window: a flow over days has none, and one that gave up has empty ones. None
    either of flows whose own rate is small beside the link: that is what they send, whatever carries it.
    """
    windows = evaluation.results.by_flow("windows", ("throughput_bps", "capacity_bps", "duration_s"))
    own = [windows[key] for row in evaluation.rows if (key := (row.run, row.flow)) in windows]
    most_bps, capacity_bps = (
        max((float(np.nanmax(columns[name], initial=0.0)) for columns in own), default=0.0)
        for name in ("throughput_bps", "capacity_bps")
    )
    if most_bps <= 0 or (not evaluation.greedy and most_bps < LEAST_OF_LINK * capacity_bps):
        return None
    whole_s = max(float(columns["duration_s"].max()) for columns in windows.values())

    def values(key: tuple[str, int], name: str) -> Floats:
        if key not in windows:
            return np.empty(0)
        columns = windows[key]
        found: Floats = columns[name][columns["duration_s"] > whole_s * 0.999] * 1e-6
        return found[~np.isnan(found)]

    def of_protocol(protocol: str, condition: Condition, points: int) -> Cdf | None:
        runs = evaluation.trusted_flows(protocol, condition)
        samples = [
            np.concatenate([values((run, flow), "throughput_bps") for flow in flows])
            for run, flows in runs.items()
        ]
        return ecdf(samples, points=points)

    def of_link(condition: Condition, points: int) -> Cdf | None:
        per_protocol = (evaluation.trusted_flows(style.key, condition) for style in evaluation.styles)
        runs = next((runs for runs in per_protocol if runs), {})
        return ecdf([values((run, flows[0]), "capacity_bps") for run, flows in runs.items()], points=points)

    return _figure(
        evaluation,
        name="throughput-cdf",
        title=f"Throughput in windows of {whole_s:g} s",
        x=Quantity("throughput", "Mbit/s"),
        sampled=f"windows of {whole_s:g} s",
        of_protocol=of_protocol,
        of_link=of_link,
    )


def delay(evaluation: Evaluation) -> Figure | None:
    """One-way delay of all messages that arrived."""
    stored = evaluation.results.by_flow("delays", ("delay_s",))
    if not stored:
        return None
    count = len(next(iter(stored.values()))["delay_s"])
    levels = evaluation.results.table("delays", ["level"]).slice(0, count)["level"].to_numpy()
    flows = evaluation.results.table("flows", ["run", "flow", "received_messages"]).to_pydict()
    keys = zip(flows["run"], flows["flow"], strict=True)
    arrived = {key: count or 0 for key, count in zip(keys, flows["received_messages"], strict=True)}

    def of_protocol(protocol: str, condition: Condition, points: int) -> Cdf | None:
        quantiles, counts, nothing = [], [], 0
        for run, flows in evaluation.trusted_flows(protocol, condition).items():
            each = [stored[run, flow]["delay_s"] * 1e3 for flow in flows if (run, flow) in stored]
            if each:
                quantiles.append(mixed_quantiles(levels, each))
                counts.append(sum(arrived[run, flow] for flow in flows))
            nothing += not each
        return ecdf_of_quantiles(levels, quantiles, counts, points=points, nothing=nothing)

    return _figure(
        evaluation,
        name="delay-cdf",
        title="One-way delay of messages"
        + (", not judged: flows fill their own buffers" * evaluation.greedy),
        x=Quantity("one-way delay", "ms"),
        log=True,
        sampled="messages",
        of_protocol=of_protocol,
        of_link=None,
    )


def _figure(
    evaluation: Evaluation,
    *,
    name: str,
    title: str,
    x: Quantity,
    sampled: str,
    of_protocol: Callable[[str, Condition, int], Cdf | None],
    of_link: Callable[[Condition, int], Cdf | None] | None,
    log: bool = False,
) -> Figure | None:
    count = len(evaluation.conditions) * (len(evaluation.styles) + (of_link is not None))
    points = max(min(MOST_POINTS, POINTS_IN_ALL // max(count, 1)), 20)
    rows: dict[str, list[object]] = {
        key: [] for key in ("condition", "protocol", "value", "share", "low", "high", "n", "worth")
    }
    shown: list[Cdf] = []

    def put(condition: Condition, label: str, cdf: Cdf | None, band: bool) -> None:
        if cdf is None:
            return
        with_band = band and banded(cdf)
        if band:
            shown.append(cdf)
        for value, share, low, high in zip(cdf.values, cdf.probability, cdf.low, cdf.high, strict=True):
            entry = (evaluation.label(condition), label, float(value), float(share))
            worth = round(cdf.effective_samples, 1)
            limits = (float(low), float(high)) if with_band else ("", "")
            add(rows, *entry, *limits, cdf.repetitions, worth)

    for condition in evaluation.conditions:
        if of_link is not None:
            put(condition, LINK, of_link(condition, points), band=False)
        for style in evaluation.styles:
            put(condition, style.label, of_protocol(style.key, condition, points), band=True)
    if not shown:
        return None
    look = Look.of_styles(evaluation.styles, [(LINK, CAPACITY)] if of_link is not None else [])
    width = facet_width(max(facet_columns(len(set(rows["condition"]))), 2))
    drawn = chart.cdf(rows, x, look=look, log=log, width=width)
    caption = (
        f"Mean over repetitions of the empirical distribution of {sampled}, trusted runs only. "
        f"{_band_words(shown)} Where in some repetition nothing arrived, the line ends below 100 %."
    )
    return figure(evaluation.named(name), evaluation.titled(title), caption, drawn, rows)


def _band_words(shown: Sequence[Cdf]) -> str:
    """What the caption says of the bands."""
    most = max(cdf.repetitions for cdf in shown)
    drawn = [cdf for cdf in shown if banded(cdf)]
    if not drawn and most < BOOTSTRAP_FROM:
        return (
            f"No band is drawn: that takes {BOOTSTRAP_FROM} repetitions, and there are {most}. Use "
            "--repetitions to make more."
        )
    if not drawn:
        narrowest = min(dkw_half_width(cdf.effective_samples) for cdf in shown)
        return (
            f"No band is drawn: by Dvoretzky, Kiefer and Wolfowitz it would be {200 * narrowest:.0f} "
            f"percentage points high, and more than {200 * WIDEST_BAND:.0f} cover the chart. Use "
            "--repetitions to make more."
        )
    half_widths = [100 * dkw_half_width(cdf.effective_samples) for cdf in drawn]
    return (
        "Shaded: 95 % Dvoretzky-Kiefer-Wolfowitz band. Samples of one run are not independent, so the band "
        "is drawn for the number of independent samples that the runs are worth, found from how much "
        f"repetitions differ ({_range([cdf.effective_samples for cdf in drawn], 0)}, from "
        f"{counted(most, 'repetition')}); it "
        f"reaches {_range(half_widths, 1)} percentage points to each side."
    )


def _range(values: Sequence[float], digits: int) -> str:
    low, high = number(min(values), digits), number(max(values), digits)
    return low if low == high else f"{low} to {high}"
