"""Made-up summaries and studies: a few numbers a run, so that a test says what the results are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa

from gauntlet.figures.kind import Chart, Table
from gauntlet.figures.tidy import data
from gauntlet.metrics.message_quantiles import LEVELS
from gauntlet.studies.decide import Context
from gauntlet.studies.model import Experiment, Figure, Printed, Study
from gauntlet.studies.summary import Part, Summary

PROTOCOLS = ("tcp-cubic", "tcp-bbr", "sctp")
LOSSES = (0.0, 0.01)
REPETITIONS = 10

LEDGER = """
[[claim]]
id = "bbr-keeps"
where = "section 6.2, Figure 18"
claim = "BBR keeps its throughput under 1 % loss."
threshold = "practically the same: within 10 %"
figures = ["18"]
printed = "about 2.2 Mbit/s"

[claim.decide]
kind = "comparison"
experiment = "cbr"
kpi = "throughput_bps"
this = { protocol = "tcp-bbr", loss = 0.01 }
that = { protocol = "tcp-bbr", loss = 0 }
at_least = 0.9
"""


def flows(values: Mapping[tuple[str, float], Sequence[float | None]], **columns: Sequence[Any]) -> pa.Table:
    """One flow a run: `values` holds the throughput of each repetition by (protocol, loss)."""
    rows: list[dict[str, Any]] = [
        {
            "run": f"{protocol}_loss-{loss}_rep-{repetition:03d}",
            "flow": 0,
            "protocols": protocol,
            "protocol": protocol,
            "loss": loss,
            "repetition": repetition,
            "trusted": True,
            "outcome": "ok",
            "received_messages": 100 + repetition,
            "throughput_bps": value,
        }
        for (protocol, loss), each in values.items()
        for repetition, value in enumerate(each, 1)
    ]
    table = pa.Table.from_pylist(rows)
    for name, column in columns.items():
        place = table.column_names.index(name) if name in table.column_names else None
        added = pa.array(column)
        table = table.append_column(name, added) if place is None else table.set_column(place, name, added)
    return table


def summary(table: pa.Table, delay_s: float = 0.1, window_bps: float = 2e6) -> Summary:
    """A summary with one experiment `cbr`. Delays are uniform from 0 to twice `delay_s`, windows likewise."""
    keys = table.select(["run", "flow"]).to_pylist()
    runs = pa.array([key["run"] for key in keys for _ in LEVELS], pa.string())
    numbers = pa.array([key["flow"] for key in keys for _ in LEVELS], pa.int32())
    levels = np.tile(LEVELS, len(keys))

    def quantiles(**columns: float) -> pa.Table:
        held = {name: pa.array(2 * middle * levels, pa.float32()) for name, middle in columns.items()}
        return pa.table({"run": runs, "flow": numbers, "level": pa.array(levels), **held})

    tables = {
        "flows": table,
        "delays": quantiles(delay_s=delay_s),
        "windows": quantiles(throughput_bps=window_bps, capacity_bps=2 * window_bps),
        "series": pa.table({"run": pa.array([], pa.string())}),
    }
    trusted = sum(table.column("trusted").to_pylist())
    manifest = {
        "name": "d00-cbr",
        "title": "Made-up",
        "experiment_sha256": "ab" * 32,
        "seed": 34,
        "options": {"repetitions": REPETITIONS},
        "kernel": "6.12.0",
        "engine": {"kernel_sha256": "cd" * 32, "guest_sha256": "ef" * 32},
        "versions": {"gauntlet": "0.1.0"},
        "host": {"processor": "Some CPU", "cores": 2},
        "workers": 2,
        "factors": {
            "protocol": list(PROTOCOLS),
            "protocols": list(PROTOCOLS),
            "loss": list(LOSSES),
            "repetition": list(range(1, REPETITIONS + 1)),
        },
        "labels": {"loss": {"0.0": "0 %", "0.01": "1 %"}},
        "planned": table.num_rows,
        "runs": table.num_rows,
        "trusted": trusted,
        "untrusted": {"a run that bends": "The link was 2 % too fast."} if trusted < table.num_rows else {},
        "failed": {},
        "wall_s": 12.0,
        "virtual_s": 1200.0,
    }
    return Summary("d00", {"cbr": Part(manifest, tables)})


def steady(centre: float, spread: float = 0.02, count: int = REPETITIONS) -> list[float]:
    """Values of `count` repetitions around a centre, their spread a share of it."""
    return [centre * (1 + spread * offset) for offset in np.linspace(-1, 1, count)]


def study(folder: Path, ledger: str = LEDGER, **changes: Any) -> Study:
    """A study with one experiment, one drawn figure, one table and one figure that cannot be drawn."""
    (folder / "experiments").mkdir(parents=True, exist_ok=True)
    (folder / "ledger.toml").write_text(ledger)
    figures = (
        Figure(
            "18",
            "Throughput of BBR",
            "Greedy sources.",
            ("cbr",),
            lambda _: [Chart("A made-up line.", _line())],
            (Printed("Mean", "2.2 Mbit/s", "section 6.2"),),
        ),
        Figure("table-9", "Which protocol for whom", "By rule.", ("cbr",), lambda _: [_table()]),
        Figure("20", "Regional line", "Not run.", ("other",), lambda found: [_flows_of(found, "other")]),
        Figure("extra", "More than the study has", "", ("cbr",), lambda _: [_table()], beyond=True),
    )
    given: dict[str, Any] = {
        "home": folder,
        "key": "d00",
        "title": "A made-up study",
        "citation": "Nobody: Nothing. 2026.",
        "experiments": (Experiment(folder, "cbr"), Experiment(folder, "other")),
        "figures": figures,
        "notes": (("A newer kernel", "The study used another one."),),
    }
    return Study(**{**given, **changes})


def context(found: Summary, folder: Path, **changes: Any) -> Context:
    """What a rule decides from."""
    return Context(study(folder, **changes), found)


def _line() -> alt.LayerChart:
    rows = data({"x": [0, 1], "y": [1, 2]})
    line = alt.Chart(rows).mark_line(color="#0072B2").encode(x="x:Q", y="y:Q")
    return alt.LayerChart(layer=[line], width=300, height=100)


def _table() -> Table:
    return Table("A table.", ("class", "measured"), (("voice", "1.20"), ("video", "–")))


def _flows_of(found: Summary, experiment: str) -> Table:
    return Table("Flows.", ("flows",), ((str(found.flows(experiment).num_rows),),))
