"""The results as the report needs them: rows of runs with their KPIs, cells of the matrix, and how protocols
stand against each other in each cell.
"""

import itertools
import json
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, update_wrapper
from operator import itemgetter
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa

from gauntlet import units
from gauntlet.errors import UserError
from gauntlet.experiment.axes import axes
from gauntlet.experiment.threats import APP
from gauntlet.figures.style import OF_SUBJECT, Style, called, styles
from gauntlet.metrics.asked import Asked
from gauntlet.metrics.compare import Standing, against_best, tellable, too_few
from gauntlet.metrics.flow import UNSUPPORTED
from gauntlet.metrics.flow_rows import JUDGED_BY, TRANSFERS, completed
from gauntlet.metrics.intervals import Mean, the_same, typical_mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.observation import (
    Observation,
    State,
    averaged,
    common_limit,
    restricted,
)
from gauntlet.metrics.registry import registry
from gauntlet.report.channel import Channel, channel_of
from gauntlet.report.factors import NOT_CONDITIONS, Condition, Factor, factors_of
from gauntlet.report.kept import keeps
from gauntlet.report.rows import Row
from gauntlet.report.samples import Samples
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

MADE_OF_THE_LINE = ("capacity_utilisation", "throughput_bps")


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
    standing: Standing | None
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


Given = ParamSpec("Given")
Found = TypeVar("Found")


def _kept(
    method: Callable[Concatenate["Evaluation", Given], Found],
) -> Callable[Concatenate["Evaluation", Given], Found]:
    """A method that finds each of its answers once: tables, figures and sentences ask for them again."""
    name = f"_{method.__name__}_found"

    def once(self: "Evaluation", /, *args: Given.args, **kwargs: Given.kwargs) -> Found:
        found = self.__dict__.setdefault(name, {})
        place = (args, *kwargs.items())
        if place not in found:
            found[place] = method(self, *args, **kwargs)
        answer: Found = found[place]
        return answer

    update_wrapper(once, method)
    return once


@dataclass(frozen=True)
class Evaluation:
    """All that the report says, from the tables of a results folder."""

    results: Results
    factors: list[Factor]
    constants: Mapping[str, str]
    styles: list[Style]
    rows: list[Row]
    subject: str = ""
    """Whose flows the rows are; empty for all, and where all flows have the same work."""
    of_all: tuple[Style, ...] = ()
    """The styles of the whole evaluation, of which this is a part."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the experiment calls its protocols, by their keys."""

    @classmethod
    def load(cls, results: Results) -> "Evaluation":
        """Read a results folder whose tables are made."""
        specs = _specs(results)
        factors, constants = factors_of(list(specs.values()), _written(results.experiment))
        rows = _rows(results, specs, factors)
        labels = _labels(specs.values())
        with called(labels):
            looks = styles({row.protocol for row in rows})
        return cls(results, factors, constants, looks, rows, labels=labels)

    def named(self, name: str) -> str:
        """A name in the page (of a table, a figure) that no other part of the evaluation has."""
        return f"{name}-{slug(self.subject)}" if self.subject else name

    def titled(self, title: str) -> str:
        """A title that says whose it is."""
        aside = " (background)" * self.background
        return f"{self.subject}{aside}: {title}" if self.subject else title

    @property
    def whole(self) -> Sequence[Style]:
        """The styles of the whole evaluation."""
        return self.of_all or self.styles

    @cached_property
    def parts(self) -> list["Evaluation"]:
        """One evaluation for each kind of work that flows have: they are never averaged with each other."""
        found = []
        for subject in dict.fromkeys(row.subject for row in sorted(self.rows, key=lambda row: row.flow)):
            rows = [row for row in self.rows if row.subject == subject]
            mine = {row.protocol for row in rows}
            looks = [style for style in self.styles if style.key in mine]
            part = replace(self, rows=rows, styles=looks, subject=subject, of_all=tuple(self.styles))
            part.__dict__["samples"] = self.samples
            found.append(part)
        return found

    @cached_property
    def by_itself(self) -> "Evaluation":
        """The same with protocols called without the flow, for where its name stands already."""
        if not self.subject:
            return self
        mine = f"{self.subject}{OF_SUBJECT}"
        looks = [replace(it, label=it.label.removeprefix(mine)) for it in self.styles]
        part = replace(self, styles=looks)
        part.__dict__["samples"] = self.samples
        return part

    @property
    def title(self) -> str:
        """What the experiment calls itself."""
        manifest = self.results.manifest
        return manifest.title or manifest.name or "Experiment"

    @property
    def question(self) -> str:
        """What the experiment asks, as its file puts it; empty when it does not."""
        return str(self._about.get("question", ""))

    @property
    def matters(self) -> float:
        """The share of the best mean below which a difference does not matter to who asks."""
        try:
            return units.fraction(self._about.get("matters", 0.0))
        except UserError:
            return 0.0

    @property
    def has_load(self) -> bool:
        """Whether its flows are those of a test of latency under load ([load])."""
        return "load" in self._file

    @property
    def _about(self) -> Mapping[str, Any]:
        """[experiment] of the file; empty where that cannot be read."""
        about = self._file.get("experiment", {})
        return about if isinstance(about, dict) else {}

    @cached_property
    def _file(self) -> Mapping[str, Any]:
        """The experiment's file; empty where that cannot be read."""
        try:
            return tomllib.loads(self.results.experiment)
        except tomllib.TOMLDecodeError:
            return {}

    @cached_property
    def samples(self) -> Samples:
        """The quantiles that results keep; of the whole evaluation, not of each part again."""
        return Samples(self.results, frozenset(row.run for row in self.rows if row.trusted))

    @cached_property
    def asked(self) -> Asked | None:
        """What is asked of its flows, where they are of one subject; None where nothing is. Raises UserError
        when no flow can answer it.
        """
        judge = next((row.asked["judge"] for row in self.rows if row.asked.get("judge")), None)
        return None if judge is None else Asked.of(judge)

    @cached_property
    def background(self) -> bool:
        """Whether its flows are there for others' sake: nothing is answered about them."""
        return bool(self.rows) and all(row.asked.get("background") for row in self.rows)

    @cached_property
    def kernel(self) -> str:
        """Release of the guest kernel as a guest itself told it; empty when no run says. A folder has runs of
        one kernel image only.
        """
        told = (str(run.record.get("guest", {}).get("kernel", "")) for run in self.results.runs())
        return next((release for release in told if release), "")

    @cached_property
    def conditions(self) -> list[Condition]:
        """The conditions that have runs, the first factor varying slowest."""
        present = {row.condition for row in self.rows}
        every = itertools.product(*(factor.values for factor in self.factors))
        return [condition for condition in every if condition in present]

    @cached_property
    def repetitions(self) -> list[int]:
        """The numbers of the repetitions."""
        return sorted({row.repetition for row in self.rows})

    @cached_property
    def all_alike(self) -> bool:
        """Whether every repetition is the same one everywhere: then differences are none of chance."""
        return all(self.deterministic(style.key, it) for style in self.styles for it in self.conditions)

    @property
    def too_few(self) -> str:
        """That so few repetitions tell nothing from chance; empty where there are enough, where nothing was
        drawn, and of safety, whose verdicts count trials.
        """
        count = len(self.repetitions)
        return "" if tellable(count, alike=self.all_alike) or self.of_safety else too_few(count)

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
        return [self.called(registry()[name]) for name in names]

    def called(self, kpi: Kpi) -> Kpi:
        """A KPI as people call it here: what goes up is no download."""
        upward = any(row.upward and row.app in TRANSFERS for row in self.rows)
        return replace(kpi, label="Transfer time") if kpi.name == "download_time_s" and upward else kpi

    @cached_property
    def greedy(self) -> bool:
        """Whether some flow sends all it can: its delay is how large its own sender's buffer is."""
        return any(row.greedy for row in self.rows)

    @cached_property
    def apps(self) -> frozenset[str]:
        """The applications of its flows."""
        return frozenset(row.app for row in self.rows)

    @cached_property
    def of_safety(self) -> bool:
        """Whether its flows are of the application safety: verdicts judge them, and no KPI ranks them."""
        return APP in self.apps

    @property
    def main_kpi(self) -> Kpi | None:
        """What the flows are judged by: what is asked of them (`judge`, else `answer_by` of the experiment),
        else the download time of transfers, the delay of single messages and of a steady rate below the
        line's, how a call sounds, else capacity used or throughput. What is judged by a time is never judged
        by the line unless that is asked: of a short transfer it says nothing.
        """
        first = str(self._about.get("answer_by", "")) if self.asked is None else self.asked.column
        named = {JUDGED_BY.get(app, "") for app in self.apps}
        of_line = () if named and all(name.endswith("_s") for name in named) else MADE_OF_THE_LINE
        reliable = {style.key for style in self.styles if style.reliable}
        paced = not any(row.greedy for row in self.rows if row.protocol in reliable)
        if self.apps == {"cbr"} and reliable and paced:
            named = {"delay_p95_s"}
        wanted = [first, *(named if len(named) == 1 else ()), *of_line, "download_time_s"]
        present = {kpi.name: kpi for kpi in self.kpis}
        return next((present[name] for name in wanted if name in present), None)

    @cached_property
    def ranked(self) -> list[str]:
        """The protocols that are compared with each other: those that repeat what is lost, if there are any.

        A transport that does not has an easier task, so it is shown beside the others but not ranked with
        them. None of safety is: what is carried, and how fast, does not say who noticed a threat; nor are
        flows in the background, about which nothing is answered.
        """
        if self.of_safety or self.background:
            return []
        reliable = [style.key for style in self.styles if style.reliable]
        return reliable or [style.key for style in self.styles]

    def style(self, protocol: str) -> Style:
        """How a protocol looks."""
        return next(style for style in self.styles if style.key == protocol)

    def label(self, condition: Condition) -> str:
        """A condition for people: channel delay 25 ms, loss 1 %."""
        parts = [
            f"{factor.words} {factor.label(value)}"
            for factor, value in zip(self.factors, condition, strict=True)
        ]
        return ", ".join(parts) if parts else "all runs"

    @_kept
    def values(
        self, kpi: Kpi, protocol: str, condition: Condition, trusted: bool = True
    ) -> Mapping[int, Observation]:
        """The KPI by repetition, of trusted runs or of the others that ended; several flows of one run that
        have the same work are averaged.
        """
        found: dict[int, list[Observation]] = {}
        for row in self._at.get((protocol, condition), ()):
            seen = row.observed(kpi)
            if seen is not None and row.ok and row.trusted == trusted:
                found.setdefault(row.repetition, []).append(seen)
        return {repetition: averaged(flows) for repetition, flows in sorted(found.items())}

    def numbers(self, kpi: Kpi, protocol: str, condition: Condition) -> Mapping[int, float]:
        """The KPI by repetition as numbers that can be averaged: what did not end at the limit of the
        condition, without what never came to be.
        """
        limit = self.limit(kpi, condition)
        return {
            repetition: float(restricted([it], limit)[0])
            for repetition, it in self.values(kpi, protocol, condition).items()
            if it.state != State.NEVER
        }

    @_kept
    def limit(self, kpi: Kpi, condition: Condition) -> float | None:
        """The smallest limit at which a flow of any protocol was given up under a condition."""
        every = (self.values(kpi, style.key, condition).values() for style in self.styles)
        return common_limit(it for values in every for it in values)

    @_kept
    def done(self, protocol: str, condition: Condition) -> tuple[int, int]:
        """How many of the flows of trusted runs did what they were to do, and how many there are."""
        flows = self.trusted_rows(protocol, condition)
        return sum(row.completed for row in flows), len(flows)

    @_kept
    def deterministic(self, protocol: str, condition: Condition) -> bool:
        """Whether all repetitions are the same one: every number of every flow is equal in all of them, and
        something arrived. Then nothing was drawn that reached the flow, and more repetitions say no more.
        Never said of safety: repetitions with equal numbers may differ in what the receiver noticed.
        """
        if self.of_safety:
            return False
        found: dict[int, list[tuple[Any, ...]]] = {}
        rows = [row for row in self._at.get((protocol, condition), ()) if row.trusted]
        for row in sorted(rows, key=lambda row: row.flow):
            told = (row.flow, row.completed, row.received_bytes, sorted(row.kpis.items()))
            found.setdefault(row.repetition, []).append(told)
        each = list(found.values())
        return len(each) > 1 and any(row.received_bytes for row in rows) and all(it == each[0] for it in each)

    @_kept
    def trusted_flows(self, protocol: str, condition: Condition) -> dict[str, list[int]]:
        """The trusted runs of a protocol under a condition, each with the flows that are the protocol's."""
        found: dict[str, list[int]] = {}
        for row in self._at.get((protocol, condition), ()):
            if row.trusted:
                found.setdefault(row.run, []).append(row.flow)
        return found

    @_kept
    def kept(self, protocol: str, condition: Condition) -> tuple[int, int]:
        """How many of the flows of trusted runs kept what is asked of them, and how many could; zeros where
        nothing is asked.
        """
        if self.asked is None:
            return 0, 0
        told = [keeps(self.asked, row, self.samples) for row in self.trusted_rows(protocol, condition)]
        return sum(it is True for it in told), sum(it is not None for it in told)

    def _done_shares(self, kpi: Kpi, condition: Condition) -> dict[str, float]:
        """The share of each protocol's flows that did what they were to do; for the KPI that is asked that
        kept it, where any did: whoever keeps it less often is not the best, whatever its mean.
        """
        counts = {style.key: self.done(style.key, condition) for style in self.styles}
        if self.asked is not None and kpi.name == self.asked.column:
            kept = {style.key: self.kept(style.key, condition) for style in self.styles}
            counts = kept if any(count for count, _ in kept.values()) else counts
        return {name: count / of if of else 0.0 for name, (count, of) in counts.items()}

    def trusted_rows(self, protocol: str, condition: Condition) -> list[Row]:
        """The flows of a protocol under a condition, of trusted runs, as far as they could be carried."""
        return [row for row in self._at.get((protocol, condition), ()) if row.trusted and row.supported]

    @_kept
    def cells(self, kpi: Kpi, condition: Condition) -> Mapping[str, Cell]:
        """All protocols under one condition; only trusted runs of ranked protocols are compared."""
        trusted = {style.key: self.values(kpi, style.key, condition) for style in self.styles}
        done = {name: self.done(name, condition) for name in trusted}
        repeated = {name for name in trusted if self.deterministic(name, condition)}
        standings = against_best(
            {key: trusted[key] for key in self.ranked},
            kpi.higher_is_better,
            completed=self._done_shares(kpi, condition),
            deterministic=repeated,
            matters=self.matters,
        )
        limit = self.limit(kpi, condition)
        cells = {}
        for name, values in trusted.items():
            rows = self._at.get((name, condition), [])
            others = self.values(kpi, name, condition, trusted=False)
            shown = values or others
            numbers = restricted(shown.values(), limit)
            alike = bool(values) and name in repeated
            average = (
                (the_same(float(numbers[0])) if alike else typical_mean(numbers)) if numbers.size else None
            )
            cells[name] = Cell(
                mean=average.within(kpi.least, kpi.most) if average else None,
                trusted=bool(values) or not others,
                untrusted_runs=len({row.run for row in rows if row.ok and not row.trusted}),
                failed_runs=len({row.run for row in rows if not row.ok}),
                standing=standings.get(name),
                observations=shown,
                flows=done[name][1],
                completed=done[name][0],
                higher_is_better=kpi.higher_is_better,
                deterministic=alike,
            )
        return cells

    @cached_property
    def _at(self) -> dict[tuple[str, Condition], list[Row]]:
        found: dict[tuple[str, Condition], list[Row]] = {}
        for row in self.rows:
            found.setdefault((row.protocol, row.condition), []).append(row)
        return found


def _specs(results: Results) -> dict[str, dict[str, Any]]:
    """What a report needs of the specification of each run; equal parts of them are one object."""
    known: dict[str, Any] = {}
    channels: dict[Channel, Channel] = {}

    def once(part: Any) -> Any:
        return known.setdefault(json.dumps(part), part)

    found = {}
    for run in results.runs():
        spec = run.spec
        labels = {name: text for name, text in spec.get("labels", {}).items() if name not in NOT_CONDITIONS}
        found[run.id] = {
            "factors": {name: once(value) for name, value in spec.get("factors", {}).items()},
            "labels": once(labels),
            "called": once(spec.get("labels", {}).get("protocol", "")),
            "flows": once(spec.get("flows", [])),
            "start_s": once(spec.get("start_s")),
            "link": once({"loss_direction": (spec.get("link") or {}).get("loss_direction", "both")}),
            "channel": channels.setdefault(channel := channel_of(spec), channel),
        }
    return found


def _written(experiment: str) -> Mapping[str, Sequence[Any]]:
    """The values of each factor as the experiment has them in order, for runs lie in that of their ids; none
    where the file cannot be read.
    """
    try:
        matrix = {**tomllib.loads(experiment).get("matrix", {}), "protocols": []}
        _, found = axes(matrix, {})
    except (tomllib.TOMLDecodeError, TypeError, UserError):
        return {}
    return {axis.factor: [value.factor for value in axis.values] for axis in found}


def _labels(specs: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What an experiment calls its protocols, by their keys: a run of `a+b` has both labels, `A + B`."""
    found: dict[str, str] = {}
    for spec in specs:
        keys = str(spec["factors"].get("protocol", "")).split("+")
        labels = spec["called"].split(" + ") if len(keys) > 1 else [spec["called"]]
        if len(keys) == len(labels):
            found.update((key, label) for key, label in zip(keys, labels, strict=True) if label)
    return found


_OF_FLOW = (
    "run", "flow", "protocol", "stack", "app", "outcome", "completed", "given_s", "reason", "received_bytes",
    "observed_until_s", "download_time_s",
)  # fmt: skip
"""Columns of the flows besides their KPIs."""

_ROWS_AT_A_TIME = 4096


def _rows(results: Results, specs: Mapping[str, Mapping[str, Any]], varied: list[Factor]) -> list[Row]:
    subjects, constant = subjects_of(list(specs.values())), _constant(specs.values())
    table, runs = results.table("flows"), results.table("runs")
    kpis = [name for name, kpi in registry().items() if kpi.of_flow and _told(table, name)]
    kpis_of_run = [name for name, kpi in registry().items() if kpi.of_flows and _told(runs, name)]
    facts = [name for name in _OF_FLOW if name in table.column_names]
    flows_of_run = _by_run(table.select(list(dict.fromkeys([*facts, *kpis]))))
    upcoming = next(flows_of_run, None)
    known: dict[Any, Any] = {}

    def once(value: Any) -> Any:
        return known.setdefault(value, value)

    rows = []
    for run in _each(runs.select(["run", "outcome", "trusted", "reason", *kpis_of_run])):
        spec = specs[run["run"]]
        factors, planned = spec["factors"], spec["flows"]
        numbered = [{**flow, "flow": place} for place, flow in enumerate(planned)]
        flows: list[dict[str, Any]] = []
        if upcoming is not None and upcoming[0] == run["run"]:
            flows, upcoming = upcoming[1], next(flows_of_run, None)
        of_run = {name: run[name] for name in kpis_of_run}
        condition = once(tuple(factors.get(factor.name) for factor in varied))
        for flow in flows or [{"flow": place, "protocol": None} for place in range(max(len(planned), 1))]:
            asked = planned[flow["flow"]] if flow["flow"] < len(planned) else {}
            subject = subjects.get(flow["flow"], "")
            own = {**flow, "protocol": flow["protocol"] or asked.get("protocol")}
            series = _protocol_of(own, flows or numbered, factors, constant)
            rows.append(
                Row(
                    run=run["run"],
                    flow=flow["flow"],
                    protocol=once(f"{subject}{OF_SUBJECT}{series}" if subject else series),
                    condition=condition,
                    repetition=int(factors.get("repetition", 1)),
                    ok=run["outcome"] == "ok",
                    trusted=run["trusted"],
                    reason=run["reason"] or flow.get("reason"),
                    kpis={name: flow.get(name) for name in kpis} | of_run,
                    subject=subject,
                    app=once(str(flow.get("app") or asked.get("app") or "")),
                    greedy=is_greedy(asked),
                    upward=asked.get("direction") == "up",
                    completed=completed(flow),
                    supported=flow.get("outcome") != UNSUPPORTED,
                    given_s=flow.get("given_s"),
                    received_bytes=int(flow.get("received_bytes") or 0),
                    start_s=spec["start_s"],
                    asked=asked,
                    channel=spec["channel"],
                    observed_until_s=flow.get("observed_until_s"),
                )
            )
    return rows


def _told(table: pa.Table, name: str) -> bool:
    """Whether a table has a column with any value."""
    return name in table.column_names and table.column(name).null_count < table.num_rows


def _each(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a table, not all at once."""
    for batch in table.to_batches(max_chunksize=_ROWS_AT_A_TIME):
        yield from batch.to_pylist()


def _by_run(table: pa.Table) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The rows of each run of a table that stands in their order."""
    for run, rows in itertools.groupby(_each(table), key=itemgetter("run")):
        yield run, list(rows)


def _protocol_of(
    flow: Mapping[str, Any],
    flows: Sequence[Mapping[str, Any]],
    factors: Mapping[str, Any],
    constant: Collection[int],
) -> str:
    """The series a flow belongs to: its protocol; beside flows of other protocols those are named too, but
    not those at the places that are `constant`.
    """
    own = str(flow["protocol"] or factors.get("protocol") or flow.get("stack") or "flow")
    beside = (str(it["protocol"]) for it in flows if it["protocol"] and it.get("flow") not in constant)
    others = sorted(set(beside) - {own})
    return f"{own} beside {' and '.join(others)}" if others else own


def _constant(specs: Iterable[Mapping[str, Any]]) -> frozenset[int]:
    """The places of flows in the background that have one protocol in all runs: they stand beside everything
    and tell no two series apart.
    """
    found: dict[int, set[str | None]] = {}
    for spec in specs:
        for place, flow in enumerate(spec["flows"]):
            known = flow.get("protocol") if flow.get("background") else None
            found.setdefault(place, set()).add(known)
    return frozenset(place for place, those in found.items() if len(those) == 1 and None not in those)
