"""The results as the report needs them: rows of runs with their KPIs, cells of the matrix, and how protocols
stand against each other in each cell.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from gauntlet.experiment.threats import APP
from gauntlet.figures.style import OF_SUBJECT, Style, called, styles
from gauntlet.metrics.asked import Asked
from gauntlet.metrics.compare import against_best, tellable, too_few
from gauntlet.metrics.flow_rows import JUDGED_BY, TRANSFERS
from gauntlet.metrics.intervals import the_same, typical_mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.observation import Observation, State, averaged, common_limit, restricted
from gauntlet.metrics.registry import registry
from gauntlet.metrics.tails import OF_DUE
from gauntlet.report.about import About
from gauntlet.report.cell import Cell
from gauntlet.report.factors import Condition, Factor, factors_of
from gauntlet.report.kept import keeps, lost, of_kpi
from gauntlet.report.kpi_order import in_order
from gauntlet.report.loading import beside_labels, labels_of, named_once, rows_of, specifications
from gauntlet.report.once import found_once
from gauntlet.report.rows import Row
from gauntlet.report.samples import Samples
from gauntlet.report.subjects import slug
from gauntlet.results.reader import Results

MADE_OF_THE_LINE = ("capacity_utilisation", "throughput_bps")


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
        specs, about = specifications(results), About.of(results.experiment)
        factors, constants = factors_of(list(specs.values()), about.written())
        rows = rows_of(results, specs, factors)
        labels = labels_of(specs.values())
        with called(labels):
            labels |= beside_labels(rows)
        with called(labels):
            looks = [named_once(it) for it in about.in_order(styles({row.protocol for row in rows}))]
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

    @cached_property
    def about(self) -> About:
        """What the experiment's file says of itself."""
        return About.of(self.results.experiment)

    @cached_property
    def samples(self) -> Samples:
        """The quantiles that results keep; of the whole evaluation, not of each part again."""
        trusted = frozenset(row.run for row in self.rows if row.trusted)
        return Samples(self.results, trusted, singly=self.asked is not None)

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

    @property
    def interval(self) -> str:
        """What stands in brackets beside a mean: of fewer repetitions than tell anything only their range."""
        return "range of what was seen" if self.too_few else "95 % interval"

    @cached_property
    def kpis(self) -> list[Kpi]:
        """The KPIs that have a value in some run, in the order shown."""
        present = {name for row in self.rows for name, value in row.kpis.items() if value is not None}
        if any(row.ok for row in self.rows):
            # Where nothing ended, that is the answer, and not that there is no such number.
            present |= {JUDGED_BY[app] for app in self.apps if app in TRANSFERS or app == "web"}
        return [self.called(registry()[name]) for name in in_order(present & registry().keys())]

    def called(self, kpi: Kpi) -> Kpi:
        """A KPI as people call it here: what goes up is no download; percentiles of delays have the unit of
        what is asked, and say so where they are those of what arrived and not all did.
        """
        if kpi.name == "download_time_s" and any(row.upward and row.app in TRANSFERS for row in self.rows):
            return replace(kpi, label="Transfer time")
        if kpi.of_tail and self.asked is not None and self.of_due:
            unit = self.asked.kpi
            told = replace(kpi, shown_unit=unit.shown_unit, shown_factor=unit.shown_factor)
            return replace(told, definition=OF_DUE)
        if kpi.of_tail and any(lost(row) > 0 for row in self.rows):
            return replace(kpi, label=kpi.label.replace(",", " of what arrived,", 1))
        return kpi

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
        first = self.about.answer_by if self.asked is None else self.asked.column
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

    @found_once
    def values(
        self, kpi: Kpi, protocol: str, condition: Condition, trusted: bool = True
    ) -> Mapping[int, Observation]:
        """The KPI by repetition, of trusted runs or of the others that ended; several flows of one run that
        have the same work are averaged.
        """
        found: dict[int, list[Observation]] = {}
        for row in self._at.get((protocol, condition), ()):
            seen = of_kpi(kpi, row, self.samples, of_due=self.of_due)
            if seen is not None and row.ok and row.trusted == trusted:
                found.setdefault(row.repetition, []).append(seen)
        return {repetition: averaged(flows) for repetition, flows in sorted(found.items())}

    @cached_property
    def of_due(self) -> bool:
        """Whether percentiles of delays are those of all messages that were due, and not of what arrived."""
        return self.asked is not None and self.asked.level is not None

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

    @found_once
    def limit(self, kpi: Kpi, condition: Condition) -> float | None:
        """The smallest limit at which a flow of any protocol was given up under a condition."""
        every = (self.values(kpi, style.key, condition).values() for style in self.styles)
        return common_limit(it for values in every for it in values)

    @found_once
    def done(self, protocol: str, condition: Condition) -> tuple[int, int]:
        """How many of the flows of trusted runs did what they were to do, and how many there are."""
        flows = self.trusted_rows(protocol, condition)
        return sum(row.completed for row in flows), len(flows)

    @found_once
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

    @found_once
    def trusted_flows(self, protocol: str, condition: Condition) -> dict[str, list[int]]:
        """The trusted runs of a protocol under a condition, each with the flows that are the protocol's."""
        found: dict[str, list[int]] = {}
        for row in self._at.get((protocol, condition), ()):
            if row.trusted:
                found.setdefault(row.run, []).append(row.flow)
        return found

    @found_once
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

    @found_once
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
            matters=self.about.matters,
        )
        limit = self.limit(kpi, condition)
        cells = {}
        for name, values in trusted.items():
            rows = self._at.get((name, condition), [])
            others = self.values(kpi, name, condition, trusted=False)
            shown = values or others
            numbers = restricted(shown.values(), limit)
            alike = bool(values) and name in repeated
            average = None
            # Of all that were due some repetition may have none: the mean of the others would praise it.
            if numbers.size and not (self.of_due and kpi.of_tail and numbers.size < len(shown)):
                average = the_same(float(numbers[0])) if alike else typical_mean(numbers)
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
