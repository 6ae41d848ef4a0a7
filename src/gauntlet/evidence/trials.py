"""The trials of a results folder: each run's course, and the verdict on it."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gauntlet.errors import UserError
from gauntlet.evidence.course import Course, Event
from gauntlet.evidence.verdict import INVALID, Verdict, judged
from gauntlet.experiment import threats
from gauntlet.results.reader import Results, Run

_BY_CHANCE = ("loss", "burst_loss", "corrupt", "duplicate", "jitter_s")
"""Conditions of a link under which packets have a fate of their own."""


@dataclass(frozen=True)
class Trial:
    """One run in which one threat was to act on messages of one flow, or none at all."""

    run: Run
    flow: int
    """The flow's place in the run."""

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
        table, sent = self.run.safety(), self.run.messages()
        if table is None or sent is None:
            raise UserError(
                f"run {self.run.id}: what its receiver made of each message was not recorded; play it with "
                "the application 'safety' and [record] messages = true."
            )
        columns = ("event", "t_ns", "verdict", "number", "stamp_ns", "genuine")
        rows = [row for row in table.to_pylist() if row["flow"] == self.flow]
        events = [Event(**{name: row[name] for name in columns}) for row in rows]
        mine = [row for row in sent.to_pylist() if row["flow"] == self.flow]
        sent_ns = {row["seq"]: row["sent_ns"] for row in mine}
        bound_s = self.run.plan["flows"][self.flow]["app_params"]["bound_s"]
        return Course(sent_ns, events, round(bound_s * 1e9), self._acted_ns(sent_ns, events))

    @cached_property
    def verdict(self) -> Verdict:
        """What became of the threat; a run that cannot be trusted says nothing."""
        if not self.run.trusted:
            return Verdict(INVALID)
        return judged(self.course, threat=self.threat != threats.NONE)

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
        return _at_sender(self.run, self.flow)

    def _acted_ns(self, sent_ns: Mapping[int, int], events: list[Event]) -> int | None:
        """When the threat acted first, if every one of its rules did what it says, on the message meant."""
        if self._with_keys is not None:
            return min((event.t_ns for event in events if event.event == "threat"), default=None)
        nodes = self.run.record.get("in_path", [])
        place = next((n for n, node in enumerate(nodes) if node["node"] == threats.NODE), None)
        log = self.run.in_path(["node", "t_ns", "event", "rule"])
        if place is None or log is None:
            return None
        rules = nodes[place]["rules"]
        if any(rule["matched_packets"] == 0 or rule["unfit_packets"] > 0 for rule in rules):
            return None
        matched = [row for row in log.to_pylist() if row["node"] == place and row["event"] == "matched"]
        first_ns = int(min(row["t_ns"] for row in matched))
        return first_ns if self._meant(first_ns, sent_ns, events) else None

    def _meant(self, t_ns: int, sent_ns: Mapping[int, int], events: list[Event]) -> bool:
        """Whether a packet that was known by count alone can have carried the message that was meant: it came
        after that one was sent, and before the next one can have been there.
        """
        plan = next(node for node in self.run.plan["in_path"] if node["node"] == threats.NODE)
        conditions = plan["rules"][-1]["match"]
        if "length_bytes" not in conditions or "from_s" in conditions:
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


def _draws(rule: Mapping[str, Any]) -> bool:
    """Whether a rule of an in-path node does something by chance."""
    bits = rule["do"]["action"] == "alter" and "at_bit" not in rule["do"]
    packet = rule["do"].get("packet")
    picked = isinstance(packet, dict) and packet.get("pick") == "random"
    return bits or picked or "probability" in rule["match"]


def trials(results: Results | Path) -> Iterator[Trial]:
    """Every trial of a results folder: the runs with a flow of the application safety, each with the flow
    that the threat is about (or with each of its flows, where there is none).
    """
    opened = Results.open(results) if isinstance(results, Path) else results
    for run in opened.runs():
        flows = [n for n, flow in enumerate(run.spec["flows"]) if flow["app"] == threats.APP]
        meant = _about(run)
        for flow in flows:
            if meant in (None, flow):
                yield Trial(run, flow)


def _at_sender(run: Run, flow: int) -> Mapping[str, Any] | None:
    """What an attacker with the keys of a flow's sender was to do; None: there is none."""
    found: Mapping[str, Any] | None = run.plan["flows"][flow]["app_params"].get("threat")
    return found


def _about(run: Run) -> int | None:
    """The flow that the threat of a run is about: the one whose messages or ports its rules name, or whose
    sender's keys an attacker has.
    """
    armed = [n for n in range(len(run.plan["flows"])) if _at_sender(run, n) is not None]
    if armed:
        return armed[0]
    node = next((it for it in run.plan.get("in_path", []) if it["node"] == threats.NODE), None)
    if node is None:
        return None
    conditions, deed = node["rules"][-1]["match"], node["rules"][-1]["do"]
    if "message" in conditions:
        return int(conditions["message"]["flow"].removeprefix("f"))
    port = conditions.get("source_port", deed.get("set", {}).get("source_port"))
    return int(port) - threats.FIRST_SOURCE_PORT
