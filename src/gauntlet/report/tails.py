"""The slowest messages, and whether flows keep what is asked of them: by protocol and condition.

Quantiles are of all messages that were due: one that never came is later than all that did, and a flow that
failed has none. Their means and intervals are over repetitions.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gauntlet.figures.style import OF_SUBJECT
from gauntlet.metrics import tails as levels
from gauntlet.metrics.asked import Asked
from gauntlet.metrics.intervals import Mean, the_same, typical_mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import MISSING, interval_text, mean_text, number
from gauntlet.metrics.observation import Observation, State, averaged, common_limit, restricted
from gauntlet.metrics.quantity import DISTRIBUTIONS
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Condition
from gauntlet.report.kept import delay, observed

_PACED = frozenset({"cbr", "vbr", "voip", "video"})
"""Applications whose delay is felt, where they do not send all they can."""

WORDS = (
    "Quantiles of the delay of all messages that were due, as means over repetitions; a message that never "
    "came is later than any other, and a flow that failed has none. Worst: the slowest message of all "
    "repetitions. Of a flow with fewer than 1,000 messages p99.9 is about its slowest one, with fewer than "
    "100 p99 is."
)
"""What the columns mean."""

DASH = (
    f"{MISSING} no number: in some repetition the flow failed, or so many messages never came that the "
    "percentile is one of those (p95: more than 5 % of them, p99: 1 %, p99.9: 0.1 %, worst: any)."
)
"""What a dash in them means."""


FINISHED = "Finished"
"""Head of the last column."""


@dataclass(frozen=True)
class Tail:
    """One protocol under one condition."""

    protocol: str
    condition: Condition
    quantiles: Mapping[float, Mean | None]
    """By the levels below the worst; None where in some repetition so many messages did not come. Empty where
    there is no delay to tell of.
    """
    worst: float | None
    """The slowest message of all repetitions; None where one did not come."""
    completed: int
    """Of the flows: how many did what they were to do."""
    flows: int
    value: Mean | None = None
    """What is asked, where something is; None where in some repetition there is no number."""
    least: bool = False
    """Whether some flow did not end and counts with its limit in `value`."""
    each: Mapping[int, Observation] = field(default_factory=dict)
    """What is asked, by repetition."""
    failed: int = 0
    """Repetitions in which there is no number of it since a flow failed."""
    kept: int = 0
    """Flows that kept the bound."""
    judged: int = 0
    """Flows that could keep it: all but those that what is asked does not apply to."""

    @property
    def never(self) -> int:
        """Repetitions in which there is no number of what is asked."""
        return _lacking(self.each)

    @property
    def word(self) -> str:
        """Whether the bound is kept: kept (by every flow), in part, not; empty where nothing is known."""
        if not self.judged:
            return ""
        return "kept" if self.kept == self.judged else "in part" if self.kept else "not"


def tails(part: Evaluation) -> list[Tail]:
    """Every protocol under every condition, of flows with the same work; empty where neither is anything
    asked of them nor have they a delay that an application feels.
    """
    of = distribution(part)
    if of is None and part.asked is None:
        return []
    return [_tail(part, style.key, condition, of) for style in part.styles for condition in part.conditions]


def best_first(asked: Asked, found: Iterable[Tail]) -> dict[str, list[Tail]]:
    """What keeps a bound or not, by protocol: the one first that keeps it under most conditions, of those
    that keep it as often the one whose worst value is the best.
    """
    of_protocol: dict[str, list[Tail]] = {}
    for it in found:
        of_protocol.setdefault(it.protocol, []).append(it)

    def place(those: Sequence[Tail]) -> tuple[float, float]:
        judged = sum(it.judged for it in those)
        kept = sum(it.word == "kept" for it in those)
        share = sum(it.kept for it in those) / judged if judged else 0.0
        return -(kept + share / 2), furthest(asked, those)

    return dict(sorted(of_protocol.items(), key=lambda item: place(item[1])))


def furthest(asked: Asked, those: Sequence[Tail]) -> float:
    """The worst value of several conditions, with more for what is worse; infinite without one."""
    sign = -1 if asked.kpi.higher_is_better else 1
    return max(math.inf if it.value is None else sign * it.value.value for it in those)


def distribution(part: Evaluation) -> str | None:
    """The delays whose tail is told: those that are asked, else those that the application feels."""
    if part.asked is not None and part.asked.distribution is not None:
        return part.asked.distribution
    if part.of_safety or part.greedy or not part.apps:
        return None
    if part.apps == {"periodic"}:
        return "each_message_delay_with_setup_s"
    return "delay_s" if part.apps <= _PACED else None


def _tail(part: Evaluation, protocol: str, condition: Condition, of: str | None) -> Tail:
    alike = part.deterministic(protocol, condition)
    done, flows = part.done(protocol, condition)

    def at(level: float) -> dict[int, Observation]:
        return {} if of is None else quantiles_of_due(part, protocol, condition, of, level)

    worst = at(levels.TAILS[-1])
    tail = Tail(
        protocol,
        condition,
        {level: _mean(at(level), alike=alike) for level in levels.TAILS[:-1]} if of is not None else {},
        max(it.value for it in worst.values()) if worst and not _lacking(worst) else None,
        done,
        flows,
    )
    return tail if part.asked is None else _judged(part, tail, part.asked, alike=alike)


def quantiles_of_due(
    part: Evaluation, protocol: str, condition: Condition, of: str, level: float
) -> dict[int, Observation]:
    """A quantile of the delays `of` of all messages that were due, by repetition."""
    rows = part.trusted_rows(protocol, condition)
    return _by_repetition((row.repetition, delay(row, level, of, part.samples)) for row in rows)


def _judged(part: Evaluation, tail: Tail, asked: Asked, *, alike: bool) -> Tail:
    """The same with how it stands to what is asked."""
    rows = part.trusted_rows(tail.protocol, tail.condition)
    seen = [(row, observed(asked, row, part.samples)) for row in rows]
    each = _by_repetition((row.repetition, it) for row, it in seen)
    without = {repetition for repetition, it in each.items() if it.state == State.NEVER}
    kept, judged = part.kept(tail.protocol, tail.condition)
    return replace(
        tail,
        value=_mean(each, alike=alike),
        least=common_limit(each.values()) is not None,
        each=each,
        failed=len(without & {row.repetition for row, it in seen if it is not None and not row.completed}),
        kept=kept,
        judged=judged,
    )


def _by_repetition(seen: Iterable[tuple[int, Observation | None]]) -> dict[int, Observation]:
    found: dict[int, list[Observation]] = {}
    for repetition, it in seen:
        if it is not None:
            found.setdefault(repetition, []).append(it)
    return {repetition: averaged(flows) for repetition, flows in sorted(found.items())}


def _lacking(each: Mapping[int, Observation]) -> int:
    return sum(it.state == State.NEVER for it in each.values())


def _mean(each: Mapping[int, Observation], *, alike: bool) -> Mean | None:
    """Over all repetitions; None without any, and where one has no number: that of the others would praise
    who fails.
    """
    if not each or _lacking(each):
        return None
    numbers = restricted(each.values(), common_limit(each.values()))
    found = the_same(float(numbers[0])) if alike else typical_mean(numbers)
    return found.within(0.0, float("inf"))


@dataclass(frozen=True)
class Entry:
    """A cell of the table."""

    text: str
    detail: str = ""
    """Its interval; empty without any."""
    bad: bool = False


@dataclass(frozen=True)
class Table:
    """The tails of flows with the same work, as they are shown."""

    title: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[Entry]]]
    """(protocol, condition, cells)."""
    head: str = "Protocol"
    """Of the first column."""
    asked: str = ""
    """The percentile that is asked, as its column begins; empty where none is."""

    @property
    def brief(self) -> list[bool]:
        """Which columns stand where there is no room for all: not those of percentiles but of the one that is
        asked, else p99; nor how many finished, where all did.
        """
        percentiles = [levels.short(level) for level in levels.TAILS[:-1]]
        wanted = self.asked if self.asked in percentiles else levels.short(0.99)
        left = {*percentiles} - {wanted}
        left |= set() if any(entries[-1].bad for *_, entries in self.rows) else {FINISHED}
        return [column.split()[0] not in left for column in self.columns]

    @property
    def dashes(self) -> bool:
        """Whether some cell has no number."""
        return any(entry.text == MISSING for *_, entries in self.rows for entry in entries)

    @property
    def several(self) -> bool:
        """Whether there is more than one condition, so that rows name theirs."""
        return len({condition for _, condition, _ in self.rows}) > 1


def legend_of(shown: Sequence[Table]) -> str:
    """What the columns of tables mean, and dashes in them; empty where no table has delays."""
    delays = [it for it in shown if any(column.startswith(levels.short(1.0)) for column in it.columns)]
    return " ".join([WORDS] * bool(delays) + [DASH] * any(it.dashes for it in delays))


def tables(parts: Iterable[Evaluation]) -> list[Table]:
    """The tables of several kinds of flows; those of which the same is asked share one."""
    alike: dict[tuple[Asked | None, tuple[str, ...]], list[tuple[Evaluation, Table]]] = {}
    for part in parts:
        if (found := table(part)) is not None:
            alike.setdefault((part.asked, tuple(found.columns)), []).append((part, found))
    return [those[0][1] if len(those) == 1 else _joined(those) for those in alike.values()]


def _joined(those: Sequence[tuple[Evaluation, Table]]) -> Table:
    """One table of several kinds of flows; their protocols are named where there is more than one."""
    several = len({protocol for _, of in those for protocol, *_ in of.rows}) > 1
    rows = [
        (f"{part.subject}{OF_SUBJECT}{protocol}" if several else part.subject, condition, entries)
        for part, of in those
        for protocol, condition, entries in of.rows
    ]
    (first, found), *_ = those
    return Table(found.title.removeprefix(first.titled("")), found.columns, rows, "Flow", found.asked)


def table(part: Evaluation) -> Table | None:
    """The tails as a table, by protocols, of which something is asked the best first; None without any."""
    found = tails(part)
    if not any(it.flows for it in found):
        return None
    asked, of = part.asked, distribution(part)
    if asked is not None:
        # In the order of the sentences above it.
        found = [it for those in best_first(asked, found).values() for it in those]
    delay = _delay_kpi(asked, of)
    own = None if asked is None or asked.level in levels.TAILS else asked
    columns = ["Kept by"] * (asked is not None)
    if own is not None:
        columns.append(_with_unit(own.kpi.label if own.level is None else own.what, own.kpi))
    if delay is not None:
        columns += [_with_unit(levels.short(level), delay) for level in levels.TAILS]
    rows = [
        (
            part.style(it.protocol).label.rpartition(OF_SUBJECT)[2],
            part.label(it.condition),
            [*_answer(it, asked, own), *_slowest(it, delay), _finished(it)],
        )
        for it in found
        if it.flows
    ]
    words = ["who keeps it"] * (asked is not None) + ["the slowest messages"] * (delay is not None)
    title = " and ".join(words)
    level = "" if asked is None or asked.level is None else levels.short(asked.level)
    return Table(part.titled(f"{title[0].upper()}{title[1:]}"), [*columns, FINISHED], rows, asked=level)


def _delay_kpi(asked: Asked | None, of: str | None) -> Kpi | None:
    """How delays are shown: in the unit of what is asked, where that is one of them."""
    if asked is not None and asked.distribution is not None:
        return asked.kpi
    return None if of is None else DISTRIBUTIONS[of][2]


def _with_unit(words: str, kpi: Kpi) -> str:
    return f"{words} ({kpi.shown_unit})" if kpi.shown_unit else words


def _answer(tail: Tail, asked: Asked | None, own: Asked | None) -> list[Entry]:
    """How many flows keep what is asked, and its value where no other column has it."""
    if asked is None:
        return []
    said = f"{tail.kept} of {tail.judged}" if tail.judged else MISSING
    value = [] if own is None else [_entry(tail.value, own.kpi, least=tail.least)]
    return [Entry(said, bad=tail.kept < tail.judged), *value]


def _slowest(tail: Tail, delay: Kpi | None) -> list[Entry]:
    if delay is None:
        return []
    worst = None if tail.worst is None else tail.worst * delay.shown_factor
    return [*(_entry(mean, delay) for mean in tail.quantiles.values()), Entry(number(worst))]


def _finished(tail: Tail) -> Entry:
    return Entry(f"{tail.completed} of {tail.flows}", bad=tail.completed < tail.flows)


def _entry(mean: Mean | None, kpi: Kpi, *, least: bool = False) -> Entry:
    if mean is None:
        return Entry(MISSING)
    return Entry(f"{'≥ ' * least}{mean_text(mean, kpi.shown_factor)}", interval_text(mean, kpi.shown_factor))


def as_data(part: Evaluation) -> list[dict[str, Any]]:
    """The tails as JSON types, values in SI units."""
    return [
        {
            "subject": part.subject,
            "protocol": it.protocol.rpartition(OF_SUBJECT)[2],
            "condition": dict(zip((factor.name for factor in part.factors), it.condition, strict=True)),
            **{f"{levels.key(level)}_s": _as_data(mean) for level, mean in it.quantiles.items()},
            **({f"{levels.key(levels.TAILS[-1])}_s": it.worst} if it.quantiles else {}),
            "completed": it.completed,
            "flows": it.flows,
            **({} if part.asked is None else _as_asked(it)),
        }
        for it in tails(part)
    ]


def _as_asked(tail: Tail) -> dict[str, Any]:
    return {
        "value": _as_data(tail.value),
        "without_value": tail.never,
        "kept": tail.kept,
        "judged": tail.judged,
        "verdict": tail.word or None,
    }


def _as_data(mean: Mean | None) -> dict[str, Any] | None:
    if mean is None:
        return None
    return {"mean": mean.value, "low": mean.low, "high": mean.high, "n": mean.n}
