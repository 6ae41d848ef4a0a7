"""The campaign's tables: facts of the runs, KPIs of the flows, windows, delays."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gauntlet.metrics.flow import FlowData, flows_of
from gauntlet.metrics.kpi import registry
from gauntlet.metrics.kpis.delay import delays_s
from gauntlet.metrics.windows import windows
from gauntlet.results import store
from gauntlet.results.facts import certificates_table, links_table, runs_table
from gauntlet.results.reader import Results

DELAY_LEVELS = np.unique(np.concatenate([np.linspace(0, 1, 201), [0.001, 0.002, 0.998, 0.999, 0.9995]]))
"""Levels of the delay quantiles kept of each flow: steps of half a percent, finer in the tails."""

_FLOW_FACTS = pa.schema(
    [
        ("run", pa.string()),
        ("flow", pa.int32()),
        ("id", pa.string()),
        ("protocol", pa.string()),
        ("stack", pa.string()),
        ("app", pa.string()),
        ("outcome", pa.string()),
        ("completed", pa.bool_()),
        ("given_s", pa.float64()),
        ("reason", pa.string()),
        ("observed_from_s", pa.float64()),
        ("observed_until_s", pa.float64()),
        ("sent_messages", pa.int64()),
        ("received_messages", pa.int64()),
        ("sender_dropped_messages", pa.int64()),
        ("received_bytes", pa.int64()),
        ("delivery_instants", pa.string()),
    ]
)


def finalize(results: Path) -> Path:
    """Make `tables/` from the runs that are there and return its place; equal runs give equal bytes.

    The order in which runs were written, the number of workers and the wall clock have no part in it.
    """
    return store.write_tables(results, build(Results.open(results)))


def build(results: Results) -> dict[str, pa.Table]:
    """All tables by name: runs, flows, windows, delays, links, certificates.

    `runs` is the facts with the KPIs of whole runs, `flows` one row a flow with its KPIs, `windows` one row a
    window (`gauntlet.metrics.windows`), `delays` quantiles of the one-way delay of each flow.
    """
    runs = list(results.runs())
    flow_kpis = {name: kpi.of_flow for name, kpi in registry().items() if kpi.of_flow is not None}
    run_kpis = {name: kpi.of_flows for name, kpi in registry().items() if kpi.of_flows is not None}
    flow_rows: list[dict[str, Any]] = []
    run_rows: list[dict[str, float | None]] = []
    window_parts: list[pa.Table] = []
    delay_parts: list[pa.Table] = []
    for run in runs:
        flows = flows_of(run)
        run_rows.append({name: compute(flows) for name, compute in run_kpis.items()})
        for flow in flows:
            flow_rows.append(_facts(flow) | {name: compute(flow) for name, compute in flow_kpis.items()})
            window_parts.append(_windows(flow))
            delay_parts.append(_delays(flow))
    runs_facts = runs_table(runs)
    for name in run_kpis:
        runs_facts = runs_facts.append_column(name, pa.array([row[name] for row in run_rows], pa.float64()))
    flow_schema = _FLOW_FACTS
    for name in flow_kpis:
        flow_schema = flow_schema.append(pa.field(name, pa.float64()))
    return {
        "runs": runs_facts,
        "flows": pa.Table.from_pylist(flow_rows, schema=flow_schema),
        "windows": _under_each_other(window_parts),
        "delays": _under_each_other(delay_parts),
        "links": links_table(runs),
        "certificates": certificates_table(runs),
    }


def _facts(flow: FlowData) -> dict[str, Any]:
    own = {
        "run": flow.run,
        "flow": flow.index,
        "protocol": flow.protocol,
        "completed": flow.completed,
        "given_s": flow.given_s,
        "observed_from_s": flow.observed_from_s,
        "observed_until_s": flow.observed_until_s,
    }
    return own | {name: flow.record.get(name) for name in _FLOW_FACTS.names if name not in own}


def _windows(flow: FlowData) -> pa.Table:
    columns = windows(flow)
    return _of_flow(flow, columns) if columns is not None else pa.table({})


def _delays(flow: FlowData) -> pa.Table:
    delays = delays_s(flow)
    if not delays.size:
        return pa.table({})
    return _of_flow(flow, {"level": DELAY_LEVELS, "delay_s": np.quantile(delays, DELAY_LEVELS)})


def _of_flow(flow: FlowData, columns: dict[str, Any]) -> pa.Table:
    rows = len(next(iter(columns.values())))
    keys = {
        "run": pa.repeat(pa.scalar(flow.run, pa.string()), rows),
        "flow": pa.repeat(pa.scalar(flow.index, pa.int32()), rows),
    }
    # NaN stands for "no value" in the arrays; in the tables that is a null.
    return pa.table(keys | {name: pa.array(values, from_pandas=True) for name, values in columns.items()})


def _under_each_other(parts: list[pa.Table]) -> pa.Table:
    parts = [part for part in parts if part.num_columns]
    return pa.concat_tables(parts) if parts else pa.table({"run": pa.array([], pa.string())})
