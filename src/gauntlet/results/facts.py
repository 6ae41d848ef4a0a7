"""The campaign's tables of plain facts: runs and certificates. Nothing is computed here."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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


def run_facts(run: Run) -> dict[str, Any]:
    """What a run's record and certificate say of it: outcome, reason, trusted, the certificate's verdict
    (`Run.verdict`), seed and virtual duration.
    """
    return {
        "outcome": run.record.get("outcome"),
        "reason": run.record.get("reason"),
        "trusted": run.trusted,
        "verdict": run.verdict,
        "seed": run.record.get("seed"),
        "virtual_s": run.record.get("virtual_s"),
    }


@dataclass(frozen=True)
class Told:
    """A run in the table of the runs: its place in the experiment, and its `run_facts`."""

    run: str
    factors: Mapping[str, Any]
    facts: Mapping[str, Any]


def runs_table(told: Sequence[Told]) -> pa.Table:
    """One row a run: `run`, its factors (one column each, as the experiment names them), its facts.

    Raises RunError when a factor has the name of another column.
    """
    factors = sorted({name for it in told for name in it.factors})
    taken = {"run"} | {name for name, _ in _RUN_COLUMNS}
    for name in factors:
        if name in taken:
            raise RunError(
                f"the experiment has a factor named {name!r}, which the runs table uses itself; rename it"
            )
    columns: dict[str, pa.Array] = {"run": pa.array([it.run for it in told], pa.string())}
    for name in factors:
        columns[name] = _factor_column([it.factors.get(name) for it in told])
    for name, kind in _RUN_COLUMNS:
        columns[name] = pa.array([it.facts[name] for it in told], kind)
    return pa.table(columns)


def checks(run: Run) -> list[dict[str, Any]]:
    """The checks of a run's certificate; what it did not check or could not decide has `passed` null.

    `missing` says what the record lacks for a check that could have been made; a run with such a row is not
    trusted. `measured` and `expected` are JSON text, because their keys differ from check to check.
    """
    rows: list[dict[str, Any]] = []
    for check in run.certificate.get("checks", []):
        rows.append(
            {
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
        rows.append({"name": "undecided", "passed": None, "sentence": sentence})
    return rows


def checks_table(of_runs: Iterable[tuple[str, Sequence[Mapping[str, Any]]]]) -> pa.Table:
    """One row a check, with its run (id, `checks`)."""
    rows = [{"run": run, **check} for run, of in of_runs for check in of]
    return pa.Table.from_pylist(rows, schema=_CERTIFICATE_COLUMNS)


NO_CHECKS = _CERTIFICATE_COLUMNS.empty_table()


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
