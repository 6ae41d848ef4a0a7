"""The results as the report needs them: rows of runs with their KPIs, cells of the matrix, verdicts in each
cell.
"""

import itertools
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from gauntlet.figures.style import OF_SUBJECT, Style, styles
from gauntlet.metrics.compare import Verdict, against_best
from gauntlet.metrics.flow import UNSUPPORTED
from gauntlet.metrics.intervals import Mean, mean, the_same
from gauntlet.metrics.kpi import Kpi, registry
from gauntlet.metrics.observation import (
    Observation,
    State,
    averaged,
    common_limit,
    observed,
    restricted,
)
from gauntlet.report.axes import Axis, Condition, axes_of
from gauntlet.report.subjects import is_greedy, slug, subjects_of
from gauntlet.results.reader import Results

KPI_ORDER = (
    "capacity_utilisation",
    "throughput_bps",
    "download_time_s",
    "delay_median_s",
    "delay_p95_s",
    "message_loss_ratio",
    "sender_drop_ratio",
    "retransmission_ratio",
    "jain_index",
)
"""The order in which KPIs are shown; others follow by name."""

TRANSFERS = frozenset({"bulk", "ftp", "ftps", "files", "page"})
"""Applications that have a number of bytes to bring and are then done."""

JUDGED_BY = {
    **dict.fromkeys(TRANSFERS, "download_time_s"),
    "web": "page_load_time_s",
    "periodic": "message_delay_with_setup_s",
    "voip": "voip_mos",
}
"""What flows of an application are judged by first; all others by what they make of the line."""

MADE_OF_THE_LINE = ("capacity_utilisation", "throughput_bps")


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
    subject: str = ""
    """What it is one of (`gauntlet.report.subjects`)."""
    app: str = ""
    greedy: bool = False
    """Whether it sends all it can."""
    completed: bool = True
    """Whether it did what it was to do."""
    supported: bool = True
    """Whether its programs could carry it at all."""
    given_s: float | None = None
    """How long it had for it."""
    received_bytes: int = 0

    def observed(self, kpi: Kpi) -> Observation | None:
        """What it says of a KPI; None where the KPI does not apply to it."""
        if not self.supported:
            return None
        value = self.kpis.get(kpi.name)
        return observed(kpi, value, completed=self.completed, given_s=self.given_s)


@dataclass(frozen=True)
class Cell:
    """One protocol under one condition, for one KPI."""

    mean: Mean | None
    """Over the trusted runs; when none is trusted, over the others, and `trusted` is False. What did not end
    counts with the limit (the restricted mean); what never came to be is not in it.
    """
    trusted: bool
    untrusted_runs: int
    failed_runs: int
    verdict: Verdict | None
    observations: Mapping[int, Observation]
    """By repetition: what the mean is over, and what never came to be."""
    flows: int
    """How many flows these repetitions had."""
    completed: int
    """How many of them did what they were to do."""
    higher_is_better: bool
    deterministic: bool = False
    """Whether every repetition is the same one, because nothing was drawn."""

    @property
    def repetitions(self) -> int:
        """The n of the cell: repetitions that say something; one, if they are all the same."""
        return min(len(self.observations), 1) if self.deterministic else len(self.observations)

    @property
    def known(self) -> int:
        """Repetitions that have a number, if only a limit."""
        return sum(it.state != State.NEVER for it in self.observations.values())

    @property
    def limit(self) -> float | None:
        """Where some did not end: the limit up to which they count."""
        return common_limit(self.observations.values())

    @property
    def median(self) -> Observation | None:
        """The middle repetition; of two the worse one, when they are not both numbers."""
        return self._at(0.5)

    @property
    def worst(self) -> Observation | None:
        """The worst repetition."""
        return self._at(1.0)

    def _at(self, level: float) -> Observation | None:
        sign = -1 if self.higher_is_better else 1
        bad = {State.MEASURED: 0, State.CENSORED: 1, State.NEVER: 2}
        ordered = sorted(self.observations.values(), key=lambda it: (bad[it.state], sign * it.value))
        if not ordered:
            return None
        place = level * (len(ordered) - 1)
        low, high = ordered[int(place)], ordered[int(np.ceil(place))]
        both = high.state == low.state == State.MEASURED
        return Observation((low.value + high.value) / 2) if both else high


@dataclass(frozen=True)
class Campaign:
    """All that the report says, from the tables of a results folder."""

    results: Results
    axes: list[Axis]
    constants: Mapping[str, str]
    styles: list[Style]
    rows: list[Row]
    specs: Mapping[str, Mapping[str, Any]]
    subject: str = ""
    """Whose flows the rows are; empty for all, and where all flows have the same work."""
    of_all: tuple[Style, ...] = ()
    """The styles of the whole campaign, of which this is a part."""

    @classmethod
    def load(cls, results: Results) -> "Campaign":
        """Read a results folder whose tables are made."""
        specs = {run.id: run.spec for run in results.runs()}
        axes, constants = axes_of(list(specs.values()))
        rows = _rows(results, specs, axes)
        return cls(results, axes, constants, styles({row.protocol for row in rows}), rows, specs)

    def named(self, name: str) -> str:
        """A name in the page (of a table, a figure) that no other part of the campaign has."""
        return f"{name}-{slug(self.subject)}" if self.subject else name

    def titled(self, title: str) -> str:
        """A title that says whose it is."""
        return f"{self.subject}: {title}" if self.subject else title

    @property
    def whole(self) -> Sequence[Style]:
        """The styles of the whole campaign."""
        return self.of_all or self.styles

    @cached_property
    def parts(self) -> list["Campaign"]:
        """One campaign for each kind of work that flows have: they are never averaged with each other."""
        found = []
        for subject in dict.fromkeys(row.subject for row in sorted(self.rows, key=lambda row: row.flow)):
            rows = [row for row in self.rows if row.subject == subject]
            mine = {row.protocol for row in rows}
            looks = [style for style in self.styles if style.key in mine]
            found.append(replace(self, rows=rows, styles=looks, subject=subject, of_all=tuple(self.styles)))
        return found

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
        if any(row.ok for row in self.rows):
            # Where nothing ended, that is the answer, and not that there is no such number.
            present |= {JUDGED_BY[app] for app in self.apps if app in TRANSFERS or app == "web"}
        order = {name: position for position, name in enumerate(KPI_ORDER)}
        known = present & registry().keys()
        names = sorted(known, key=lambda name: (order.get(name, len(order)), name))
        return [registry()[name] for name in names]

    @cached_property
    def apps(self) -> frozenset[str]:
        """The applications of its flows."""
        return frozenset(row.app for row in self.rows)

    @property
    def main_kpi(self) -> Kpi | None:
        """What the flows are judged by: the download time of transfers, the delay of single messages and of
        a steady rate below the line's, how a call sounds, else capacity used or throughput.
        """
        named = {JUDGED_BY.get(app, "") for app in self.apps}
        reliable = {style.key for style in self.styles if style.reliable}
        paced = not any(row.greedy for row in self.rows if row.protocol in reliable)
        if self.apps == {"cbr"} and reliable and paced:
            named = {"delay_p95_s"}
        wanted = [*(named if len(named) == 1 else ()), *MADE_OF_THE_LINE, "download_time_s"]
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

    def values(
        self, kpi: Kpi, protocol: str, condition: Condition, trusted: bool = True
    ) -> dict[int, Observation]:
        """The KPI by repetition, of trusted runs or of the others that ended; several flows of one run that
        have the same work are averaged.
        """
        found: dict[int, list[Observation]] = {}
        for row in self._at.get((protocol, condition), ()):
            seen = row.observed(kpi)
            if seen is not None and row.ok and row.trusted == trusted:
                found.setdefault(row.repetition, []).append(seen)
        return {repetition: averaged(flows) for repetition, flows in sorted(found.items())}

    def numbers(self, kpi: Kpi, protocol: str, condition: Condition) -> dict[int, float]:
        """The KPI by repetition as numbers that can be averaged: what did not end at the limit of the
        condition, without what never came to be.
        """
        limit = self.limit(kpi, condition)
        return {
            repetition: float(restricted([it], limit)[0])
            for repetition, it in self.values(kpi, protocol, condition).items()
            if it.state != State.NEVER
        }

    def limit(self, kpi: Kpi, condition: Condition) -> float | None:
        """The smallest limit at which a flow of any protocol was given up under a condition."""
        every = (self.values(kpi, style.key, condition).values() for style in self.styles)
        return common_limit(it for values in every for it in values)

    def done(self, protocol: str, condition: Condition) -> tuple[int, int]:
        """How many of the flows of trusted runs did what they were to do, and how many there are."""
        flows = [row for row in self._at.get((protocol, condition), ()) if row.trusted and row.supported]
        return sum(row.completed for row in flows), len(flows)

    def deterministic(self, protocol: str, condition: Condition) -> bool:
        """Whether all repetitions are the same one: every number of every flow is equal in all of them, and
        something arrived. Then nothing was drawn that reached the flow, and more repetitions say no more.
        """
        found: dict[int, list[tuple[Any, ...]]] = {}
        rows = [row for row in self._at.get((protocol, condition), ()) if row.trusted]
        for row in sorted(rows, key=lambda row: row.flow):
            told = (row.flow, row.completed, row.received_bytes, sorted(row.kpis.items()))
            found.setdefault(row.repetition, []).append(told)
        each = list(found.values())
        return len(each) > 1 and any(row.received_bytes for row in rows) and all(it == each[0] for it in each)

    def trusted_flows(self, protocol: str, condition: Condition) -> dict[str, list[int]]:
        """The trusted runs of a protocol under a condition, each with the flows that are the protocol's."""
        found: dict[str, list[int]] = {}
        for row in self._at.get((protocol, condition), ()):
            if row.trusted:
                found.setdefault(row.run, []).append(row.flow)
        return found

    def cells(self, kpi: Kpi, condition: Condition) -> dict[str, Cell]:
        """All protocols under one condition; only trusted runs of ranked protocols are compared."""
        place = (kpi.name, condition)
        if place not in self._made:
            self._made[place] = self._cells(kpi, condition)
        return self._made[place]

    def _cells(self, kpi: Kpi, condition: Condition) -> dict[str, Cell]:
        trusted = {style.key: self.values(kpi, style.key, condition) for style in self.styles}
        done = {name: self.done(name, condition) for name in trusted}
        repeated = {name for name in trusted if self.deterministic(name, condition)}
        verdicts = against_best(
            {key: trusted[key] for key in self.ranked},
            kpi.higher_is_better,
            completed={name: count / of if of else 0.0 for name, (count, of) in done.items()},
            deterministic=repeated,
        )
        limit = self.limit(kpi, condition)
        cells = {}
        for name, values in trusted.items():
            rows = self._at.get((name, condition), [])
            others = self.values(kpi, name, condition, trusted=False)
            shown = values or others
            numbers = restricted(shown.values(), limit)
            alike = bool(values) and name in repeated
            average = (the_same(float(numbers[0])) if alike else mean(numbers)) if numbers.size else None
            cells[name] = Cell(
                mean=average.within(kpi.least, kpi.most) if average else None,
                trusted=bool(values) or not others,
                untrusted_runs=len({row.run for row in rows if row.ok and not row.trusted}),
                failed_runs=len({row.run for row in rows if not row.ok}),
                verdict=verdicts.get(name),
                observations=shown,
                flows=done[name][1],
                completed=done[name][0],
                higher_is_better=kpi.higher_is_better,
                deterministic=alike,
            )
        return cells

    @cached_property
    def _made(self) -> dict[tuple[str, Condition], dict[str, Cell]]:
        return {}

    @cached_property
    def _at(self) -> dict[tuple[str, Condition], list[Row]]:
        found: dict[tuple[str, Condition], list[Row]] = {}
        for row in self.rows:
            found.setdefault((row.protocol, row.condition), []).append(row)
        return found


def _rows(results: Results, specs: Mapping[str, Mapping[str, Any]], axes: list[Axis]) -> list[Row]:
    subjects = subjects_of(list(specs.values()))
    flows_of_run: dict[str, list[dict[str, Any]]] = {}
    for flow in results.table("flows").to_pylist():
        flows_of_run.setdefault(flow["run"], []).append(flow)
    rows = []
    for run in results.table("runs").to_pylist():
        factors = specs[run["run"]].get("factors", {})
        flows = flows_of_run.get(run["run"], [])
        of_run = {name: run[name] for name, kpi in registry().items() if kpi.of_flows and name in run}
        planned = specs[run["run"]].get("flows", [])
        for flow in flows or [{"flow": place, "protocol": None} for place in range(max(len(planned), 1))]:
            names = {name for name, kpi in registry().items() if kpi.of_flow} & flow.keys()
            asked = planned[flow["flow"]] if flow["flow"] < len(planned) else {}
            subject = subjects.get(flow["flow"], "")
            series = _protocol_of(
                {**flow, "protocol": flow["protocol"] or asked.get("protocol")}, flows or planned, factors
            )
            rows.append(
                Row(
                    run=run["run"],
                    flow=flow["flow"],
                    protocol=f"{subject}{OF_SUBJECT}{series}" if subject else series,
                    condition=tuple(factors.get(axis.name) for axis in axes),
                    repetition=int(factors.get("repetition", 1)),
                    ok=run["outcome"] == "ok",
                    trusted=run["trusted"],
                    reason=run["reason"] or flow.get("reason"),
                    kpis={name: flow[name] for name in names} | of_run,
                    subject=subject,
                    app=str(flow.get("app") or asked.get("app") or ""),
                    greedy=is_greedy(asked),
                    completed=completed(flow),
                    supported=flow.get("outcome") != UNSUPPORTED,
                    given_s=flow.get("given_s"),
                    received_bytes=int(flow.get("received_bytes") or 0),
                )
            )
    return rows


def completed(flow: Mapping[str, Any]) -> bool:
    """Whether a flow of a table did what it was to do.

    Tables that an earlier version made do not say it. Then it is the flow's outcome, and of a transfer that
    it has a time: one that has none did not bring everything, whatever its outcome says.
    """
    said = flow.get("completed")
    if said is not None:
        return bool(said)
    unfinished = flow.get("app") in TRANSFERS and flow.get("download_time_s", 0.0) is None
    return flow.get("outcome") == "ok" and not unfinished


def _protocol_of(
    flow: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], factors: Mapping[str, Any]
) -> str:
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
