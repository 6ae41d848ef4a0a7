"""The campaign's tables of plain facts: runs, links, certificates. Nothing is computed here."""

import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from gauntlet.errors import RunError
from gauntlet.results.reader import Run

_RUN_COLUMNS = (
    ("outcome", pa.string()),
    ("reason", pa.string()),
    ("trusted", pa.bool_()),
    ("verdict", pa.string()),
    ("seed", pa.int64()),
    ("virtual_s", pa.float64()),
)

_CERTIFICATE_COLUMNS = pa.schema(
    [
        ("run", pa.string()),
        ("name", pa.string()),
        ("link", pa.string()),
        ("passed", pa.bool_()),
        ("sentence", pa.string()),
        ("missing", pa.string()),
        ("measured", pa.string()),
        ("expected", pa.string()),
    ]
)


def runs_table(runs: Iterable[Run]) -> pa.Table:
    """One row a run: `run`, its factors (one column each, as the experiment names them), outcome, reason,
    trusted, the certificate's verdict (`Run.verdict`), seed and virtual duration.

    Raises RunError when a factor has the name of another column.
    """
    runs = list(runs)
    factors = sorted({name for run in runs for name in run.factors})
    taken = {"run"} | {name for name, _ in _RUN_COLUMNS}
    for name in factors:
        if name in taken:
            raise RunError(
                f"the experiment has a factor named {name!r}, which the runs table uses itself; rename it"
            )
    columns: dict[str, pa.Array] = {"run": pa.array([run.id for run in runs], pa.string())}
    for name in factors:
        columns[name] = _factor_column([run.factors.get(name) for run in runs])
    rows = [
        (
            run.record.get("outcome"),
            run.record.get("reason"),
            run.trusted,
            run.verdict,
            run.record.get("seed"),
            run.record.get("virtual_s"),
        )
        for run in runs
    ]
    for position, (name, kind) in enumerate(_RUN_COLUMNS):
        columns[name] = pa.array([row[position] for row in rows], kind)
    return pa.table(columns)


def links_table(runs: Iterable[Run]) -> pa.Table:
    """The stretch of trace that each run rode: `run`, `bearer` and the columns of docs/formats/trace.md."""
    parts = []
    for run in runs:
        trace = run.trace()
        if trace is not None:
            parts.append(
                trace.add_column(0, "run", pa.repeat(pa.scalar(run.id, pa.string()), trace.num_rows))
            )
    if not parts:
        return pa.table({"run": pa.array([], pa.string()), "bearer": pa.array([], pa.string())})
    return pa.concat_tables(parts, promote_options="default")


def certificates_table(runs: Iterable[Run]) -> pa.Table:
    """One row a check; what a certificate did not check or could not decide is a row whose `passed` is null.

    `missing` says what the record lacks for a check that could have been made; a run with such a row is not
    trusted. `measured` and `expected` are JSON text, because their keys differ from check to check.
    """
    rows: list[dict[str, Any]] = []
    for run in runs:
        for check in run.certificate.get("checks", []):
            rows.append(
                {
                    "run": run.id,
                    "name": check["name"],
                    "link": check.get("link"),
                    "passed": check["passed"],
                    "sentence": check["sentence"],
                    "missing": check.get("missing"),
                    "measured": _text(check.get("measured")),
                    "expected": _text(check.get("expected")),
                }
            )
        for sentence in run.certificate.get("undecided", []):
            rows.append({"run": run.id, "name": "undecided", "passed": None, "sentence": sentence})
    return pa.Table.from_pylist(rows, schema=_CERTIFICATE_COLUMNS)


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _factor_column(values: list[Any]) -> pa.Array:
    """Whole numbers, numbers or text: the narrowest type that holds every value of the factor."""
    present = [value for value in values if value is not None]
    if all(isinstance(value, int) and not isinstance(value, bool) for value in present):
        return pa.array(values, pa.int64())
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array([None if value is None else str(value) for value in values], pa.string())
