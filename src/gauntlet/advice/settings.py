"""What a setting changes: pairs of results that differ in it alone, and what is said of them.

Nothing is said of a setting that was not measured. Adding one is a line in `SETTINGS`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet import units
from gauntlet.advice.words import label
from gauntlet.experiment.sysctls import STOCK_SYSCTLS
from gauntlet.metrics.compare import tellable, too_few
from gauntlet.metrics.intervals import DETERMINISTIC, Mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import interval_text, listed, number


@dataclass(frozen=True)
class Setting:
    """What a user can set."""

    words: str
    """What people call it."""
    keys: tuple[str, ...]
    """The last part of its place in an experiment file or of its factor's name."""
    unset: str
    """How it reads when nobody sets it."""
    unit: str = ""
    """Of values that are plain numbers."""

    def value(self, given: Any, called: str = "") -> str:
        """A value for people; None where nobody sets it. `called` is what results call it."""
        if given is None:
            return self.unset
        if self.unit and isinstance(given, int | float):
            if self.unit == "ms":
                return units.spaced(units.format_time(given / 1e3))
            return f"{given:g} {self.unit}"
        return called or units.spaced(str(given))


def _of_system(tcp: str, others: str) -> str:
    """What sockets have of themselves: TCP's grow up to a limit, the others begin with what they keep."""
    most, fixed = (int(STOCK_SYSCTLS[name].split()[-1]) for name in (tcp, others))
    sizes = [units.spaced(units.format_size(it)) for it in (most, fixed)]
    return f"the system's (TCP: up to {sizes[0]}, others: {sizes[1]})"


SETTINGS = (
    Setting(
        "send buffer",
        ("send_buffer", "send_buffer_bytes"),
        _of_system("net.ipv4.tcp_wmem", "net.core.wmem_default"),
    ),
    Setting(
        "receive buffer",
        ("receive_buffer", "receive_buffer_bytes"),
        _of_system("net.ipv4.tcp_rmem", "net.core.rmem_default"),
    ),
    Setting("queue before the line", ("queue", "queue_bytes", "queue_limit", "queue_limit_bytes"), ""),
    Setting("connection", ("connection",), "fresh"),
    # net.sctp.rto_initial of ip-sysctl.rst, Linux 6.12 (include/net/sctp/constants.h, SCTP_RTO_INITIAL).
    Setting("SCTP's first time-out", ("rto_initial",), "3 s", "ms"),
    Setting("token bucket of the line", ("bucket", "bucket_bytes"), "1580 B"),
    Setting("segmentation offload", ("offload",), "off"),
    Setting("initial window", ("initial_window", "initial_window_segments"), "10 segments", "segments"),
)


NO_DIFFERENCE = "no difference"
"""Of a change that nothing beyond chance came of."""

TOO_FEW = "too few repetitions to tell"
"""Of a change of which nothing can be said."""

WORTH_TELLING = 0.01
"""A change by less than this share is called none, however sure it is."""


def setting_of(key: str) -> Setting | None:
    """The setting that a key of an experiment file or a factor is; None when it is none of `SETTINGS`."""
    last = key.rpartition(".")[2]
    return next((it for it in SETTINGS if last in it.keys), None)


@dataclass(frozen=True)
class Effect:
    """What a setting does to one KPI of one transport under one condition."""

    condition: str
    """For people: 150 ms, 1 % loss."""
    ratio: Mean
    """The KPI with the one value over that with the other, paired by repetition."""

    @property
    def sure(self) -> bool:
        """Whether it is no chance (1 lies outside the interval of repetitions enough, or nothing was drawn)
        and worth telling.
        """
        if abs(self.ratio.value - 1) < WORTH_TELLING or not self.tellable:
            return False
        if self.ratio.method == DETERMINISTIC:
            return self.ratio.value != 1
        low, high = self.ratio.low, self.ratio.high
        return low is not None and high is not None and not low <= 1 <= high

    @property
    def tellable(self) -> bool:
        """Whether there are repetitions enough to say anything of it."""
        return tellable(self.ratio.n, alike=self.ratio.method == DETERMINISTIC)

    @property
    def strength(self) -> float:
        """How great it is, alike for twice and for half."""
        return abs(math.log(self.ratio.value)) if self.ratio.value > 0 else math.inf

    @property
    def words(self) -> str:
        """2.1 times [1.9 to 2.3]."""
        interval = interval_text(self.ratio)
        return f"{number(self.ratio.value)} times" + (f" [{interval}]" if interval else "")


@dataclass(frozen=True)
class Change:
    """A setting changed for one transport, and what that does to one KPI under every condition measured."""

    setting: Setting
    protocol: str
    to: str
    of: str
    """The two values for people."""
    besides: str
    """What else is set, where the experiment varies that too: receive buffer 2 MiB."""
    kpi: Kpi
    effects: tuple[Effect, ...]
    where: str
    """The experiments that it is from."""

    @property
    def n(self) -> str:
        """Repetitions, for people."""
        counts = sorted({it.ratio.n for it in self.effects})
        return f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}"

    @property
    def title(self) -> str:
        """Send buffer 2 MiB instead of 104 KiB (receive buffer 2 MiB)."""
        besides = f" ({self.besides})" if self.besides else ""
        words = self.setting.words
        return f"{words[0].upper()}{words[1:]} {self.to} instead of {self.of}{besides}"

    @property
    def whose(self) -> str:
        """SCTP, throughput."""
        return f"{label(self.protocol)}, {self.kpi.label[0].lower()}{self.kpi.label[1:]}"

    @property
    def words(self) -> str:
        """What it does, without its subject: worse under 4 of 4 conditions, most at 150 ms: 43 times."""
        felt = [it for it in self.effects if it.sure]
        if not self.tellable:
            most = max(self.effects, key=lambda it: it.strength)
            at = f" at {most.condition}" if len(self.effects) > 1 else ""
            return f"{too_few(most.ratio.n)} (seen{at}: {most.words})"
        if not felt:
            where = f" under {len(self.effects)} conditions" if len(self.effects) > 1 else ""
            return f"no difference beyond chance{where} ({self.n})"
        better = [it for it in felt if (it.ratio.value > 1) == self.kpi.higher_is_better]
        worse = [it for it in felt if it not in better]
        said = []
        for word, those in (("better", better), ("worse", worse)):
            if those:
                most = max(those, key=lambda it: it.strength)
                where = f" under {len(those)} of {len(self.effects)} conditions, most at {most.condition}"
                said.append(f"{word}{where if len(self.effects) > 1 else ''}: {most.words}")
        return f"{listed(said)} ({self.n})"

    @property
    def tellable(self) -> bool:
        """Whether there are repetitions enough under some condition to say anything of it."""
        return any(it.tellable for it in self.effects)

    @property
    def verdict(self) -> str:
        """In a word or two: better, worse, better and worse, no difference, too few repetitions."""
        if not self.tellable:
            return TOO_FEW
        felt = [it for it in self.effects if it.sure]
        ways = {(it.ratio.value > 1) == self.kpi.higher_is_better for it in felt}
        named = [word for word, way in (("better", True), ("worse", False)) if way in ways]
        return " and ".join(named) or NO_DIFFERENCE


def sentences(changes: Sequence[Change]) -> list[tuple[str, list[Change]]]:
    """The changes of one setting together: its title, and what it does to each transport and KPI."""
    found: dict[str, list[Change]] = {}
    for it in changes:
        found.setdefault(it.title, []).append(it)
    return list(found.items())


def unvaried(changes: Sequence[Change]) -> tuple[str, ...]:
    """The settings of which no result tells what they change, as people call them."""
    told = {it.setting for it in changes}
    return tuple(it.words for it in SETTINGS if it not in told)


def overview(changes: Sequence[Change]) -> list[str]:
    """The changes of one setting, a line a KPI: Throughput: better for SCTP (at most 3.0 times at 25 ms)."""
    by_kpi: dict[str, list[Change]] = {}
    for it in changes:
        by_kpi.setdefault(it.kpi.label, []).append(it)
    return [f"{label}: {'; '.join(_by_verdict(those))}." for label, those in by_kpi.items()]


FEW = 2
"""Transports that an overview names; more it counts."""


def _by_verdict(changes: Sequence[Change]) -> Iterator[str]:
    verdicts: dict[str, list[Change]] = {}
    for it in changes:
        verdicts.setdefault(it.verdict, []).append(it)
    for verdict, those in verdicts.items():
        named = [label(it.protocol) for it in those]
        share = f"all {len(changes)}" if len(named) == len(changes) else f"{len(named)} of {len(changes)}"
        whom = listed(named) if len(named) <= FEW else f"{share} transports"
        if verdict in (NO_DIFFERENCE, TOO_FEW):
            yield f"{verdict} for {whom}"
            continue
        strongest = max(those, key=_strength)
        whose = f"{label(strongest.protocol)} " if len(those) > 1 else ""
        yield f"{verdict} for {whom} (most {whose}at {_felt(strongest)})"


def _strength(change: Change) -> float:
    return max((it.strength for it in change.effects if it.sure), default=0.0)


def _felt(change: Change) -> str:
    most = max((it for it in change.effects if it.sure), key=lambda it: it.strength)
    return f"{most.condition}: {most.words}"
