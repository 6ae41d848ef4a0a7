"""Did the packets that were to vanish by script vanish, and only they?

The packet is looked for anew in the capture: the n-th of its kind that came to the node at which the link
begins. What else is missing behind the link remains a loss that the other checks have to explain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import headers
from gauntlet.certificate.answers import Findings, seconds
from gauntlet.certificate.capture import Capture
from gauntlet.certificate.opening import opening_of, opens
from gauntlet.certificate.traffic import Traffic

_NAMES = {"syn": "SYN", "syn-ack": "SYN-ACK"}
_ORDINALS = {1: "first", 2: "second", 3: "third"}


@dataclass(frozen=True)
class Script:
    """A packet that the plan has vanish, and what the record says of it."""

    flow: Mapping[str, Any]
    port: int
    packet: str
    nth: int
    link: str
    told_packets: int | None

    @property
    def words(self) -> str:
        """The packet in words."""
        ordinal = _ORDINALS.get(self.nth, f"{self.nth}th")
        return f"the {ordinal} {_NAMES[self.packet]} of {self.flow['id']}"


def read_scripts(plan_run: Mapping[str, Any], record: Mapping[str, Any]) -> list[Script]:
    """The plan's `drops`, each with its flow, the receiver's port and the record's count."""
    flows = {flow["id"]: flow for flow in plan_run["flows"]}
    ends = {flow["id"]: flow["destination"] for flow in record["flows"]}
    told = {
        (drop["flow"], drop["packet"], drop["nth"], drop["link"]): drop["dropped_packets"]
        for drop in record.get("drops", [])
    }
    scripts = []
    for drop in plan_run.get("drops", []):
        flow, packet, nth, link = drop["flow"], drop["packet"], drop["nth"], drop["link"]
        count = told.get((flow, packet, nth, link))
        port = int(ends[flow].rpartition(":")[2])
        scripts.append(Script(flows[flow], port, packet, nth, link, count))
    return scripts


def with_scripted(
    traffic: Traffic,
    scripts: Sequence[Script],
    capture: Capture,
    numbers: Mapping[str, int],
    findings: Findings,
) -> Traffic:
    """Mark the inputs that were to vanish and did, and judge each script of this stage.

    `numbers` are those of the taps by link direction.
    """
    marked = traffic.scripted.copy()
    for script in scripts:
        if script.link != traffic.link:
            continue
        place = _find(script, traffic, capture, numbers)
        vanished = None if place is None else _vanished(traffic, place)
        if vanished is not None:
            marked[vanished] = True
        _judge(script, traffic, place, vanished, findings)
    return replace(traffic, scripted=marked)


def _find(script: Script, traffic: Traffic, capture: Capture, numbers: Mapping[str, int]) -> int | None:
    """The input that the script names; None if no such packet came."""
    opening = opening_of(script.flow)
    if opening is None:
        return None
    places: list[npt.NDArray[np.int64]] = []
    for feed, link in enumerate(traffic.feeds):
        rows = np.flatnonzero(capture.records["tap"] == numbers[link])
        inner = headers.inner_packets(capture.records["packet"][rows])
        wanted = np.flatnonzero(opens(inner, opening, script.packet, script.port))
        tap, inputs = capture.taps[link], traffic.inputs
        for k in wanted:
            same = (inputs.feed == feed) & (inputs.time_ns == tap.time_ns[k]) & (inputs.key == tap.key[k])
            places.append(np.flatnonzero(same))
    found = np.unique(np.concatenate(places)) if places else np.empty(0, np.int64)
    return int(found[script.nth - 1]) if len(found) >= script.nth else None


def _vanished(traffic: Traffic, place: int) -> int | None:
    """The input, if it did not leave; or one identical to it, where it cannot be said which of them left."""
    if traffic.matched.copies[place] == 0:
        return place
    twins = traffic.inputs.key == traffic.inputs.key[place]
    missing = np.flatnonzero(twins & traffic.matched.unclear_in & (traffic.matched.copies == 0))
    return int(missing[0]) if len(missing) else None


def _judge(
    script: Script, traffic: Traffic, place: int | None, vanished: int | None, findings: Findings
) -> None:
    link, words = script.link, script.words
    came, gone = int(place is not None), int(vanished is not None)
    failure = None
    if came and not gone:
        failure = f"{words[0].upper()}{words[1:]} was to vanish in front of {link}, but came through."
    elif script.told_packets != came:
        told = "nothing" if script.told_packets is None else f"{script.told_packets}"
        failure = (
            f"The record says that {told} of the packets of {script.flow['id']} vanished by script in front "
            f"of {link}; the capture shows {came}."
        )
    when = "" if place is None else f" at {seconds(traffic.inputs.time_ns[place])}"
    success = (
        f"{words[0].upper()}{words[1:]} vanished in front of {link}{when}, as the plan's script says."
        if came
        else f"{words[0].upper()}{words[1:]} was to vanish in front of {link}, but none came."
    )
    findings.add(
        "script",
        link,
        failure,
        success,
        measured={"vanished_packets": gone},
        expected={"vanished_packets": came},
    )
