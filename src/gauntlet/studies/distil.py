"""From the results folder of an experiment to its part of a summary.

Measured on 2,400 runs it leaves 0.27 kB a run. Numbers of distributions keep 12 significant bits (0.02 %),
which no figure can show and no threshold of a ledger is near.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gauntlet.errors import UserError
from gauntlet.experiment.runspec import RunSpec
from gauntlet.experiment.subset import PROTOCOLS
from gauntlet.metrics.flow import NEVER_NS, NS_PER_S, flows_of
from gauntlet.metrics.message_quantiles import LEVELS, MESSAGE_DELAYS, message_quantiles, quantiles_of
from gauntlet.metrics.steps import Floats
from gauntlet.metrics.tables import current
from gauntlet.results.by_flow import by_flow
from gauntlet.results.reader import Results
from gauntlet.studies.model import Experiment
from gauntlet.studies.summary import TRIALS, Part
from gauntlet.studies.trialled import trialled

SERIES_POINTS = 1000
"""Messages kept of each flow of an example run: two for each pixel of a figure."""

_BITS = 12
_WHOLE_WINDOW = 0.999
"""A window shorter than this share of the longest is the rest at the end of a flow and left out."""

_COUNTS = ("sent_messages", "received_messages", "received_bytes", "observed_from_s", "observed_until_s")


def distil(
    experiment: Experiment, folder: Path, planned: Sequence[RunSpec], every: Sequence[RunSpec]
) -> Part:
    """Reduce a results folder.

    `planned` are the runs that were to be played (the quick subset or all), `every` those of the whole
    experiment, whose factors the summary names. Raises UserError when the folder is of another experiment
    file or still being written, RunError when it is damaged.
    """
    results = Results.open(folder)
    _same_experiment(experiment, results)
    results = current(folder, alone=True)
    runs = results.table("runs")
    wanted = {spec.id for spec in planned}
    runs = runs.filter(pc.is_in(runs.column("run"), pa.array(sorted(wanted), pa.string())))
    tables = {
        "flows": _flows(runs, results.table("flows"), _measured(experiment, results, wanted)),
        "delays": _delays(results, wanted),
        "windows": _windows(results.table("windows"), wanted),
        "series": _series(experiment, results),
    }
    if (counted := trialled(results, wanted)) is not None:
        tables = {name: _first_sessions(planned, table) for name, table in tables.items()}
        tables[TRIALS] = counted
    return Part(_manifest(results, runs, planned, every), tables)


def _first_sessions(planned: Sequence[RunSpec], table: pa.Table) -> pa.Table:
    """Of sessions that are alike the first stands for all: what they are played for is in the trials."""
    others = {(spec.id, place) for spec in planned for place, flow in enumerate(spec.flows) if flow.session}
    keys = zip(table.column("run").to_pylist(), table.column("flow").to_pylist(), strict=True)
    return table.filter(pa.array([key not in others for key in keys], pa.bool_()))


def _same_experiment(experiment: Experiment, results: Results) -> None:
    if results.experiment != experiment.file.read_text(encoding="utf-8"):
        raise UserError(
            f"{results.folder} holds results of another version of {experiment.file.name}; choose another "
            "results folder or remove that one."
        )


def _flows(
    runs: pa.Table, flows: pa.Table, measured: Mapping[tuple[str, int], Mapping[str, Any]]
) -> pa.Table:
    """Runs and flows joined; a run that left no flow has one row without numbers."""
    of_run: dict[str, list[dict[str, Any]]] = {}
    for flow in flows.to_pylist():
        of_run.setdefault(flow["run"], []).append(flow)
    own = {"run", "trusted", "outcome", "reason", "seed", "virtual_s", "protocol", "repetition"}
    facts = {
        "run",
        "id",
        "stack",
        "reason",
        "delivery_instants",
        *_COUNTS,
        "flow",
        "protocol",
        "app",
        "outcome",
        "completed",
        "given_s",
    }
    kpis = [name for name in flows.column_names if name not in facts]
    extra = sorted({name for values in measured.values() for name in values})
    rows = []
    for run in runs.to_pylist():
        for flow in of_run.get(run["run"]) or [{"flow": 0, "outcome": "failed"}]:
            row = {name: value for name, value in run.items() if name not in own}
            row |= {name: flow.get(name) for name in ("flow", "app", "completed", "given_s", *_COUNTS, *kpis)}
            row |= {name: measured.get((run["run"], flow["flow"]), {}).get(name) for name in extra}
            rows.append(
                row
                | {
                    "run": run["run"],
                    "repetition": run["repetition"],
                    "trusted": run["trusted"],
                    "outcome": flow["outcome"] if run["outcome"] == "ok" else "failed",
                    PROTOCOLS: run["protocol"],
                    "protocol": flow.get("protocol") or run["protocol"],
                }
            )
    numbers = set(kpis) | set(extra) | {"jain_index"}
    table = pa.Table.from_pylist(rows)
    for place, field in enumerate(table.schema):
        if field.name in numbers:
            table = table.set_column(place, field.name, table.column(place).cast(pa.float32(), safe=False))
    return table


def _measured(
    experiment: Experiment, results: Results, wanted: set[str]
) -> dict[tuple[str, int], dict[str, float | None]]:
    """The study's own measures by run and flow; the only numbers that need the runs themselves. A plugin that
    was not run leaves none.
    """
    if not experiment.measures:
        return {}
    return {
        (run.id, flow.index): {it.name: it.of_flow(flow) for it in experiment.measures if it.of_flow}
        for run in results.runs()
        if run.id in wanted and run.ok
        for flow in flows_of(run)
    }


def _delays(results: Results, wanted: set[str]) -> pa.Table:
    kept = {
        key: (np.interp(LEVELS, part["level"], part["delay_s"]),)
        for key, part in _groups(results.table("delays"), wanted)
    }
    if not (of_messages := message_quantiles(results, wanted)):
        return _quantiles(kept, ("delay_s",))
    none = np.full(LEVELS.size, np.nan)
    keys = sorted(kept.keys() | of_messages.keys())
    both = {key: (*kept.get(key, (none,)), *of_messages.get(key, (none, none))) for key in keys}
    return _quantiles(both, ("delay_s", *MESSAGE_DELAYS))


def _windows(windows: pa.Table, wanted: set[str]) -> pa.Table:
    names = ("throughput_bps", "capacity_bps")
    kept = {}
    for key, part in _groups(windows, wanted):
        whole = part["duration_s"] >= _WHOLE_WINDOW * part["duration_s"].max()
        kept[key] = tuple(quantiles_of(part[name][whole]) for name in names)
    return _quantiles(kept, names)


def _quantiles(kept: Mapping[tuple[str, int], tuple[Floats, ...]], names: Sequence[str]) -> pa.Table:
    """Under each other: `run`, `flow`, `level` and one column a name."""
    columns = {
        "run": pa.array([run for run, _ in kept for _ in LEVELS], pa.string()),
        "flow": pa.array([flow for _, flow in kept for _ in LEVELS], pa.int32()),
        "level": pa.array(np.tile(LEVELS, len(kept))),
    }
    for place, name in enumerate(names):
        every = np.concatenate([each[place] for each in kept.values()]) if kept else np.empty(0)
        columns[name] = pa.array(_rounded(every), pa.float32(), from_pandas=True)
    return pa.table(columns)


def _rounded(values: Floats) -> Floats:
    """Values with `_BITS` significant bits: equal low bits compress to nothing."""
    mantissa, exponent = np.frexp(values)
    rounded: Floats = np.ldexp(np.round(mantissa * 2**_BITS) / 2**_BITS, exponent)
    return rounded


def _groups(table: pa.Table, wanted: Iterable[str]) -> Iterable[tuple[tuple[str, int], dict[str, Any]]]:
    """(run, flow) and its columns as arrays, for a table that stands in order of run and flow."""
    names = [name for name in table.column_names if name not in ("run", "flow")]
    kept = set(wanted)
    return ((key, part) for key, part in by_flow(table, names).items() if key[0] in kept)


def _series(experiment: Experiment, results: Results) -> pa.Table:
    schema = pa.schema(
        [
            ("run", pa.string()),
            ("flow", pa.int32()),
            ("protocol", pa.string()),
            ("seq", pa.int32()),
            ("sent_s", pa.float32()),
            ("received_s", pa.float32()),
            ("every", pa.int32()),
        ]
    )
    parts = []
    for run in results.runs():
        for flow in flows_of(run) if run.id in experiment.examples else []:
            every = max(1, -(-flow.sent_ns.size // SERIES_POINTS))
            kept = np.arange(0, flow.sent_ns.size, every)
            received_ns = flow.received_ns[kept]
            received_s = np.where(received_ns == NEVER_NS, np.nan, received_ns / NS_PER_S)
            count = kept.size
            columns = [
                pa.array([run.id] * count, pa.string()),
                pa.array([flow.index] * count, pa.int32()),
                pa.array([flow.protocol] * count, pa.string()),
                pa.array(kept, pa.int32()),
                pa.array(flow.sent_ns[kept] / NS_PER_S, pa.float32()),
                pa.array(received_s, pa.float32(), from_pandas=True),
                pa.array([every] * count, pa.int32()),
            ]
            parts.append(pa.Table.from_arrays(columns, schema=schema))
    return pa.concat_tables(parts) if parts else schema.empty_table()


def _manifest(
    results: Results, runs: pa.Table, planned: Sequence[RunSpec], every: Sequence[RunSpec]
) -> dict[str, Any]:
    manifest = results.manifest
    rows = runs.to_pylist()
    failed = {row["run"]: row["reason"] or "no reason was given" for row in rows if row["outcome"] != "ok"}
    doubtful = {row["run"] for row in rows if not row["trusted"]} - failed.keys()
    factors, labels = factors_of(every)
    return {
        "name": manifest.name,
        "title": manifest.title,
        "experiment_sha256": manifest.experiment_sha256,
        "seed": manifest.seed,
        "options": manifest.options,
        "kernel": manifest.engine.get("kernel", ""),
        "engine": manifest.engine,
        "versions": manifest.versions,
        "host": manifest.host,
        "workers": manifest.sessions[-1].workers if manifest.sessions else None,
        "factors": factors,
        "labels": labels,
        "planned": len(planned),
        "runs": len(rows),
        "trusted": sum(bool(row["trusted"]) for row in rows),
        "untrusted": _reasons(results, doubtful),
        "failed": failed,
        "wall_s": round(sum(session.wall_s or 0.0 for session in manifest.sessions), 1),
        "virtual_s": round(sum(row["virtual_s"] or 0.0 for row in rows), 1),
    }


def _reasons(results: Results, runs: set[str]) -> dict[str, str]:
    """The first failed check of each run that is not trusted, else the first that was not made."""
    found: dict[str, str] = {}
    if runs:
        checks = [check for check in results.table("certificates").to_pylist() if check["run"] in runs]
        for check in [
            *(check for check in checks if check["passed"] is False),
            *(check for check in checks if check.get("missing")),
            *(check for check in checks if check["passed"] is None),
        ]:
            found.setdefault(check["run"], check["sentence"])
    return {run: found.get(run, "It has no certificate that holds.") for run in sorted(runs)}


def factors_of(specs: Sequence[RunSpec]) -> tuple[dict[str, list[Any]], dict[str, dict[str, str]]]:
    """Every factor's values in the order of the experiment file, and how they read."""
    factors: dict[str, list[Any]] = {}
    labels: dict[str, dict[str, str]] = {}
    for spec in specs:
        named: dict[str, Any] = {**spec.factors, PROTOCOLS: spec.factors["protocol"]}
        for flow in spec.flows:
            _once(factors.setdefault("protocol", []), flow.protocol)
        for name, value in named.items():
            if name == "protocol":
                continue
            _once(factors.setdefault(name, []), value)
            label = spec.labels.get("protocol" if name == PROTOCOLS else name, str(value))
            labels.setdefault(name, {})[str(value)] = label
    return factors, labels


def _once(values: list[Any], value: Any) -> None:
    if value not in values:
        values.append(value)
