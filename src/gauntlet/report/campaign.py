"""The results as the report needs them: rows of runs with their KPIs, cells of the matrix, verdicts in each
cell.
"""

import itertools
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from gauntlet.metrics.compare import Verdict, against_best
from gauntlet.metrics.intervals import Mean, mean
from gauntlet.metrics.kpi import Kpi, registry
from gauntlet.report.axes import Axis, Condition, axes_of
from gauntlet.report.style import Style, styles
from gauntlet.results.reader import Results

KPI_ORDER = (
    "capacity_utilisation",
    "throughput_bps",
    "download_time_s",
    "delay_median_s",
    "delay_p95_s",
    "message_loss_ratio",
    "retransmission_ratio",
    "jain_index",
)
"""The order in which KPIs are shown; others follow by name."""


@dataclass(frozen=True)
class Row:
    """One flow of one run."""

    run: str
    flow: int
    protocol: str
    condition: Condition
    repetition: int
    ok: bool
    trusted: bool
    reason: str | None
    kpis: Mapping[str, float | None]


@dataclass(frozen=True)
class Cell:
    """One protocol under one condition, for one KPI."""

    mean: Mean | None
    """Over the trusted runs; when none is trusted, over the others, and `trusted` is False."""
    trusted: bool
    untrusted_runs: int
    failed_runs: int
    verdict: Verdict | None


@dataclass(frozen=True)
class Campaign:
    """All that the report says, from the tables of a results folder."""

    results: Results
    axes: list[Axis]
    constants: Mapping[str, str]
    styles: list[Style]
    rows: list[Row]
    specs: Mapping[str, Mapping[str, Any]]

    @classmethod
    def load(cls, results: Results) -> "Campaign":
        """Read a results folder whose tables are made."""
        specs = {run.id: run.spec for run in results.runs()}
        axes, constants = axes_of(list(specs.values()))
        rows = _rows(results, specs, axes)
        return cls(results, axes, constants, styles({row.protocol for row in rows}), rows, specs)

    @property
    def title(self) -> str:
        """What the experiment calls itself."""
        manifest = self.results.manifest
        return manifest.title or manifest.name or "Experiment"

    @property
    def question(self) -> str:
        """What the experiment asks, as its file puts it; empty when it does not."""
        try:
            return str(tomllib.loads(self.results.experiment).get("experiment", {}).get("question", ""))
        except tomllib.TOMLDecodeError:
            return ""

    @cached_property
    def kernel(self) -> str:
        """Release of the guest kernel as the guests themselves told it; empty when no run says."""
        told = {str(run.record.get("guest", {}).get("kernel", "")) for run in self.results.runs()} - {""}
        return ", ".join(sorted(told))

    @cached_property
    def conditions(self) -> list[Condition]:
        """The conditions that have runs, the first axis varying slowest."""
        present = {row.condition for row in self.rows}
        every = itertools.product(*(axis.values for axis in self.axes))
        return [condition for condition in every if condition in present]

    @cached_property
    def repetitions(self) -> list[int]:
        """The numbers of the repetitions."""
        return sorted({row.repetition for row in self.rows})

    @cached_property
    def kpis(self) -> list[Kpi]:
        """The KPIs that have a value in some run, in the order shown."""
        present = {name for row in self.rows for name, value in row.kpis.items() if value is not None}
        order = {name: position for position, name in enumerate(KPI_ORDER)}
        known = present & registry().keys()
        names = sorted(known, key=lambda name: (order.get(name, len(order)), name))
        return [registry()[name] for name in names]

    @property
    def main_kpi(self) -> Kpi | None:
        """What the experiment is judged by: download time of transfers, else capacity used or throughput."""
        apps = {flow.get("app") for spec in self.specs.values() for flow in spec.get("flows", [])}
        wanted = ["download_time_s"] if apps == {"bulk"} else []
        wanted += ["capacity_utilisation", "throughput_bps", "download_time_s"]
        present = {kpi.name: kpi for kpi in self.kpis}
        return next((present[name] for name in wanted if name in present), None)

    @cached_property
    def ranked(self) -> list[str]:
        """The protocols that are compared with each other: those that repeat what is lost, if there are any.

        A transport that does not has an easier task, so it is shown beside the others but not ranked with
        them.
        """
        reliable = [style.key for style in self.styles if style.reliable]
        return reliable or [style.key for style in self.styles]

    def style(self, protocol: str) -> Style:
        """How a protocol looks."""
        return next(style for style in self.styles if style.key == protocol)

    def label(self, condition: Condition) -> str:
        """A condition for people: channel delay 25 ms, loss 1 %."""
        parts = [
            f"{axis.words} {axis.label(value)}" for axis, value in zip(self.axes, condition, strict=True)
        ]
        return ", ".join(parts) if parts else "all runs"

    def values(self, kpi: Kpi, protocol: str, condition: Condition, trusted: bool = True) -> dict[int, float]:
        """The KPI by repetition, of trusted runs or of the others; several flows of one run are averaged."""
        found: dict[int, list[float]] = {}
        for row in self._at.get((protocol, condition), ()):
            value = row.kpis.get(kpi.name)
            if value is not None and row.trusted == trusted:
                found.setdefault(row.repetition, []).append(value)
        return {repetition: sum(values) / len(values) for repetition, values in found.items()}

    def trusted_flows(self, protocol: str, condition: Condition) -> dict[str, list[int]]:
        """The trusted runs of a protocol under a condition, each with the flows that are the protocol's."""
        found: dict[str, list[int]] = {}
        for row in self._at.get((protocol, condition), ()):
            if row.trusted:
                found.setdefault(row.run, []).append(row.flow)
        return found

    def cells(self, kpi: Kpi, condition: Condition) -> dict[str, Cell]:
        """All protocols under one condition; only trusted runs of ranked protocols are compared."""
        trusted = {style.key: self.values(kpi, style.key, condition) for style in self.styles}
        ranked = {key: trusted[key] for key in self.ranked}
        verdicts = against_best(ranked, kpi.higher_is_better)
        cells = {}
        for name, values in trusted.items():
            rows = self._at.get((name, condition), [])
            others = self.values(kpi, name, condition, trusted=False)
            shown = values or others
            cells[name] = Cell(
                mean=mean(list(shown.values())).within(kpi.least, kpi.most) if shown else None,
                trusted=bool(values) or not others,
                untrusted_runs=len({row.run for row in rows if row.ok and not row.trusted}),
                failed_runs=len({row.run for row in rows if not row.ok}),
                verdict=verdicts.get(name),
            )
        return cells

    @cached_property
    def _at(self) -> dict[tuple[str, Condition], list[Row]]:
        found: dict[tuple[str, Condition], list[Row]] = {}
        for row in self.rows:
            found.setdefault((row.protocol, row.condition), []).append(row)
        return found


def _rows(results: Results, specs: Mapping[str, Mapping[str, Any]], axes: list[Axis]) -> list[Row]:
    flows_of_run: dict[str, list[dict[str, Any]]] = {}
    for flow in results.table("flows").to_pylist():
        flows_of_run.setdefault(flow["run"], []).append(flow)
    rows = []
    for run in results.table("runs").to_pylist():
        factors = specs[run["run"]].get("factors", {})
        flows = flows_of_run.get(run["run"], [])
        of_run = {name: run[name] for name, kpi in registry().items() if kpi.of_flows and name in run}
        for flow in flows or [{"flow": 0, "protocol": None}]:
            names = {name for name, kpi in registry().items() if kpi.of_flow} & flow.keys()
            rows.append(
                Row(
                    run=run["run"],
                    flow=flow["flow"],
                    protocol=_protocol_of(flow, flows, factors),
                    condition=tuple(factors.get(axis.name) for axis in axes),
                    repetition=int(factors.get("repetition", 1)),
                    ok=run["outcome"] == "ok",
                    trusted=run["trusted"],
                    reason=run["reason"] or flow.get("reason"),
                    kpis={name: flow[name] for name in names} | of_run,
                )
            )
    return rows


def _protocol_of(flow: Mapping[str, Any], flows: list[dict[str, Any]], factors: Mapping[str, Any]) -> str:
    """The series a flow belongs to: its protocol; beside flows of other protocols those are named too."""
    own = str(flow["protocol"] or factors.get("protocol") or flow.get("stack") or "flow")
    others = sorted({str(other["protocol"]) for other in flows if other["protocol"] not in (None, own)})
    return f"{own} beside {' and '.join(others)}" if others else own


def by_flow(table: pa.Table, names: Iterable[str]) -> dict[tuple[str, int], dict[str, Any]]:
    """Columns of a table that stands in order of run and flow, as NumPy arrays by (run, flow)."""
    if "flow" not in table.column_names:
        return {}
    keys = zip(table.column("run").to_pylist(), table.column("flow").to_pylist(), strict=True)
    columns = {name: table.column(name).to_numpy() for name in names}
    found: dict[tuple[str, int], dict[str, Any]] = {}
    start = 0
    for key, group in itertools.groupby(keys):
        end = start + sum(1 for _ in group)
        found[key] = {name: values[start:end] for name, values in columns.items()}
        start = end
    return found
