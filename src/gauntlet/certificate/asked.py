"""What the plan asked of a link direction at each instant: the plan's values from the instants at which
they really were set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import Any

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import Findings, plural
from gauntlet.certificate.changes import Words, check_changes

Ints = npt.NDArray[np.int64]

SHAPER_KEYS = frozenset({"rate_bps", "burst_bytes", "queue_limit_bytes", "queue"})
"""Keys of a timeline entry that a tbf and the queue under it realise; all others are netem's
(docs/formats/plan.md)."""

FAIR_QUEUES = frozenset({"fq_codel", "fq_pie", "sfq", "cake"})
"""Kinds of queues that have one for each flow."""

BEGINNING_NS = -(2**62)


@dataclass(frozen=True)
class Bursts:
    """A Gilbert-Elliott model: chances of turning bad (`p`) and good again (`r`) per packet, and loss in
    either state."""

    p: float
    r: float
    loss_bad: float
    loss_good: float

    @property
    def loss(self) -> float:
        """Stationary loss probability."""
        if self.p + self.r == 0:
            return self.loss_good
        return (self.p * self.loss_bad + self.r * self.loss_good) / (self.p + self.r)


@dataclass(frozen=True)
class State:
    """What a link direction is asked to do for a while; defaults as in docs/formats/plan.md."""

    rate_bps: float | None = None
    burst_bytes: int = 1580
    queue_limit_bytes: int = 512_000
    queue: Mapping[str, Any] | None = None
    delay_s: float = 0.0
    jitter_s: float = 0.0
    reorder: bool = False
    loss: float = 0.0
    gilbert_elliott: Bursts | None = None
    duplicate: float = 0.0
    corrupt: float = 0.0
    limit_packets: int = 100_000
    up: bool = True

    @property
    def loss_probability(self) -> float:
        """Chance that a packet is lost, on average over the states of a Gilbert-Elliott model."""
        if not self.up:
            return 1.0
        return self.loss if self.gilbert_elliott is None else self.gilbert_elliott.loss

    @property
    def bursts(self) -> Bursts | None:
        """The Gilbert-Elliott model in force, if any."""
        return self.gilbert_elliott if self.up else None


@dataclass(frozen=True)
class AskedLink:
    """The states of one link direction; `states[i]` holds from `starts_ns[i]` on. `kind` is tbf, netem, or
    none."""

    link: str
    kind: str
    starts_ns: Ints
    states: tuple[State, ...]

    @property
    def queue(self) -> Mapping[str, Any] | None:
        """What queues for a tbf in place of its own queue of bytes; it does so from the beginning."""
        return self.states[-1].queue

    @property
    def keeps_flows_apart(self) -> bool:
        """Whether packets of one flow may pass those of another."""
        return self.queue is not None and self.queue["kind"] in FAIR_QUEUES

    def at(self, time_ns: Ints) -> Ints:
        """The number of the state in force at each instant."""
        return np.searchsorted(self.starts_ns, time_ns, side="right") - 1

    def around(self, time_ns: Ints) -> tuple[Ints, Ints]:
        """The states in force just before and just after each instant: different only beside a change."""
        if len(self.states) == 1:
            only = np.zeros(len(time_ns), np.int64)
            return only, only
        return self.at(time_ns - tolerance.current().time_ns), self.at(time_ns + tolerance.current().time_ns)

    def column(self, name: str) -> npt.NDArray[np.float64]:
        """One parameter of all states as numbers; no rate limit is infinite."""
        values = [getattr(state, name) for state in self.states]
        return np.array([np.inf if value is None else float(value) for value in values])

    def least(self, name: str, time_ns: Ints) -> npt.NDArray[np.float64]:
        """The smaller of the values in force just before and after each instant."""
        values = self.column(name)
        if (values == values[0]).all():
            return np.full(len(time_ns), values[0])
        before, after = self.around(time_ns)
        return np.minimum(values[before], values[after])

    def most(self, name: str, time_ns: Ints) -> npt.NDArray[np.float64]:
        """The larger of the values in force just before and after each instant."""
        values = self.column(name)
        if (values == values[0]).all():
            return np.full(len(time_ns), values[0])
        before, after = self.around(time_ns)
        return np.maximum(values[before], values[after])


def without_change(link: str) -> AskedLink:
    """A link direction that the plan leaves alone: it must hand every packet on at once."""
    return AskedLink(link, "none", np.array([BEGINNING_NS]), (State(),))


def read_timeline(
    planned: Sequence[Mapping[str, Any]],
    made: Sequence[Mapping[str, Any]],
    end_ns: int,
    findings: Findings,
) -> dict[str, AskedLink]:
    """Join the plan's changes with the instants at which the run made them, and check that each was made
    and in time."""
    asked = {}
    for link in dict.fromkeys(str(entry["link"]) for entry in planned):
        wanted = [entry for entry in planned if entry["link"] == link]
        instants = _instants_ns(
            link, wanted, [entry for entry in made if entry["link"] == link], end_ns, findings
        )
        asked[link] = _asked_link(link, wanted[: len(instants)], instants)
    unplanned = [str(entry["link"]) for entry in made if entry["link"] not in asked]
    for link in dict.fromkeys(unplanned):
        count = unplanned.count(link)
        findings.add(
            "timeline",
            link,
            f"The run changed {link} {plural(count, 'time')}, which the plan does not ask for.",
            "",
        )
    return asked


def _asked_link(link: str, wanted: Sequence[Mapping[str, Any]], instants: Sequence[int]) -> AskedLink:
    starts, states, state = [BEGINNING_NS], [State()], State()
    for entry, instant_ns in zip(wanted, instants, strict=True):
        state = _changed(state, entry)
        # Entries at zero are applied before the flows start, so they hold from the beginning.
        start_ns = BEGINNING_NS if entry["at_s"] <= 0 else max(instant_ns, starts[-1])
        if start_ns == BEGINNING_NS:
            starts, states = [start_ns], [state]
        else:
            starts.append(start_ns)
            states.append(state)
    shaper = any(SHAPER_KEYS & entry.keys() for entry in wanted)
    return AskedLink(link, "tbf" if shaper else "netem", np.array(starts, np.int64), tuple(states))


def _changed(state: State, entry: Mapping[str, Any]) -> State:
    changes = {key: value for key, value in entry.items() if key not in ("at_s", "link")}
    model = changes.get("gilbert_elliott")
    if model is not None:
        changes["gilbert_elliott"] = Bursts(**model)
    nullable = ("rate_bps", "gilbert_elliott")
    changes = {key: value for key, value in changes.items() if value is not None or key in nullable}
    return replace(state, **changes)


def _instants_ns(
    link: str,
    wanted: Sequence[Mapping[str, Any]],
    made: Sequence[Mapping[str, Any]],
    end_ns: int,
    findings: Findings,
) -> list[int]:
    words = Words(
        check="timeline",
        link=link,
        named=lambda _: link,
        wrong=_difference,
        too_many=f"The run changed {link} {plural(len(made), 'time')} and not {len(wanted)} as planned.",
        passed=lambda _: f"{link} was changed as planned: {plural(len(made), 'change')}.",
    )
    return check_changes(words, wanted, made, end_ns, findings)


def _difference(wanted: Mapping[str, Any], made: Mapping[str, Any]) -> str | None:
    for key, value in wanted.items():
        if key in ("at_s", "link"):
            continue
        if not _equal(made.get(key), value):
            return f"set {key} to {made.get(key)} where the plan asks for {value}"
    return None


def _equal(made: Any, wanted: Any) -> bool:
    """Equal but for the last digits of a number, which a reader of JSON may round."""
    if isinstance(wanted, Mapping) and isinstance(made, Mapping):
        return wanted.keys() == made.keys() and all(_equal(made[key], wanted[key]) for key in wanted)
    if isinstance(wanted, float) and isinstance(made, int | float):
        return isclose(made, wanted, rel_tol=1e-12)
    return bool(made == wanted)
