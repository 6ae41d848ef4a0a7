"""Which flows a claim or a figure speaks of, and one number a repetition from them.

A selection names factors and their values, `{ protocol = "tcp-bbr", loss = 0.01, channel_delay_s = 0.15 }`, a
list where several are meant; what it does not name is averaged over. Runs that failed or are not trusted take
no part; they are counted. Flows that failed do take part, by the rules of the report
(`gauntlet.metrics.observation`): what did not end counts with its limit, what was never established delivered
nothing, and where no number can be, nothing is averaged over the others.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gauntlet.errors import NotMeasured, UserError
from gauntlet.experiment.strict import unknown_key
from gauntlet.metrics.ecdf import ALPHA
from gauntlet.metrics.flow_rows import completed
from gauntlet.metrics.intervals import Mean, mean, the_same
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import counted
from gauntlet.metrics.observation import (
    NEVER,
    Observation,
    State,
    common_limit,
    observed,
    restricted,
)
from gauntlet.metrics.registry import registry
from gauntlet.metrics.steps import Floats
from gauntlet.results.by_flow import by_flow
from gauntlet.studies.summary import Summary

Selection = Mapping[str, Any]
"""Factor -> value or list of values. `protocol` is a flow's own transport, `protocols` what the flows of its
run speak, `flow` its place among them; `experiment` may name another experiment than the rule's.
"""

DISTRIBUTIONS: dict[str, tuple[str, str, Kpi]] = {
    name: (table, column, Kpi(name, label, unit, factor, higher, ""))
    for name, table, column, label, unit, factor, higher in (
        ("delay_s", "delays", "delay_s", "One-way delay", "ms", 1e3, False),
        ("each_message_delay_s", "delays", "message_delay_s", "Message delay", "ms", 1e3, False),
        (
            "each_message_delay_with_setup_s",
            "delays",
            "message_delay_with_setup_s",
            "Message delay, set-up included",
            "ms",
            1e3,
            False,
        ),
        (
            "window_throughput_bps",
            "windows",
            "throughput_bps",
            "Throughput in 1-s windows",
            "Mbit/s",
            1e-6,
            True,
        ),
        ("window_capacity_bps", "windows", "capacity_bps", "Capacity in 1-s windows", "Mbit/s", 1e-6, True),
    )
}
"""Quantities of which quantiles are kept, so that any can be asked for: (table, column, how it is shown)."""


@dataclass(frozen=True)
class Quantity:
    """What is read of a flow: a KPI, a quantile of a distribution, or a share of either."""

    kpi: str
    quantile: float | None = None
    between: tuple[float, float] | None = None
    """The share of the flow's samples between these, ends included; of a KPI 1 or 0."""


@dataclass(frozen=True)
class LeftOut:
    """Flows of the selection that take no part, or not with a number of their own."""

    failed: int = 0
    """Of runs that failed."""
    untrusted: int = 0
    without_value: int = 0
    """Flows that did what they were to do and that the quantity does not apply to."""
    at_limit: int = 0
    """Flows that did not end, and count with their limit."""
    nothing: int = 0
    """Flows of which no number can be, since nothing came to be."""
    flows: int = 0
    """All flows of trusted runs."""

    def __add__(self, other: "LeftOut") -> "LeftOut":
        return LeftOut(
            self.failed + other.failed,
            self.untrusted + other.untrusted,
            self.without_value + other.without_value,
            self.at_limit + other.at_limit,
            self.nothing + other.nothing,
            self.flows + other.flows,
        )

    @property
    def words(self) -> str:
        """What was left out and what counts by its limit, for people; empty when nothing does."""
        said = []
        if self.at_limit:
            said.append(
                f"{self.at_limit} of {counted(self.flows, 'flow')} did not end and count with the limit"
            )
        if self.nothing:
            said.append(
                f"of {self.nothing} of {counted(self.flows, 'flow')} there is no number: nothing arrived, or "
                "not all of it"
            )
        return "; ".join([*said, *([left] if (left := self._left) else [])])

    @property
    def _left(self) -> str:
        parts = [
            f"{count} {word}"
            for count, word in (
                (self.failed, "failed"),
                (self.untrusted, "not trusted"),
                (self.without_value, "without this value"),
            )
            if count
        ]
        return f"left out: {', '.join(parts)}" if parts else ""


@dataclass(frozen=True)
class Selected:
    """One number a repetition."""

    values: Mapping[int, float]
    """Without the repetitions in which no number can be."""
    left_out: LeftOut = field(default_factory=LeftOut)
    deterministic: bool = False
    """Whether every repetition is the same one, because nothing was drawn."""
    never: int = 0
    """Repetitions in which no number can be, since nothing came to be."""

    def mean(self, alpha: float = ALPHA) -> Mean:
        """Over all repetitions. Raises NotMeasured without any, and where some have no number: a mean over
        the others would praise whoever fails most.
        """
        self.check()
        numbers = list(self.values.values())
        return the_same(numbers[0]) if self.deterministic else mean(numbers, alpha)

    def check(self) -> None:
        """Raise NotMeasured as `mean` does."""
        if self.never:
            of = len(self.values) + self.never
            raise NotMeasured(
                f"In {self.never} of {of} repetitions there is no number: nothing arrived, or not all of it."
            )
        if not self.values:
            raise NotMeasured(
                f"There is no repetition with a number ({self.left_out.words or 'none was run'})."
            )


def check(experiment: str, selection: Selection, known: Mapping[str, Sequence[Any]]) -> None:
    """Raise UserError when the selection names a factor or a value that the experiment does not have; `known`
    are its factors with their values.
    """
    for name, wanted in selection.items():
        if name in ("flow", "experiment"):
            continue
        if name not in known:
            raise UserError(f"{experiment}: the selection has an {unknown_key(name, known)}")
        for value in wanted if isinstance(wanted, list | tuple) else [wanted]:
            if not any(same(value, have) for have in known[name]):
                there = ", ".join(str(have) for have in known[name])
                raise UserError(
                    f"{experiment}: {name} = {value!r} matches no run of the experiment; it has {there}."
                )


def rows(summary: Summary, experiment: str, selection: Selection) -> pa.Table:
    """The flows of a selection, untrusted and failed ones too.

    Raises UserError for a selection that the experiment does not have, NotMeasured when no run of it is in
    the summary.
    """
    experiment = str(selection.get("experiment", experiment))
    table = summary.flows(experiment)
    check(experiment, selection, summary.factors(experiment))
    for name, wanted in selection.items():
        if name == "experiment":
            continue
        values = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
        column = table.column(name)
        meant = [have for have in column.unique().to_pylist() if any(same(value, have) for value in values)]
        table = table.filter(pc.is_in(column, pa.array(meant, column.type)))
    if not table.num_rows:
        named = ", ".join(f"{name} = {value}" for name, value in selection.items()) or "anything"
        raise NotMeasured(f"No run of {experiment} with {named} is among these results.")
    return table


def by_repetition(
    summary: Summary,
    experiment: str,
    selection: Selection,
    quantity: Quantity,
    over_flows: str = "mean",
    *,
    measures: Mapping[str, Kpi] | None = None,
) -> Selected:
    """One number a repetition: flows of one run are combined by `over_flows` (mean, sum, min, max), then the
    conditions that the selection spans are averaged. A repetition that lacks one of them is left out, since
    it would average over another mix than the rest; so a condition that no repetition has a number for
    leaves none. `measures` are the study's own, which say what a flow that failed counts as.
    """
    experiment = str(selection.get("experiment", experiment))
    found = rows(summary, experiment, selection)
    varied = sorted(summary.factors(experiment).keys() - {"protocol", "repetition"})
    known = {**registry(), **(measures or {})}.get(quantity.kpi)
    left_out = LeftOut()
    flows: dict[int, dict[tuple[Any, ...], list[Observation]]] = {}
    lacking: set[tuple[int, tuple[Any, ...]]] = set()
    conditions_of: set[tuple[Any, ...]] = set()
    trusted: list[Mapping[str, Any]] = []
    for row, value in zip(found.to_pylist(), _values(summary, experiment, found, quantity), strict=True):
        repetition, condition = int(row["repetition"]), tuple(row[name] for name in varied)
        conditions_of.add(condition)
        if not row["trusted"]:
            failed = row["outcome"] == "failed"
            left_out += LeftOut(failed=int(failed), untrusted=int(not failed))
            continue
        trusted.append(row)
        seen = _seen(row, value, quantity, known)
        left_out += LeftOut(
            without_value=int(seen is None),
            at_limit=int(seen is not None and seen.state == State.CENSORED),
            nothing=int(seen is not None and seen.state == State.NEVER),
            flows=1,
        )
        if seen is None:
            lacking.add((repetition, condition))
        else:
            flows.setdefault(repetition, {}).setdefault(condition, []).append(seen)
    for repetition, condition in lacking:
        # A run of which one flow has no value would be combined over other flows than the rest.
        flows.get(repetition, {}).pop(condition, None)
    limit = common_limit(it for conditions in flows.values() for each in conditions.values() for it in each)
    values: dict[int, float] = {}
    never = 0
    for repetition, conditions in sorted(flows.items()):
        if any(it.state == State.NEVER for each in conditions.values() for it in each):
            never += 1
        elif len(conditions) == len(conditions_of):
            each = [OVER_FLOWS[over_flows](restricted(of, limit).tolist()) for of in conditions.values()]
            values[repetition] = sum(each) / len(each)
    return Selected(values, left_out, len(values) > 1 and all_the_same(trusted, varied), never)


def _seen(
    row: Mapping[str, Any], value: float | None, quantity: Quantity, known: Kpi | None
) -> Observation | None:
    """What a flow says of the quantity; None where it does not apply to it. Of a quantity that is not known
    to have a value for flows that failed, such a flow has none; nor of the delays of what arrived.
    """
    of_delays = quantity.kpi in DISTRIBUTIONS and DISTRIBUTIONS[quantity.kpi][0] == "delays"
    of_arrived = of_delays or (known is not None and known.of_arrived)
    if completed(row) or not of_arrived:
        if value is not None and math.isfinite(value):
            return Observation(value)
        if completed(row):
            return None
    if known is None:
        # What did not come took longer than any bound.
        beyond = of_delays and quantity.between is not None and math.isinf(quantity.between[1])
        return NEVER if quantity.between is None else Observation(float(beyond))
    told = None if value is None else float(row[quantity.kpi])
    seen = observed(known, told, completed=False, given_s=row.get("given_s"))
    if quantity.between is None or seen is None:
        return seen
    low, high = quantity.between
    if seen.state == State.MEASURED:
        return Observation(float(low <= seen.value <= high))
    # What did not end lies beyond its limit; within a range that reaches on for ever if it begins by then.
    return Observation(float(seen.state == State.CENSORED and low <= seen.value and math.isinf(high)))


def all_the_same(rows: Iterable[Mapping[str, Any]], varied: Sequence[str]) -> bool:
    """Whether every repetition of these flows is the same one: all numbers of each flow under each condition
    (`varied`) are equal in all repetitions, and something arrived. Then nothing was drawn that reached them.
    """
    of_flow: dict[tuple[Any, ...], dict[tuple[tuple[str, Any], ...], int]] = {}
    for row in rows:
        if not row.get("received_messages"):
            return False
        key = (row["flow"], row["protocol"], *(row[name] for name in varied))
        told = tuple(sorted((name, value) for name, value in row.items() if name not in _OF_THE_RUN))
        alike = of_flow.setdefault(key, {})
        alike[told] = alike.get(told, 0) + 1
    return bool(of_flow) and all(
        len(alike) == 1 and next(iter(alike.values())) > 1 for alike in of_flow.values()
    )


_OF_THE_RUN = ("run", "repetition", "trusted")
"""Columns that differ between repetitions whatever happened in them."""


OVER_FLOWS: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda values: sum(values) / len(values),
    "sum": sum,
    "min": min,
    "max": max,
}
"""How the flows of one run become one number."""


def shown(quantity: Quantity, measures: Mapping[str, Kpi]) -> Kpi:
    """Label and unit of a quantity. Raises UserError when there is no such quantity."""
    if quantity.kpi in DISTRIBUTIONS:
        if quantity.quantile is None and quantity.between is None:
            raise UserError(f"The quantity {quantity.kpi} is a distribution; add quantile, such as 0.5.")
        return DISTRIBUTIONS[quantity.kpi][2]
    known = {**registry(), **measures}
    if quantity.kpi not in known:
        raise UserError(f"There is an {unknown_key(quantity.kpi, [*known, *DISTRIBUTIONS])}")
    if quantity.quantile is not None:
        raise UserError(
            f"{quantity.kpi} is one number a flow and has no quantiles; ask {', '.join(DISTRIBUTIONS)} for "
            "them, or leave quantile out."
        )
    return known[quantity.kpi]


def _values(summary: Summary, experiment: str, flows: pa.Table, quantity: Quantity) -> list[float | None]:
    """The quantity of each of these flows; None where there is none."""
    if quantity.kpi in DISTRIBUTIONS:
        table, column, _ = DISTRIBUTIONS[quantity.kpi]
        kept = quantiles(summary, experiment, table, column)
        keys = zip(flows.column("run").to_pylist(), flows.column("flow").to_pylist(), strict=True)
        return [_of_distribution(quantity, *kept[key]) if key in kept else None for key in keys]
    if quantity.kpi not in flows.column_names:
        raise NotMeasured(f"The flows of {experiment} have no {quantity.kpi}.")
    values: list[float | None] = flows.column(quantity.kpi).to_pylist()
    if quantity.between is None:
        return values
    low, high = quantity.between
    return [None if value is None else float(low <= value <= high) for value in values]


def _of_distribution(quantity: Quantity, levels: Floats, values: Floats) -> float:
    """A quantile, or the share of samples between two values; linear between the kept levels."""
    if quantity.between is None:
        return float(np.interp(quantity.quantile or 0.0, levels, values))
    low, high = quantity.between
    # Of equal quantiles the first level counts at the lower end, the last at the upper: both ends are in.
    below = np.interp(low, *_rising(values, levels, first=True), left=0.0, right=1.0)
    up_to = np.interp(high, *_rising(values, levels, first=False), left=0.0, right=1.0)
    return float(max(up_to - below, 0.0))


def _rising(values: Floats, levels: Floats, *, first: bool) -> tuple[Floats, Floats]:
    """Strictly rising values with the first or the last level of each."""
    unique, starts = np.unique(values, return_index=True)
    ends = np.append(starts[1:], values.size) - 1
    return unique, levels[starts if first else ends]


def quantiles(
    summary: Summary, experiment: str, table: str, column: str
) -> dict[tuple[str, int], tuple[Floats, Floats]]:
    """By (run, flow): the levels and the kept quantiles of a column of `delays` or `windows`.

    Raises NotMeasured when the experiment has no such column.
    """
    kept = summary.delays(experiment) if table == "delays" else summary.windows(experiment)
    if column not in kept.column_names:
        raise NotMeasured(f"The flows of {experiment} have no {column}.")
    return {
        key: (part["level"], part[column].astype(float))
        for key, part in by_flow(kept, ("level", column)).items()
    }


def same(wanted: Any, have: Any) -> bool:
    """Equal, numbers up to rounding (0.15 s however it was worked out)."""
    if isinstance(wanted, int | float) and isinstance(have, int | float):
        return math.isclose(wanted, have, rel_tol=1e-9, abs_tol=1e-12)
    return bool(wanted == have)
