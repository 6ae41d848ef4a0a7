"""Which flows a claim or a figure speaks of, and one number a repetition from them.

A selection names factors and their values, `{ protocol = "tcp-bbr", loss = 0.01, channel_delay_s = 0.15 }`, a
list where several are meant; what it does not name is averaged over. Runs that failed or are not trusted take
no part; they are counted. Flows that failed do take part, by the rules of the report
(`gauntlet.metrics.observation`): what did not end counts with its limit, what was never established delivered
nothing, and where no number can be, nothing is averaged over the others.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gauntlet.errors import NotMeasured, UserError
from gauntlet.experiment.strict import unknown_key
from gauntlet.metrics.flow_rows import completed
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.observation import Observation, State, common_limit, restricted
from gauntlet.metrics.quantity import DISTRIBUTIONS, of_distribution, seen
from gauntlet.metrics.quantity import Quantity as Quantity  # noqa: PLC0414 (plugins have it from here)
from gauntlet.metrics.registry import registry
from gauntlet.metrics.selected import LeftOut, Selected
from gauntlet.studies.summary import Summary

Selection = Mapping[str, Any]
"""Factor -> value or list of values. `protocol` is a flow's own transport, `protocols` what the flows of its
run speak, `flow` its place among them; `experiment` may name another experiment than the rule's.
"""


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
    of_flows: list[Observation] = []
    told = _told(found, (*varied, *_OF_A_FLOW, quantity.kpi))
    for row, value in zip(told, _values(summary, experiment, found, quantity), strict=True):
        repetition, condition = int(row["repetition"]), tuple(row[name] for name in varied)
        conditions_of.add(condition)
        if not row["trusted"]:
            failed = row["outcome"] == "failed"
            left_out += LeftOut(failed=int(failed), untrusted=int(not failed))
            continue
        said = seen(
            quantity,
            known,
            value,
            told=None if known is None or value is None else float(row[quantity.kpi]),
            done=completed(row),
            given_s=row.get("given_s"),
        )
        left_out += LeftOut(
            without_value=int(said is None),
            at_limit=int(said is not None and said.state == State.CENSORED),
            nothing=int(said is not None and said.state == State.NEVER),
            flows=1,
        )
        if said is None:
            lacking.add((repetition, condition))
        else:
            of_flows.append(said)
            flows.setdefault(repetition, {}).setdefault(condition, []).append(said)
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
    deterministic = len(values) > 1 and all_the_same(_a_few(found.filter(found.column("trusted"))), varied)
    return Selected(values, left_out, deterministic, never, of_flows)


def all_the_same(rows: Iterable[Mapping[str, Any]], varied: Sequence[str]) -> bool:
    """Whether every repetition of these flows is the same one: all numbers of each flow under each condition
    (`varied`) are equal in all repetitions, and something arrived. Then nothing was drawn that reached them.
    The first two that differ end it.
    """
    of_flow: dict[tuple[Any, ...], tuple[dict[str, Any], int]] = {}
    for row in rows:
        if not row.get("received_messages"):
            return False
        key = (row["flow"], row["protocol"], *(row[name] for name in varied))
        told = {name: value for name, value in row.items() if name not in _OF_THE_RUN}
        first, count = of_flow.get(key, (told, 0))
        if told != first:
            return False
        of_flow[key] = first, count + 1
    return bool(of_flow) and all(count > 1 for _, count in of_flow.values())


_OF_THE_RUN = ("run", "repetition", "trusted")
"""Columns that differ between repetitions whatever happened in them."""
_OF_A_FLOW = ("repetition", "trusted", "outcome", "completed", "app", "download_time_s", "given_s")
"""Columns that say what became of a flow (`completed`), where a table has them."""
_AT_ONCE = 64
"""So many rows become dictionaries at a time: most often the first two say that repetitions differ."""


def _told(flows: pa.Table, names: Iterable[str]) -> list[dict[str, Any]]:
    """These columns, where the table has them, by row."""
    wanted = {*names}
    rows: list[dict[str, Any]] = flows.select([it for it in flows.column_names if it in wanted]).to_pylist()
    return rows


def _a_few(flows: pa.Table) -> Iterator[Mapping[str, Any]]:
    """The rows, a few made at a time."""
    for batch in flows.to_batches(max_chunksize=_AT_ONCE):
        yield from batch.to_pylist()


OVER_FLOWS: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda values: sum(values) / len(values),
    "sum": sum,
    "min": min,
    "max": max,
}
"""How the flows of one run become one number."""


def _values(summary: Summary, experiment: str, flows: pa.Table, quantity: Quantity) -> list[float | None]:
    """The quantity of each of these flows; None where there is none."""
    if quantity.kpi in DISTRIBUTIONS:
        table, column, _ = DISTRIBUTIONS[quantity.kpi]
        kept = summary.quantiles(experiment, table, column)
        keys = zip(flows.column("run").to_pylist(), flows.column("flow").to_pylist(), strict=True)
        return [of_distribution(quantity, *kept[key]) if key in kept else None for key in keys]
    if quantity.kpi not in flows.column_names:
        raise NotMeasured(f"The flows of {experiment} have no {quantity.kpi}.")
    values: list[float | None] = flows.column(quantity.kpi).to_pylist()
    if quantity.between is None:
        return values
    low, high = quantity.between
    return [None if value is None else float(low <= value <= high) for value in values]


def same(wanted: Any, have: Any) -> bool:
    """Equal, numbers up to rounding (0.15 s however it was worked out)."""
    if isinstance(wanted, int | float) and isinstance(have, int | float):
        return math.isclose(wanted, have, rel_tol=1e-9, abs_tol=1e-12)
    return bool(wanted == have)
