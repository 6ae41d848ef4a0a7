"""Threats met by hazard and transport: shares of messages, intervals by repetition, what became of them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gauntlet.errors import UserError
from gauntlet.evidence import THREATS, Met, Trial, is_new, met
from gauntlet.evidence.trials import trials_of
from gauntlet.experiment import threats
from gauntlet.experiment.protocols import PROTOCOLS
from gauntlet.metrics.intervals import Mean, mean, the_same
from gauntlet.results.reader import Results, Run

UNCHECKED, CHECKED = "unchecked", "freshness checked"
"""Receivers without and with the application's freshness check."""
REFERENCE = "udp"
"""What hands on each datagram that comes: its receivers meet what the line does."""
HOUR_S = 3600.0


@dataclass
class _Repetition:
    """What the receivers of one run met: the unit, since its sessions and messages share a line."""

    messages: Counter[bool] = field(default_factory=Counter)
    """Sent, by freshness check."""
    due: int = 0
    """Messages that the plan asks for; without a session none is sent."""
    met: list[tuple[bool, Met]] = field(default_factory=list)
    identity: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Frequency:
    """How often messages met one threat, and what became of it."""

    share: Mean | None
    """Of all messages sent, as mean of the repetitions' shares; None without repetitions."""
    per_hour: float | None
    """The same for one session in an hour in which the hazard lasts."""
    bound: float | None
    """Where no message met it in N repetitions: 3/N, the share of repetitions in which one may (95 %)."""
    became: Mapping[str, Mapping[str, int]]
    """By receivers (unchecked, freshness checked): messages by what became of them, most of them first."""

    @property
    def count(self) -> int:
        """Messages that met it."""
        return sum(sum(told.values()) for told in self.became.values())


@dataclass(frozen=True)
class Row:
    """One transport under one hazard."""

    protocol: str
    repetitions: int
    """That count: those that can be trusted and are no copies of another one."""
    left_out: int
    """Repetitions that are copies or cannot be trusted."""
    messages: Mapping[str, int]
    """Sent, by receivers."""
    unsent: int
    """Messages that were due and never sent, for want of a session."""
    per_hour: float | None
    """Messages that a session has in an hour; None where sessions differ in that."""
    threats: Mapping[str, Frequency]
    """By EN 50159's names, all seven."""


@dataclass(frozen=True)
class Hazard:
    """One condition of an experiment."""

    name: str
    title: str
    condition: Mapping[str, str]
    """What the experiment varies beside protocol and freshness, in its own words."""
    rows: list[Row]

    def row(self, key: str) -> Row | None:
        """That of a transport."""
        return next((row for row in self.rows if row.protocol == key), None)


_Condition = tuple[tuple[str, str], ...]


def measured(folders: Iterable[Path]) -> list[Hazard]:
    """The hazards of results folders, in their order.

    Raises UserError for a folder without safety messages, and for one in which somebody attacks.
    """
    return [hazard for folder in folders for hazard in _of_folder(folder)]


def _of_folder(folder: Path) -> Iterator[Hazard]:
    results = Results.open(folder)
    runs: dict[_Condition, dict[str, list[Run]]] = {}
    for run in results.runs():
        if any(flow["app"] == threats.APP for flow in run.spec["flows"]):
            _refuse_attacks(folder, run)
            condition = tuple(
                (name, value)
                for name, value in run.spec["labels"].items()
                if name not in ("protocol", "repetition", "freshness")
            )
            by_protocol = runs.setdefault(condition, {})
            by_protocol.setdefault(str(run.factors["protocol"]), []).append(run)
    if not runs:
        raise UserError(f"{folder}: no run has a flow of the application '{threats.APP}'.")
    name = results.manifest.name
    title = results.manifest.title or name
    for condition, by_protocol in runs.items():
        rows = [_row(key, by_protocol[key]) for key in sorted(by_protocol, key=_place)]
        yield Hazard(name, title, dict(condition), rows)


def _place(key: str) -> tuple[bool, int, str]:
    """The line itself first, then as protocols are registered, an experiment's own behind them."""
    known = list(PROTOCOLS)
    return key != REFERENCE, known.index(key) if key in known else len(known), key


def _refuse_attacks(folder: Path, run: Run) -> None:
    """Frequencies of a hazard are those of a line on which nobody does anything on purpose."""
    armed = any(threats.at_sender(flow) is not None for flow in run.plan["flows"])
    if armed or run.plan.get("in_path"):
        raise UserError(
            f"{folder}: in run {run.id} somebody acts on packets or messages; hazards are measured where "
            "nobody does ([[threat]] and [[in_path]] have verdicts: `gauntlet report`)."
        )


def _row(key: str, runs: list[Run]) -> Row:
    repetitions: dict[int, _Repetition] = {}
    per_hour: set[float] = set()
    untrusted = set()
    for run in runs:
        number = int(run.factors["repetition"])
        if not run.trusted:
            untrusted.add(number)
            continue
        for trial in trials_of(run):
            params = run.plan["flows"][trial.flow]["app_params"]
            per_hour.add(HOUR_S / params["interval_s"])
            _take(repetitions.setdefault(number, _Repetition()), trial, params)
    seen: set[int] = set()
    kept = [
        repetitions[number]
        for number in sorted(set(repetitions) - untrusted)
        if is_new(_identity(repetitions[number]), seen)
    ]
    hourly = per_hour.pop() if len(per_hour) == 1 else None
    copies = len(kept) == 1 and len(repetitions) > 1
    return Row(
        protocol=key,
        repetitions=len(kept),
        left_out=len(set(repetitions) | untrusted) - len(kept),
        messages={
            words: sum(it.messages[checked] for it in kept)
            for checked, words in ((False, UNCHECKED), (True, CHECKED))
        },
        unsent=sum(it.due - it.messages.total() for it in kept),
        per_hour=hourly,
        threats={threat: _frequency(threat, kept, hourly, copies=copies) for threat in THREATS},
    )


def _take(repetition: _Repetition, trial: Trial, params: Mapping[str, Any]) -> None:
    checked = bool(params.get("freshness", True))
    repetition.messages[checked] += len(trial.course.sent_ns)
    repetition.due += round(params["duration_s"] / params["interval_s"])
    repetition.met += [(checked, it) for it in met(trial.course)]
    repetition.identity.append(trial.identity)


def _identity(repetition: _Repetition) -> tuple[Any, ...] | None:
    """What a copy of the repetition would have, too; None where chance had a part in it."""
    return None if None in repetition.identity else tuple(repetition.identity)


def _frequency(threat: str, kept: list[_Repetition], hourly: float | None, *, copies: bool) -> Frequency:
    became: dict[str, Counter[str]] = {UNCHECKED: Counter(), CHECKED: Counter()}
    shares = []
    for repetition in kept:
        mine = [(checked, it) for checked, it in repetition.met if it.threat == threat]
        for checked, it in mine:
            words = it.verdict if it.by is None else f"told by {it.by}"
            became[CHECKED if checked else UNCHECKED][words] += 1
        if sent := repetition.messages.total():
            shares.append(len(mine) / sent)
    share = None
    if shares:
        share = the_same(shares[0]) if copies else mean(shares).within(0.0, 1.0)
    none = bool(kept) and not any(became.values())
    return Frequency(
        share=share,
        per_hour=None if share is None or hourly is None else share.value * hourly,
        bound=min(1.0, 3 / len(kept)) if none and not copies else None,
        # dataclasses.asdict would make another thing of a Counter.
        became={words: dict(told.most_common()) for words, told in became.items()},
    )
