"""The trials of a results folder: each run's course, and the verdict on it."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from gauntlet.errors import UserError
from gauntlet.evidence.course import Course, Event, Stop
from gauntlet.evidence.verdict import INVALID, Verdict, judged
from gauntlet.experiment import threats
from gauntlet.results.reader import Results, Run

A_TRIAL = (
    "A trial is one session in which one threat acts, or was to act; sessions of one run share its line."
)
"""What is counted, for pages and reports."""
_BY_CHANCE = ("loss", "second_loss", "burst_loss", "corrupt", "duplicate", "jitter_s")
"""Conditions of a link under which packets have a fate of their own."""


@dataclass(frozen=True)
class Played:
    """What a run recorded, by flow: read once for all of its trials."""

    run: Run

    @cached_property
    def safety(self) -> Mapping[int, list[dict[str, Any]]] | None:
        """What the receivers made of messages; None: not recorded."""
        return _by_flow(self.run.safety())

    @cached_property
    def messages(self) -> Mapping[int, list[dict[str, Any]]] | None:
        """What was sent; None: not recorded."""
        return _by_flow(self.run.messages())

    @cached_property
    def first_ns(self) -> Mapping[tuple[int, int], int] | None:
        """When each rule of each in-path node first matched; None without a log."""
        log = self.run.in_path(["node", "t_ns", "event", "rule"])
        if log is None:
            return None
        found: dict[tuple[int, int], int] = {}
        for row in log.to_pylist():
            if row["event"] == "matched":
                key = (row["node"], row["rule"])
                found[key] = min(found.get(key, row["t_ns"]), row["t_ns"])
        return found


def _by_flow(table: pa.Table | None) -> Mapping[int, list[dict[str, Any]]] | None:
    if table is None:
        return None
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in table.to_pylist():
        found[row["flow"]].append(row)
    return found


@dataclass(frozen=True)
class Trial:
    """One session and the threat to it (`A_TRIAL`), or without one."""

    run: Run
    flow: int
    """The flow's place in the run."""
    read: "Played | None" = field(default=None, compare=False, repr=False)
    """The run's tables, shared with its other trials."""

    @cached_property
    def played(self) -> "Played":
        """The run's tables."""
        return self.read or Played(self.run)

    @property
    def factors(self) -> dict[str, Any]:
        """Its place in the matrix."""
        return self.run.factors

    @property
    def threat(self) -> str:
        """The name of the threat, or none."""
        return str(self.run.spec["link"].get("threat", threats.NONE))

    @cached_property
    def course(self) -> Course:
        """What happened. Raises UserError when the run did not record it."""
        if self.played.safety is None or self.played.messages is None:
            raise UserError(
                f"run {self.run.id}: what its receiver made of each message was not recorded; play it with "
                "the application 'safety' and [record] messages = true."
            )
        columns = ("event", "t_ns", "verdict", "number", "stamp_ns", "genuine")
        rows = self.played.safety.get(self.flow, [])
        events = [Event(**{name: row[name] for name in columns}) for row in rows]
        sent_ns = {row["seq"]: row["sent_ns"] for row in self.played.messages.get(self.flow, [])}
        bound_s = self.run.plan["flows"][self.flow]["app_params"]["bound_s"]
        return Course(sent_ns, events, round(bound_s * 1e9), self._acted_ns(sent_ns, events))

    @cached_property
    def verdict(self) -> Verdict:
        """What became of the threat; a run that cannot be trusted says nothing."""
        if not self.run.trusted:
            return Verdict(INVALID)
        return judged(self.course, threat=self.threat != threats.NONE)

    @property
    def reopens(self) -> bool:
        """Whether its sender opens a further session when one has broken."""
        return _reopens(self.run.plan["flows"][self.flow])

    @cached_property
    def stop(self) -> Stop | None:
        """The session that ended once the threat had acted, without one at any time; None: none did, or the
        trial says nothing.
        """
        if self.verdict.verdict == INVALID:
            return None
        return self.course.first_stop(self.course.acted_ns or 0)

    @property
    def recovery_s(self) -> float | None:
        """From the threat's first act, without one from the session's end, until the application had a fresh
        message over a further session; None: no session ended, or none brought one.
        """
        if self.stop is None or self.stop.recovered_ns is None:
            return None
        since_ns = self.stop.ended_ns if self.course.acted_ns is None else self.course.acted_ns
        return (self.stop.recovered_ns - since_ns) / 1e9

    @property
    def identity(self) -> Hashable:
        """What it has in common with a copy of itself; None where something was drawn, so that it has none:
        bits that turn over, or what the link does by chance.
        """
        rules = [rule for node in self.run.plan.get("in_path", []) for rule in node["rules"]]
        link = self.run.spec["link"]
        corrupts = (self._with_keys or {}).get("kind") == "corruption"
        if corrupts or any(map(_draws, rules)) or any(link.get(name) for name in _BY_CHANCE):
            return None
        course = self.course
        return tuple(course.sent_ns.items()), tuple(course.events), course.acted_ns

    @property
    def _with_keys(self) -> Mapping[str, Any] | None:
        """What an attacker with the sender's keys was to do."""
        return threats.at_sender(self.run.plan["flows"][self.flow])

    def _acted_ns(self, sent_ns: Mapping[int, int], events: list[Event]) -> int | None:
        """When the threat acted first, if every one of its rules did what it says, on the message meant."""
        if self._with_keys is not None:
            return min((event.t_ns for event in events if event.event == "threat"), default=None)
        nodes = self.run.record.get("in_path", [])
        place = next((n for n, node in enumerate(nodes) if node["node"] == threats.NODE), None)
        if place is None or self.played.first_ns is None:
            return None
        mine = [n for n, rule in enumerate(self._rules) if _flow_of(rule) == self.flow]
        rules = [nodes[place]["rules"][n] for n in mine]
        if not rules or any(rule["matched_packets"] == 0 or rule["unfit_packets"] > 0 for rule in rules):
            return None
        # Rules before the last one are about what goes with the message, or comes behind it.
        if not self._meant(self.played.first_ns[place, mine[-1]], sent_ns, events):
            return None
        return min(self.played.first_ns[place, n] for n in mine)

    @property
    def _rules(self) -> Sequence[Mapping[str, Any]]:
        """What the threat's node was told to do."""
        return _rules_of(self.run)

    def _meant(self, t_ns: int, sent_ns: Mapping[int, int], events: list[Event]) -> bool:
        """Whether a packet that was known by count alone can have carried the message that was meant: it came
        after that one was sent, and before the next one can have been there.
        """
        conditions = [rule for rule in self._rules if _flow_of(rule) == self.flow][-1]["match"]
        if "length_bytes" not in conditions or not self._counted(conditions):
            return True
        nth = conditions["nth"]
        number = (nth[0] if isinstance(nth, list) else nth) - 1
        if number not in sent_ns:
            return False
        ages = [
            event.t_ns - event.stamp_ns for event in events if event.genuine and event.stamp_ns is not None
        ]
        after = sent_ns.get(number + 1)
        return sent_ns[number] <= t_ns and (after is None or t_ns < after + min(ages, default=0))

    def _counted(self, conditions: Mapping[str, Any]) -> bool:
        """Whether packets are counted as messages are: from the first one on. Where a session came before the
        flow's own, they are from the flow's start on.
        """
        flow = self.run.plan["flows"][self.flow]
        since_s = conditions.get("from_s")
        return since_s is None or ("warm_up_s" in flow["app_params"] and since_s == flow["start_s"])


def _draws(rule: Mapping[str, Any]) -> bool:
    """Whether a rule of an in-path node does something by chance."""
    bits = rule["do"]["action"] == "alter" and "at_bit" not in rule["do"]
    packet = rule["do"].get("packet")
    picked = isinstance(packet, dict) and packet.get("pick") == "random"
    return bits or picked or "probability" in rule["match"] or bool(rule["do"].get("jitter_s"))


def _reopens(flow: Mapping[str, Any]) -> bool:
    """Whether a flow of a plan opens further sessions."""
    return flow["app_params"].get("reopen_after_s") is not None


def trials(results: Results | Path) -> Iterator[Trial]:
    """Every trial of a results folder: the runs with a flow of the application safety, each with the flow
    that the threat is about (or with each of its flows, where there is none).
    """
    opened = Results.open(results) if isinstance(results, Path) else results
    for run in opened.runs():
        yield from trials_of(run)


def trials_of(run: Run) -> Iterator[Trial]:
    """The trials of one run."""
    armed = [n for n, flow in enumerate(run.plan["flows"]) if threats.at_sender(flow) is not None]
    meant = {*map(_flow_of, _rules_of(run)), *armed}
    played = Played(run)
    for flow, told in enumerate(run.spec["flows"]):
        if told["app"] == threats.APP and (not meant or flow in meant):
            yield Trial(run, flow, played)


def _rules_of(run: Run) -> Sequence[Mapping[str, Any]]:
    """Those of the threat's node; none without a threat."""
    node = next((it for it in run.plan.get("in_path", []) if it["node"] == threats.NODE), None)
    return node["rules"] if node is not None else ()


def _flow_of(rule: Mapping[str, Any]) -> int:
    """The flow that a rule of a threat is about: the one whose messages or ports it names."""
    conditions, deed = rule["match"], rule["do"]
    if "message" in conditions:
        return int(conditions["message"]["flow"].removeprefix("f"))
    port = conditions.get("source_port", deed.get("set", {}).get("source_port"))
    return int(port) - threats.FIRST_SOURCE_PORT
