"""What a setting changes: pairs of results that differ in it alone, and what is said of them.

Nothing is said of a setting that was not measured. Adding one is a line in `SETTINGS`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gauntlet.advice.words import label
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


SETTINGS = (
    Setting("send buffer", ("send_buffer", "send_buffer_bytes"), "what the system gives"),
    Setting("receive buffer", ("receive_buffer", "receive_buffer_bytes"), "what the system gives"),
    Setting("queue before the line", ("queue", "queue_bytes", "queue_limit", "queue_limit_bytes"), ""),
    Setting("connection", ("connection",), "fresh"),
    Setting("SCTP's first time-out", ("rto_initial",), "as the system has it", "ms"),
    Setting("initial window", ("initial_window", "initial_window_packets"), "what the system gives"),
)


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
        """Whether it is no chance: 1 lies outside the interval, or nothing was drawn."""
        if self.ratio.method == DETERMINISTIC:
            return self.ratio.value != 1
        low, high = self.ratio.low, self.ratio.high
        return low is not None and high is not None and not low <= 1 <= high

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
        """SCTP, send buffer 2 MiB instead of 104 KiB."""
        besides = f" ({self.besides})" if self.besides else ""
        return f"{label(self.protocol)}, {self.setting.words} {self.to} instead of {self.of}{besides}"

    @property
    def words(self) -> str:
        """What it does, in one sentence without its subject."""
        felt = [it for it in self.effects if it.sure]
        if not felt:
            return f"no difference beyond chance under {_conditions(len(self.effects))} ({self.n})"
        better = [it for it in felt if (it.ratio.value > 1) == self.kpi.higher_is_better]
        worse = [it for it in felt if it not in better]
        said = []
        for word, those in (("better", better), ("worse", worse)):
            if those:
                most = max(those, key=lambda it: abs(it.ratio.value - 1))
                said.append(f"{word} under {len(those)} of {_conditions(len(self.effects))}, {most.words} at {most.condition}")
        return f"{listed(said)} ({self.n})"


def _conditions(count: int) -> str:
    return "the one condition" if count == 1 else f"{count} conditions"


def sentences(changes: Sequence[Change]) -> list[tuple[str, list[Change]]]:
    """The changes of one setting and transport together: its title and what it does to each KPI."""
    found: dict[str, list[Change]] = {}
    for it in changes:
        found.setdefault(it.title, []).append(it)
    return list(found.items())
