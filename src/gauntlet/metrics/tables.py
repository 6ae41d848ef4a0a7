"""The campaign's tables: facts of the runs, KPIs of the flows, windows, delays, put together from the
measures of each run.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gauntlet.errors import RunError
from gauntlet.metrics import measures
from gauntlet.metrics.measures import DELAY_LEVELS, DELAYS, FLOW_FACTS, OF_WINDOW, WINDOWS, Measures
from gauntlet.metrics.registry import registry
from gauntlet.results import facts, layout, parquet, store
from gauntlet.results.links import Links
from gauntlet.results.nodes import nodes_table
from gauntlet.results.reader import Results, Run

_RUNS_AT_A_TIME = 500
"""Runs whose measures are in memory at a time."""

_NO_ROWS = pa.table({"run": pa.array([], pa.string())})
"""Windows or delays where no flow has any."""


def finalize(results: Path) -> Path:
    """Make `tables/` from the runs that are there and return its place; equal runs give equal bytes.

    The order in which runs were written, the number of workers and the wall clock have no part in it. Tables
    are: `runs`, the facts with the KPIs of whole runs; `flows`, one row a flow with its KPIs; `windows`, one
    row a window (`gauntlet.metrics.windows`); `delays`, quantiles of the one-way delay of each flow; `links`
    and `certificates` (`gauntlet.results`); of runs in real time also `nodes`.
    """
    found = Results.open(results)
    runs = list(found.runs())
    with store.tables(results) as folder:

        def place(name: str) -> Path:
            return folder / f"{name}.parquet"

        told: list[facts.Told] = []
        kpis: list[dict[str, float | None]] = []
        flows: list[pa.Table] = []
        with (
            parquet.Writer(place("windows"), otherwise=_NO_ROWS) as windows,
            parquet.Writer(place("delays"), otherwise=_NO_ROWS) as delays,
            parquet.Writer(place("certificates"), otherwise=facts.NO_CHECKS) as certificates,
        ):
            for part in _parts(runs):
                each = [measures.of_kept(run) for run in part]
                for run, of in zip(part, each, strict=True):
                    told.append(facts.Told(run.id, run.factors, of.facts))
                    kpis.append(dict(of.kpis))
                rows = _flows(part, each)
                flows.append(rows.select([name for name in rows.column_names if name not in _LISTS]))
                windows.write(_windows(rows))
                delays.write(_delays(rows))
                certificates.write(
                    facts.checks_table((run.id, of.checks) for run, of in zip(part, each, strict=True))
                )
        of_runs = facts.runs_table(told)
        for name in (name for name, kpi in registry().items() if kpi.of_flows is not None):
            of_runs = of_runs.append_column(name, pa.array([row[name] for row in kpis], pa.float64()))
        parquet.write(of_runs, place("runs"))
        parquet.write(pa.concat_tables(flows) if flows else _flow_schema().empty_table(), place("flows"))
        Links.of(runs).write(place("links"))
        if found.manifest.in_real_time:
            parquet.write(nodes_table(runs), place("nodes"))
        (folder / layout.MADE_WITH).write_text(f"{measures.made_with()}\n")
    return layout.tables_folder(results)


def are_current(results: Results) -> bool:
    """Whether the tables are of the runs that are there, and made by this code."""
    try:
        made_with = (layout.tables_folder(results.folder) / layout.MADE_WITH).read_text().strip()
    except OSError:
        return False
    return results.has_current_tables() and made_with == measures.made_with()


def current(results: Path, *, alone: bool = False) -> Results:
    """Open a results folder for reading, its tables made when they are missing, older than its runs or of
    other code; `alone`: not while a campaign still writes into it.

    Raises UserError when it is none or is written into, RunError when it is damaged or holds no run yet.
    """
    found = Results.open(results)
    if next(found.runs(), None) is None:
        raise RunError(f"{results} holds no run yet; run the experiment first")
    if not are_current(found):
        with store.exclusive(results) if alone else nullcontext():
            finalize(results)
    return found


_LISTS = frozenset({DELAYS, *(f"{OF_WINDOW}{field.name}" for field in WINDOWS)})


def _parts(runs: Sequence[Run]) -> Iterator[Sequence[Run]]:
    for start in range(0, len(runs), _RUNS_AT_A_TIME):
        # New ones, so that what each has read goes with it.
        yield [Run(run.id, run.folder) for run in runs[start : start + _RUNS_AT_A_TIME]]


def _flow_schema() -> pa.Schema:
    """The columns of the table of the flows."""
    kpis = [pa.field(name, pa.float64()) for name, kpi in registry().items() if kpi.of_flow is not None]
    named = [FLOW_FACTS.field("flow"), FLOW_FACTS.field("id"), pa.field("protocol", pa.string())]
    return pa.schema([pa.field("run", pa.string()), *named, *list(FLOW_FACTS)[2:], *kpis])


def _flows(runs: Sequence[Run], each: Sequence[Measures]) -> pa.Table:
    """The flows of some runs under each other, as in the table, with their lists."""
    rows = pa.Table.from_batches([of.flows for of in each], measures.schema()).combine_chunks()
    named: list[str] = []
    protocols: list[Any] = []
    for run, of in zip(runs, each, strict=True):
        named += [run.id] * of.flows.num_rows
        known = [flow.get("protocol") for flow in run.spec.get("flows", [])] if of.flows.num_rows else []
        protocols += [known[place] if place < len(known) else None for place in range(of.flows.num_rows)]
    rows = rows.append_column("run", pa.array(named, pa.string()))
    rows = rows.append_column("protocol", pa.array(protocols, pa.string()))
    return rows.select([*_flow_schema().names, *(name for name in rows.column_names if name in _LISTS)])


def _windows(flows: pa.Table) -> pa.Table:
    lists = {field.name: flows.column(f"{OF_WINDOW}{field.name}") for field in WINDOWS}
    return _of_flows(flows, lists)


def _delays(flows: pa.Table) -> pa.Table:
    table = _of_flows(flows, {"delay_s": flows.column(DELAYS)})
    levels = np.tile(DELAY_LEVELS, table.num_rows // len(DELAY_LEVELS))
    return table.add_column(2, "level", pa.array(levels))


def _of_flows(flows: pa.Table, lists: dict[str, pa.ChunkedArray]) -> pa.Table:
    """Lists of flows as rows: `run`, `flow` and a column a list."""
    first = next(iter(lists.values())).combine_chunks()
    owner = np.repeat(np.arange(len(first)), first.value_lengths().to_numpy(zero_copy_only=False))
    keys = flows.select(["run", "flow"]).take(pa.array(owner))
    columns = {name: column.combine_chunks().flatten() for name, column in lists.items()}
    return pa.table({"run": keys["run"], "flow": keys["flow"], **columns})
