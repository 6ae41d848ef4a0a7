"""The measures of one run, made once: where it was played, and kept beside its record (`measures.arrow`).

They are what its record, its columns and its certificate say in the campaign's tables, so that the tables of
many runs are put together and not computed again. They do not say whose run it is: the same record gives the
same bytes, in whatever experiment. Measures that another version of this code made are not used; they are
made again from the record.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import gauntlet.metrics
from gauntlet.engine.hashes import sha256_of_files
from gauntlet.metrics.flow import FlowData, flows_of
from gauntlet.metrics.kpis.delay import delays_s
from gauntlet.metrics.registry import registry
from gauntlet.metrics.windows import windows
from gauntlet.results import facts, layout
from gauntlet.results.reader import Run

DELAY_LEVELS = np.unique(np.concatenate([np.linspace(0, 1, 201), [0.001, 0.002, 0.998, 0.999, 0.9995]]))
"""Levels of the delay quantiles kept of each flow: steps of half a percent, finer in the tails."""

FLOW_FACTS = pa.schema(
    [
        ("flow", pa.int32()),
        ("id", pa.string()),
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
"""Columns of a flow besides its KPIs."""

WINDOWS = pa.schema(
    [
        ("window", pa.int32()),
        ("start_s", pa.float64()),
        ("duration_s", pa.float64()),
        ("received_bytes", pa.int64()),
        ("throughput_bps", pa.float64()),
        ("capacity_bps", pa.float64()),
        ("sent_messages", pa.int64()),
        ("lost_messages", pa.int64()),
        ("delay_mean_s", pa.float64()),
        ("delay_max_s", pa.float64()),
        ("cwnd_bytes", pa.float64()),
        ("srtt_s", pa.float64()),
        ("retransmitted_packets", pa.float64()),
    ]
)
"""Columns of a window (`gauntlet.metrics.windows`)."""

OF_WINDOW = "window."
"""Before the name of such a column: in a row a flow each of them is a list."""

DELAYS = "delays_s"
"""The quantiles of the one-way delay at `DELAY_LEVELS`; empty where nothing arrived."""

_FORMAT = {"format": "gauntlet-measures", "version": 1}
_ABOUT = b"gauntlet"


@dataclass(frozen=True)
class Measures:
    """What a run says in the tables.

    `facts` and `checks` are those of `gauntlet.results.facts`, `kpis` the KPIs of the whole run, `flows` one
    row a flow: `FLOW_FACTS`, its KPIs, its windows and its delays as lists.
    """

    facts: Mapping[str, Any]
    checks: Sequence[Mapping[str, Any]]
    kpis: Mapping[str, float | None]
    flows: pa.RecordBatch


@cache
def made_with() -> str:
    """A hash of the code that makes measures."""
    home = Path(gauntlet.metrics.__file__).parent
    return sha256_of_files((*sorted(home.rglob("*.py")), Path(facts.__file__)))


@cache
def schema() -> pa.Schema:
    """The columns of `Measures.flows`."""
    kpis = [pa.field(name, pa.float64()) for name, kpi in registry().items() if kpi.of_flow]
    lists = [pa.field(f"{OF_WINDOW}{field.name}", pa.list_(field.type)) for field in WINDOWS]
    return pa.schema([*FLOW_FACTS, *kpis, *lists, pa.field(DELAYS, pa.list_(pa.float64()))])


def of_run(run: Run) -> Measures:
    """The measures of a run, from its record."""
    flows = flows_of(run)
    of_flow = {name: kpi.of_flow for name, kpi in registry().items() if kpi.of_flow is not None}
    of_flows = {name: kpi.of_flows for name, kpi in registry().items() if kpi.of_flows is not None}
    rows = [_facts(flow) | {name: compute(flow) for name, compute in of_flow.items()} for flow in flows]
    plain = pa.schema([field for field in schema() if not pa.types.is_list(field.type)])
    columns = pa.RecordBatch.from_pylist(rows, schema=plain).columns
    each = [windows(flow) or {} for flow in flows]
    for field in WINDOWS:
        columns.append(_lists([columns_of.get(field.name) for columns_of in each], field.type))
    delays = [delays_s(flow) for flow in flows]
    quantiles = [np.quantile(of, DELAY_LEVELS) if of.size else None for of in delays]
    columns.append(_lists(quantiles, pa.float64()))
    return Measures(
        facts=facts.run_facts(run),
        checks=facts.checks(run),
        kpis={name: compute(flows) for name, compute in of_flows.items()},
        flows=pa.RecordBatch.from_arrays(columns, schema=schema()),
    )


def keep(run: Run) -> None:
    """Put the measures of a run into its folder."""
    made = of_run(run)
    about = {
        **_FORMAT,
        "made_with": made_with(),
        "facts": made.facts,
        "checks": made.checks,
        "kpis": made.kpis,
    }
    batch = made.flows.replace_schema_metadata({_ABOUT: json.dumps(about, sort_keys=True)})
    with (
        pa.OSFile(str(run.folder / layout.MEASURES), "wb") as sink,
        pa.ipc.new_stream(sink, batch.schema) as to,
    ):
        to.write_batch(batch)


def of_kept(run: Run) -> Measures:
    """The measures that lie in a run's folder; made from its record where there are none of this code."""
    try:
        content = (run.folder / layout.MEASURES).read_bytes()
        batch = pa.ipc.open_stream(content).read_next_batch()
        about = json.loads((batch.schema.metadata or {})[_ABOUT])
        if about["made_with"] == made_with() and about["format"] == _FORMAT["format"]:
            flows = batch.replace_schema_metadata(None)
            return Measures(about["facts"], about["checks"], about["kpis"], flows)
    except (OSError, ValueError, KeyError, TypeError, StopIteration, pa.ArrowException):
        pass  # none there, or damaged: the record has it all
    return of_run(run)


def _facts(flow: FlowData) -> dict[str, Any]:
    own = {
        "flow": flow.index,
        "completed": flow.completed,
        "given_s": flow.given_s,
        "observed_from_s": flow.observed_from_s,
        "observed_until_s": flow.observed_until_s,
    }
    return own | {name: flow.record.get(name) for name in FLOW_FACTS.names if name not in own}


def _lists(each: Sequence[npt.NDArray[Any] | None], kind: pa.DataType) -> pa.Array:
    """One list a flow; NaN stands for "no value" in the arrays, in the tables that is a null."""
    parts = [pa.array([] if values is None else values, kind, from_pandas=True) for values in each]
    offsets = np.concatenate(([0], np.cumsum([len(part) for part in parts]))).astype(np.int32)
    together = pa.concat_arrays(parts) if parts else pa.array([], kind)
    return pa.ListArray.from_arrays(pa.array(offsets), together)
