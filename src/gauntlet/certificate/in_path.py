"""Did each in-path node do with every packet what its log says, and does the log say what its rules ask?

The taps on either side of a node are held against its log packet by packet: all that came is in it, all that
left is in it, nothing else is, and each at its instant. What the log says of a packet has to follow from the
rules that it says matched (rules.py), and these from the packet (conditions.py).
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import Findings, plural, seconds
from gauntlet.certificate.calls import check_calls
from gauntlet.certificate.capture import CAPTURE_BYTES, Capture, TapPackets
from gauntlet.certificate.conditions import check_conditions
from gauntlet.certificate.contents import Contents
from gauntlet.certificate.in_path_log import Log, Row, read_log
from gauntlet.certificate.rules import Rules, check_clock_additions, check_rules
from gauntlet.certificate.sums import ip_header_is_right, sums_are_right
from gauntlet.certificate.waits import check_waits

LOG_FILE = "in_path.arrow"

_HEAD_BYTES = CAPTURE_BYTES["headers"]
"""How much of a packet `head_crc32` of the log is about."""

_OF_RULES = {"matched": "matched_packets", "unfit": "unfit_packets"}
"""By event of the log: the counter of each rule in the record."""

_SHOWN_IMPAIRMENT = "in-path rules"


@dataclass(frozen=True)
class Node:
    """An in-path node of the plan, its place among them, and what the record says of it (None: nothing)."""

    number: int
    name: str
    between: tuple[str, str]
    rules: Rules
    told: Mapping[str, Any] | None

    def into(self, towards: int) -> str:
        """The link direction by which packets come that go towards one of its two neighbours."""
        return f"{self.between[1 - towards]}>{self.name}"

    def out(self, towards: int) -> str:
        """The link direction by which they leave."""
        return f"{self.name}>{self.between[towards]}"


def read_nodes(plan_run: Mapping[str, Any], record: Mapping[str, Any]) -> list[Node]:
    """The in-path nodes of a run."""
    told = {entry["node"]: entry for entry in record.get("in_path", [])}
    return [
        Node(number, node["node"], tuple(node["between"]), node["rules"], told.get(node["node"]))
        for number, node in enumerate(plan_run.get("in_path", []))
    ]


def judged_apart(nodes: Sequence[Node]) -> dict[str, list[str]]:
    """The link directions out of nodes, which the log is held against, with what is asked of them."""
    return {node.out(towards): [_SHOWN_IMPAIRMENT] for node in nodes for towards in (0, 1)}


def whole_links(nodes: Sequence[Node]) -> dict[str, str]:
    """By each link direction that begins or ends at a node: the one of the network that the node cut."""
    return {
        half: f"{node.between[1 - towards]}>{node.between[towards]}"
        for node in nodes
        for towards in (0, 1)
        for half in (node.into(towards), node.out(towards))
    }


def ways_back(nodes: Sequence[Node]) -> dict[str, str]:
    """By each link direction into a node: the one by which it may send packets back to where they came from.
    A router there may send them to it again."""
    return {node.into(towards): node.out(1 - towards) for node in nodes for towards in (0, 1)}


def without_unsound(capture: Capture) -> Capture:
    """The same with packets that the next router throws away told as of no flow: nobody has to see them
    again. They have an IPv4 header with a wrong checksum, no time to live, or are no IP.
    """
    taps = {}
    for link, tap in capture.taps.items():
        unsound = [not ip_header_is_right(capture.packet(row)) for row in tap.rows]
        taps[link] = replace(tap, pair=np.where(np.array(unsound, np.bool_), np.uint64(0), tap.pair))
    return replace(capture, taps=taps)


def check_nodes(
    plan_run: Mapping[str, Any],
    record: Mapping[str, Any],
    record_dir: Path,
    capture: Capture,
    findings: Findings,
) -> None:
    """Judge every node: `seen`, `emitted` and `rules` of each link direction out of it, and `conditions`."""
    nodes = read_nodes(plan_run, record)
    if not nodes:
        return
    try:
        logs = read_log(record_dir / LOG_FILE, len(nodes))
    except (OSError, pa.ArrowInvalid, KeyError) as error:
        for node in nodes:
            for towards in (0, 1):
                findings.not_checked(
                    "seen",
                    node.out(towards),
                    f"What {node.name} did was not checked: {LOG_FILE} cannot be read ({error}).",
                    missing=LOG_FILE,
                )
        return
    for node, log in zip(nodes, logs, strict=True):
        of_node = _node_faults(node, log, plan_run, capture, findings)
        for towards in (0, 1):
            absent = [link for link in (node.into(towards), node.out(towards)) if link not in capture.taps]
            if absent:
                findings.not_checked(
                    "seen",
                    node.out(towards),
                    f"What {node.name} let through towards {node.between[towards]} was not checked: the "
                    f"run has no tap on {absent[0]}.",
                    missing=f"a tap on {absent[0]}",
                )
                continue
            _check_seen(node, towards, log, capture, findings)
            _check_emitted(node, towards, log, capture, findings)
            failures = [*check_rules(node.rules, log, towards, _end_ns(node, log)), *of_node]
            findings.add(
                "rules",
                node.out(towards),
                " ".join(failures[:3]) or None,
                f"What {node.name} did with {plural(len(log.seen_towards(towards)), 'packet')} towards "
                f"{node.between[towards]} is what the rules that matched ask for.",
                measured={"packets": len(log.seen_towards(towards)), "faults": len(failures)},
                expected={"faults": 0},
            )
        _check_conditions(node, log, (plan_run, record), capture, findings)


def _check_conditions(
    node: Node,
    log: Log,
    of_run: tuple[Mapping[str, Any], Mapping[str, Any]],
    capture: Capture,
    findings: Findings,
) -> None:
    """Whether each rule matched the packets that it had to, as far as that can be told from their headers."""
    taps = [capture.taps.get(node.into(towards)) for towards in (0, 1)]
    if any(tap is None for tap in taps):
        return
    heads = _heads_of_seen(log, [tap for tap in taps if tap is not None], capture)
    if heads is None:
        return
    judged, left, failures = check_conditions(node, log, heads, *of_run)
    if left:
        findings.undecided.append(
            f"Whether the right packets matched was not told of {node.name}'s {', '.join(left)}: their "
            "conditions cannot be read from the captured headers alone."
        )
    if judged:
        findings.add(
            "conditions",
            node.out(1),
            " ".join(failures[:3]) or None,
            f"{plural(judged, 'rule')} of {node.name} matched just the packets that the plan names.",
            measured={"rules": judged, "faults": len(failures)},
            expected={"faults": 0},
        )


def _heads_of_seen(log: Log, taps: Sequence[TapPackets], capture: Capture) -> list[bytes] | None:
    """The captured bytes of each packet in the log, in its order; none where the taps do not show as many."""
    heads: dict[int, bytes] = {}
    for towards, tap in enumerate(taps):
        rows = log.seen_towards(towards)
        if len(tap) < len(rows):
            return None
        for row, place in zip(rows, tap.rows, strict=False):
            heads[row.packet] = capture.packet(place)
    return [heads[row.packet] for row in log.seen]


def _check_seen(node: Node, towards: int, log: Log, capture: Capture, findings: Findings) -> None:
    tap = capture.taps[node.into(towards)]
    rows = log.seen_towards(towards)
    stopped_ns = log.end_ns if node.told is None else int(node.told["stopped_ns"])
    came = tap.time_ns < stopped_ns - tolerance.current().time_ns
    needed = max(int(came.sum()), min(len(rows), len(tap)))
    words = f"came to {node.name} from {node.into(towards)}"
    failure = _compared(rows, tap, needed, capture, words, late_ns=tolerance.current().time_ns)
    missed = 0 if node.told is None else int(node.told["missed_packets"])
    if failure is not None and missed:
        failure += f" The node says that it missed {plural(missed, 'packet')}."
    findings.add(
        "seen",
        node.out(towards),
        failure,
        f"Every one of {plural(len(rows), 'packet')} that came to {node.name} by {node.into(towards)} is in "
        "its log.",
        measured={"logged_packets": len(rows)},
        expected={"captured_packets": int(needed)},
    )


def _check_emitted(node: Node, towards: int, log: Log, capture: Capture, findings: Findings) -> None:
    tap = capture.taps[node.out(towards)]
    rows = log.emitted_towards(towards)
    words = f"left {node.name} by {node.out(towards)}"
    failure = _compared(rows, tap, len(tap), capture, words, late_ns=tolerance.current().leaving_ns)
    how = log.doings(towards)
    findings.add(
        "emitted",
        node.out(towards),
        failure,
        f"Every one of {plural(len(rows), 'packet')} that left {node.name} by {node.out(towards)} is in "
        "its log: " + ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in how.items()) + ".",
        measured={"logged_packets": len(rows), **{f"{name}_packets": count for name, count in how.items()}},
        expected={"captured_packets": len(tap)},
    )


def _compared(
    rows: Sequence[Row], tap: TapPackets, needed: int, capture: Capture, words: str, *, late_ns: int
) -> str | None:
    """What is wrong where log and tap differ, packet by packet in their order; None where nothing is. At the
    tap a packet may be so much later than in the log.
    """
    if len(rows) != needed:
        return f"{plural(needed, 'packet')} {words}, but the log tells of {len(rows):,}."
    early_ns = -tolerance.current().time_ns
    stamped = zip(rows, tap.rows[:needed].tolist(), tap.time_ns[:needed].tolist(), strict=True)
    for number, (row, place, t_ns) in enumerate(stamped):
        head = capture.packet(place)
        if int(tap.length[number]) != row.length_bytes or zlib.crc32(head[:_HEAD_BYTES]) != row.head_crc32:
            which = f"Packet {number:,} that {words}, at {seconds(t_ns)},"
            return f"{which} is not the one that the log has in its place."
        if not early_ns <= t_ns - row.t_ns <= late_ns:
            return f"Packet {number:,} {words} at {seconds(t_ns)}, but at {seconds(row.t_ns)} by the log."
        if len(head) == row.length_bytes:
            if zlib.crc32(head) != row.packet_crc32:
                return (
                    f"Packet {number:,} that {words}, at {seconds(t_ns)}, has other bytes than the log says."
                )
            right = sums_are_right(head)
            if right is not None and row.checksum_valid is not None and right != row.checksum_valid:
                said = "right" if row.checksum_valid else "wrong"
                what = f"Packet {number:,} that {words}, at {seconds(t_ns)}"
                return f"{what}: its checksums are not {said}, as the log says."
    return None


def _end_ns(node: Node, log: Log) -> int:
    """When the node stopped: what was due then or later need not have happened."""
    return log.end_ns if node.told is None else max(log.end_ns, int(node.told["stopped_ns"]))


def _node_faults(
    node: Node, log: Log, plan_run: Mapping[str, Any], capture: Capture, findings: Findings
) -> list[str]:
    """What is wrong with a node as a whole, a sentence each; what cannot be told is left to `undecided`."""
    end_ns = _end_ns(node, log)
    datagrams = frozenset(flow["id"] for flow in plan_run["flows"] if flow["stack"] == "udp")
    heads = _captured(node, log, capture)
    whole = {
        place: head
        for place, head in heads.items()
        if (len(head), zlib.crc32(head)) == log.rows[place].fingerprint
    }
    contents = Contents(node.rules, node.between, log, heads, whole, datagrams)
    contents.check()
    if contents.left:
        names = ", ".join(repr(node.rules[rule]["id"]) for rule in sorted(contents.left))
        findings.undecided.append(
            f"Which bytes {node.name}'s {names} made was not told of all packets: some are not captured "
            "whole, were altered by chance before, or have a message whose place is not known."
        )
    return [
        *check_calls(node.rules, log, end_ns),
        *check_waits(node.rules, log, end_ns),
        *check_clock_additions(node.rules, log, end_ns),
        *contents.faults,
        *_counters(node, log),
    ]


def _captured(node: Node, log: Log, capture: Capture) -> dict[int, bytes]:
    """What is captured of packets that came or left, by the places of their lines in the log."""
    found = {}
    for event, links in (("seen", node.into), ("emitted", node.out)):
        for towards in (0, 1):
            tap = capture.taps.get(links(towards))
            places = [
                place for place, row in enumerate(log.rows) if row.event == event and row.towards == towards
            ]
            for place, number in zip(places, () if tap is None else tap.rows, strict=False):
                found[place] = capture.packet(number)
    return found


def _counters(node: Node, log: Log) -> list[str]:
    """Where the record's counters are not those of its log."""
    if node.told is None:
        return [f"The record says nothing of {node.name}."]
    found = log.counts()
    wrong = [
        f"The record says {int(node.told[key]):,} {key.replace('_', ' ')} of {node.name}, its log {count:,}."
        for key, count in found.items()
        if int(node.told[key]) != count
    ]
    if [rule["id"] for rule in node.told["rules"]] != [rule["id"] for rule in node.rules]:
        return [*wrong, f"The record's rules of {node.name} are not those of the plan."]
    in_log = Counter((row.event, row.rule) for row in log.rows)
    for number, rule in enumerate(node.told["rules"]):
        for event, key in _OF_RULES.items():
            told, logged = int(rule[key]), in_log[event, number]
            if told != logged:
                what = f"{key.replace('_', ' ')} of the rule {rule['id']!r}"
                wrong.append(f"The record says {told:,} {what}, its log {logged:,}.")
    return wrong
