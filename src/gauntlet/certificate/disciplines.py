"""What the queue of a link does beside being full: whom it drops and marks, when, and whether it acts at all.

Packets tell when each entered and left, and so what was queued at least and at most, and for how long each
that left had waited. They do not tell when one that is missing was dropped: that lies between its arrival and
the first instant at which the queue was empty again. Every check takes the end of this span that speaks for
the queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import headers, tolerance
from gauntlet.certificate.answers import Findings, plural, seconds, span
from gauntlet.certificate.capture import Capture
from gauntlet.certificate.queues import Occupancy
from gauntlet.certificate.traffic import Traffic

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

CODELS = frozenset({"codel", "fq_codel", "cake"})
"""Those that look at how long a packet has waited (RFC 8289); CAKE's is COBALT."""

_MAKE_ROOM = frozenset({"fq_codel", "sfq", "cake"})
"""Those that drop from the longest flow when they are full, and not the packet that comes."""

_DROP_LATE = CODELS | _MAKE_ROOM
"""Those that drop packets which they had let in."""

_SPARED_BYTES = 1514
"""CoDel leaves a queue of at most one packet of the device alone (`psched_mtu` of an Ethernet), PIE one of
less than two."""

_CE = 3
_SEEN_BYTES = 64
"""Of each packet: the headers of IP and GRE, those of IP in it, ports."""


@dataclass(frozen=True)
class Served:
    """The packets of a stage in the order in which they left, and the marks on them."""

    traffic: Traffic
    capture: Capture

    def _heads(self, rows: Ints) -> npt.NDArray[np.uint8]:
        return np.ascontiguousarray(self.capture.records["packet"][rows, : _SEEN_BYTES + headers.GRE_BYTES])

    @cached_property
    def _ecn(self) -> tuple[Ints, Ints]:
        """The ECN fields of the outputs of known origin, as they came to the link and as they left."""
        traffic = self.traffic
        left = self._heads(traffic.outputs.rows[traffic.known])
        came = self._heads(traffic.inputs.rows[traffic.known_source])
        before, after = headers.ecn(came), headers.ecn(left)
        # A mark that a packet brings stays in the tunnel; around it stands ECT(0) (RFC 6040).
        wrapped = headers.in_tunnel(left) & ~headers.in_tunnel(came)
        return np.where(wrapped & (before == _CE), 2, before), after

    @cached_property
    def can_be_marked(self) -> Flags:
        """Outputs of known origin that came with a sign that their ends know ECN."""
        able: Flags = self._ecn[0] != 0
        return able

    @cached_property
    def marked(self) -> Flags:
        """Outputs of known origin that were marked here."""
        before, after = self._ecn
        here: Flags = (after == _CE) & (before != _CE)
        return here

    @cached_property
    def left_marked(self) -> Flags:
        """Outputs of known origin that left with a mark, whoever made it."""
        with_mark: Flags = self._ecn[1] == _CE
        return with_mark

    @cached_property
    def altered(self) -> Flags:
        """Outputs of known origin whose ECN field was changed otherwise."""
        before, after = self._ecn
        changed: Flags = (before != after) & ~self.marked
        return changed

    @cached_property
    def flow(self) -> npt.NDArray[np.uint64]:
        """A number for the flow of each output of known origin: addresses, protocol, ports, DSCP."""
        came = self._heads(self.traffic.inputs.rows[self.traffic.known_source])
        return headers.flow_codes(headers.inner_packets(came))

    @cached_property
    def entered_ns(self) -> Ints:
        """When each output of known origin had entered."""
        return self.traffic.inputs.time_ns[self.traffic.known_source]

    @cached_property
    def taken_ns(self) -> Ints:
        """When the queue let each output of known origin go to the token bucket: when that before it left."""
        return np.maximum(self.traffic.previous_departure_ns[self.traffic.known], self.entered_ns)

    @cached_property
    def missing(self) -> Ints:
        """Inputs that were surely lost here."""
        traffic = self.traffic
        return np.flatnonzero(traffic.lost & ~traffic.matched.unclear_in & ~traffic.may_wait)

    @cached_property
    def gone_by_ns(self) -> Ints:
        """Of each of `missing`, the latest instant at which it can have been dropped."""
        traffic, slack_ns = self.traffic, tolerance.current().time_ns
        source = traffic.matched.source
        came = np.sort(traffic.inputs.time_ns[source[source >= 0]])
        left = traffic.outputs.time_ns[source >= 0]
        empty_ns = left[np.searchsorted(came, left, side="right") <= np.arange(1, len(left) + 1)]
        at_ns = traffic.inputs.time_ns[self.missing]
        following = np.searchsorted(empty_ns, at_ns, side="left")
        ends_ns = np.append(empty_ns, traffic.end_ns)[following]
        at_once = np.searchsorted(came, at_ns + slack_ns, side="right") <= np.searchsorted(
            left, at_ns - slack_ns, side="right"
        )
        return np.where(at_once, at_ns, np.maximum(ends_ns, at_ns))

    @cached_property
    def missing_could_be_marked(self) -> Flags:
        """Which of `missing` came with a sign that their ends know ECN."""
        able: Flags = headers.ecn(self._heads(self.traffic.inputs.rows[self.missing])) != 0
        return able


def check_discipline(
    traffic: Traffic,
    queue: Occupancy,
    capture: Capture,
    counters: Mapping[str, Any] | None,
    findings: Findings,
) -> None:
    """All that can be told of a queue that is not the token bucket's own."""
    served = Served(traffic, capture)
    if traffic.asked.keeps_flows_apart:
        check_flow_order(served, findings)
    check_drops(served, queue, findings)
    check_marks(served, findings)
    check_control(served, counters, findings)


def check_flow_order(served: Served, findings: Findings) -> None:
    """Of each flow, packets leave in the order in which they came; flows may pass each other."""
    traffic, sources = served.traffic, served.traffic.known_source
    by_flow = np.argsort(served.flow, kind="stable")
    same = np.diff(served.flow[by_flow]) == 0
    times = traffic.inputs.time_ns[sources][by_flow]
    feeds = traffic.inputs.feed[sources][by_flow]
    numbers = sources[by_flow]
    behind = same & np.where(
        feeds[1:] == feeds[:-1],
        np.diff(numbers) < 0,
        times[1:] < times[:-1] - tolerance.current().time_ns,
    )
    overtaken = numbers[1:][behind]
    passed = int((np.diff(traffic.inputs.time_ns[sources]) < 0).sum())
    failure = None
    if len(overtaken):
        failure = (
            f"{plural(len(overtaken), 'packet')} left {traffic.link} behind a later one of the same flow: "
            f"the first of them entered at {seconds(traffic.inputs.time_ns[overtaken].min())}."
        )
    findings.add(
        "order",
        traffic.link,
        failure,
        f"All {plural(len(sources), 'packet')} of {traffic.link} kept their order within their flows; "
        f"{passed:,} times one of another flow passed.",
        measured={"overtaken_packets": len(overtaken), "packets": len(sources), "passed_packets": passed},
        expected={"overtaken_packets": 0},
    )


def check_drops(served: Served, queue: Occupancy, findings: Findings) -> None:
    """No packet is dropped that the discipline has no reason to drop."""
    traffic, missing, link = served.traffic, served.missing, served.traffic.link
    asked = traffic.asked.queue or {}
    kind = str(asked["kind"])
    may_wait = int((traffic.may_wait & (traffic.matched.copies == 0)).sum())
    full = _full_until(served, queue, kind)
    reason, wrong = _unreasonable(served, queue, asked)
    wrong &= ~full
    able = served.missing_could_be_marked & ~full
    failures = []
    if int(wrong.sum()) > traffic.damaged_at_most:
        k = int(missing[wrong][0])
        failures.append(
            f"{plural(int(wrong.sum()), 'packet')} got lost on {link} although {reason}: the first entered "
            f"at {seconds(traffic.inputs.time_ns[k])}."
        )
    marks_instead = kind in ("codel", "fq_codel", "red") and asked["ecn"]
    if marks_instead and int(able.sum()) > traffic.damaged_at_most:
        k = int(missing[able][0])
        failures.append(
            f"{plural(int(able.sum()), 'packet')} that could be marked got lost on {link} although its queue "
            f"had room: the first entered at {seconds(traffic.inputs.time_ns[k])}."
        )
    measured = {"dropped_packets": len(missing), "dropped_while_full_packets": int(full.sum())}
    if kind == "cake" and len(missing) and not failures:
        findings.not_checked(
            "drops",
            link,
            f"{link} dropped {plural(len(missing), 'packet')}; CAKE also drops by chance, for a while after "
            "it was full, which packets do not tell from other drops.",
            missing=None,
            measured=measured,
        )
        return
    if may_wait and not failures:
        findings.not_checked(
            "drops",
            link,
            f"{plural(may_wait, 'packet')} of {link} were dropped or still waited when the run ended, and "
            "nothing tells which.",
            missing=None,
            measured=measured,
        )
        return
    findings.add(
        "drops",
        link,
        " ".join(failures) or None,
        f"{link} dropped {plural(len(missing), 'packet')}, none of them without reason."
        if len(missing)
        else f"{link} dropped no packet.",
        measured=measured,
        expected={"dropped_without_reason_packets": 0},
    )


def _full_until(served: Served, queue: Occupancy, kind: str) -> Flags:
    """Which of the missing packets may have been dropped because the queue was full: as they came, or, where
    the longest flow makes room, while they waited."""
    times, ends = served.traffic.inputs.time_ns, served.gone_by_ns
    may_be_full = queue.may_be_full
    if kind in _DROP_LATE and queue.unit == "packet":
        # Those that were dropped later were queued, too.
        slack_ns = tolerance.current().time_ns
        come = np.searchsorted(times[served.missing], times, side="right")
        gone = np.searchsorted(np.sort(ends), times - slack_ns, side="left")
        may_be_full = queue.at_most + (come - gone) + queue.size > queue.limit_low
    if kind not in _MAKE_ROOM:
        at_once: Flags = may_be_full[served.missing]
        return at_once
    ever = np.concatenate(([0], np.cumsum(may_be_full)))
    last = np.searchsorted(times, ends + tolerance.current().time_ns, side="right")
    full: Flags = ever[np.maximum(last, served.missing + 1)] > ever[served.missing]
    return full


def _unreasonable(served: Served, queue: Occupancy, asked: Mapping[str, Any]) -> tuple[str, Flags]:
    """Which of the missing packets the discipline had no reason to drop while it was not full, in words."""
    traffic, missing, kind = served.traffic, served.missing, asked["kind"]
    if kind in ("codel", "fq_codel"):
        target_ns = round(asked["target_s"] * 1e9)
        waited_ns = served.gone_by_ns - traffic.inputs.time_ns[missing]
        reason = f"it cannot have waited for {span(target_ns)} (target)"
        return reason, waited_ns + tolerance.current().time_ns < target_ns
    if kind in ("pie", "fq_pie"):
        return "the queue was shorter than two packets", _at_most_bytes(traffic)[missing] < 2 * _SPARED_BYTES
    if kind == "red":
        longest = np.maximum.accumulate(queue.at_most)[missing]
        return "the queue had never been as long as min_bytes", longest < asked["min_bytes"]
    if kind in ("pfifo", "sfq"):
        return "the queue had room", np.ones(len(missing), np.bool_)
    return "", np.zeros(len(missing), np.bool_)


def _at_most_bytes(traffic: Traffic) -> Ints:
    """The most that can have been queued before each input."""
    held = traffic.length_at_link * np.where(traffic.queued, 1, traffic.matched.copies)
    matched = traffic.matched.source >= 0
    gone = np.concatenate(([0], np.cumsum(traffic.length_at_link[traffic.matched.source[matched]])))
    before = traffic.inputs.time_ns - tolerance.current().time_ns
    left = gone[np.searchsorted(traffic.outputs.time_ns[matched], before, side="left")]
    own = int(traffic.outputs.length[traffic.own_words].sum())
    most: Ints = np.cumsum(held) - held - left + own
    return most


def check_marks(served: Served, findings: Findings) -> None:
    """Only what can be marked is, only by a queue that marks, only after a wait; and a threshold holds."""
    traffic, link = served.traffic, served.traffic.link
    asked = traffic.asked.queue or {}
    kind, slack_ns = str(asked["kind"]), tolerance.current().time_ns
    known = traffic.known
    waited_ns = traffic.outputs.time_ns[known] - served.entered_ns
    failures: list[str] = []

    def note(wrong: Flags, words: str) -> None:
        count = int(wrong.sum())
        if count > traffic.damaged_at_most:
            when = seconds(traffic.outputs.time_ns[known[np.flatnonzero(wrong)[0]]])
            failures.append(f"{plural(count, 'packet')} {words} on {link}, the first at {when}.")

    note(served.altered, "had another ECN field afterwards, without being marked,")
    note(served.marked & ~served.can_be_marked, "were marked although their ends do not know ECN")
    threshold_s = asked.get("ce_threshold_s")
    marks = kind == "cake" or bool(asked.get("ecn"))
    if not marks and threshold_s is None:
        note(served.marked, "were marked although the queue was to mark none")
    elif kind in CODELS:
        least_s = min(s for s in (threshold_s, asked["target_s"] if marks else None) if s is not None)
        note(
            served.marked & (waited_ns + slack_ns < least_s * 1e9),
            f"were marked before they had waited for {span(round(least_s * 1e9))}",
        )
    if threshold_s is not None:
        surely = served.taken_ns - served.entered_ns > threshold_s * 1e9 + slack_ns
        note(
            surely & served.can_be_marked & ~served.left_marked,
            f"had waited for more than {span(round(threshold_s * 1e9))} (ce_threshold) and were not marked",
        )
    able, marked = int(served.can_be_marked.sum()), int(served.marked.sum())
    findings.add(
        "marks",
        link,
        " ".join(failures) or None,
        f"{link} marked {marked:,} of the {plural(able, 'packet')} that could be.",
        measured={"markable_packets": able, "marked_packets": marked},
        expected={"wrongly_marked_packets": 0},
    )


def check_control(served: Served, counters: Mapping[str, Any] | None, findings: Findings) -> None:
    """A CoDel that lets packets wait for longer than its target and its interval drops or marks one.

    What waits longest is judged by its flow, which shares its fate with no other one but by chance: a packet
    behind which the next one of its flow has waited for the target too, with more than a packet of its flow
    in the queue.
    """
    traffic, link = served.traffic, served.traffic.link
    asked = traffic.asked.queue or {}
    kind = str(asked["kind"])
    said = (counters or {}).get("queue")
    if said not in (None, kind):
        findings.add("control", link, f"{link} has the queue {said}, where {kind} was asked.", "")
        return
    if kind not in CODELS:
        if kind in ("pie", "fq_pie", "red"):
            findings.not_checked(
                "control",
                link,
                f"Whom {kind} drops or marks is drawn, with a chance that packets do not tell; that it is "
                "never the wrong one was checked.",
                missing=None,
            )
        return
    target_ns = round(asked["target_s"] * 1e9)
    patience_ns = round(asked["rtt_s" if kind == "cake" else "interval_s"] * 1e9)
    slack_ns = tolerance.current().time_ns
    signals = _signals(served)
    times = 0
    silent_ns: int | None = None
    flows = served.flow if kind != "codel" else np.zeros(len(served.flow), np.uint64)
    length = traffic.length_at_link[traffic.known_source]
    order = np.argsort(flows, kind="stable")
    edges = np.flatnonzero(np.diff(flows[order])) + 1
    for members in np.split(order, edges) if len(order) else ():
        taken, entered = served.taken_ns[members], served.entered_ns[members]
        through = np.concatenate(([0], np.cumsum(length[members])))
        come = np.searchsorted(np.maximum.accumulate(entered), taken - slack_ns, side="right")
        waiting = through[np.maximum(come, np.arange(1, len(members) + 1))] - through[1:]
        following = np.append(entered[1:], np.iinfo(np.int64).max)
        above = (taken - target_ns - slack_ns > np.maximum(entered, following)) & (waiting > _SPARED_BYTES)
        for first, last in _runs(above):
            late = np.flatnonzero(taken[first : last + 1] >= taken[first] + patience_ns + slack_ns)
            if not len(late):
                continue
            times += 1
            until_ns = int(taken[first + late[0]])
            if not signals.any_within(int(taken[first]) - slack_ns, until_ns + slack_ns):
                silent_ns = until_ns if silent_ns is None else min(silent_ns, until_ns)
    measured = {"times": times, "signals": len(signals.earliest_ns)}
    if not times:
        findings.not_checked(
            "control",
            link,
            f"Nothing waited on {link} for longer than {span(target_ns)} throughout {span(patience_ns)}, so "
            f"that {kind} had nothing to do.",
            missing=None,
            measured=measured,
        )
        return
    failure = None
    if silent_ns is not None:
        failure = (
            f"{link} let packets wait for longer than {span(target_ns)} throughout {span(patience_ns)} and "
            f"neither dropped nor marked one until {seconds(silent_ns)}, which is no {kind}."
        )
    findings.add(
        "control",
        link,
        failure,
        f"Each of the {plural(times, 'time')} that packets waited on {link} for longer than "
        f"{span(target_ns)} throughout {span(patience_ns)}, one was dropped or marked.",
        measured=measured,
        expected={"target_s": target_ns / 1e9, "interval_s": patience_ns / 1e9},
    )


@dataclass(frozen=True)
class _Signals:
    """Drops and marks: when each can have been made, sorted by the beginning."""

    earliest_ns: Ints
    latest_so_far_ns: Ints
    """The latest end among those up to each."""

    def any_within(self, first_ns: int, last_ns: int) -> bool:
        """Whether one of them can have been made between two instants."""
        begun = int(np.searchsorted(self.earliest_ns, last_ns, side="right"))
        return begun > 0 and int(self.latest_so_far_ns[begun - 1]) >= first_ns


def _signals(served: Served) -> _Signals:
    traffic = served.traffic
    marks = served.taken_ns[served.marked]
    either = np.flatnonzero(traffic.lost | (traffic.may_wait & (traffic.matched.copies == 0)))
    drops = traffic.inputs.time_ns[either]
    ends = np.full(len(either), traffic.end_ns)
    ends[np.searchsorted(either, served.missing)] = served.gone_by_ns
    earliest, latest = np.concatenate((marks, drops)), np.concatenate((marks, ends))
    order = np.argsort(earliest, kind="stable")
    return _Signals(earliest[order], np.maximum.accumulate(latest[order]))


def _runs(flags: Flags) -> list[tuple[int, int]]:
    """First and last place of each run of flags that are set."""
    edges = np.diff(np.concatenate(([0], flags.astype(np.int8), [0])))
    return list(
        zip(np.flatnonzero(edges == 1).tolist(), (np.flatnonzero(edges == -1) - 1).tolist(), strict=True)
    )
