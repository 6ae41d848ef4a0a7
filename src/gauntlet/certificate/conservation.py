"""Does every packet that entered a link leave it, or is it counted as dropped or still queued, and did no
packet come from nowhere?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import Findings, plural, seconds
from gauntlet.certificate.capture import TapPackets
from gauntlet.certificate.chance import Trials, allowed_range
from gauntlet.certificate.traffic import Traffic

Counters = Mapping[str, Any]


def check_origin(traffic: Traffic, findings: Findings) -> None:
    """Every packet that leaves a stage entered it, apart from link-local packets and ICMP messages of
    routers."""
    link, uninvited = traffic.link, traffic.uninvited
    failure = None
    if len(uninvited) > traffic.damaged_at_most:
        when = seconds(traffic.outputs.time_ns[uninvited[0]])
        failure = (
            f"{plural(len(uninvited), 'packet')} left {link} without ever entering it, the first at {when}."
        )
    findings.add(
        "origin",
        link,
        failure,
        f"Every packet that left {link} had entered it{_but_damaged(len(uninvited))}.",
        measured={"uninvited_packets": len(uninvited), "packets": len(traffic.outputs)},
        expected={"uninvited_packets": traffic.damaged_at_most},
    )


def _but_damaged(count: int) -> str:
    return (
        f", but for {plural(count, 'packet')} that corruption can have made unrecognisable" if count else ""
    )


def check_conservation(traffic: Traffic, counters: Counters | None, findings: Findings) -> None:
    """What entered = what left + what the link counts as dropped + what it counts as still queued."""
    link, inputs = traffic.link, traffic.inputs
    entered = int(inputs.expected.sum())
    left = int((inputs.expected & (traffic.matched.copies > 0)).sum())
    lost, queued = int(traffic.lost.sum()), int(traffic.queued.sum())
    scripted = int(traffic.scripted.sum())
    by_script = f"{scripted:,} vanished by script, " if scripted else ""
    dropped = 0 if counters is None else int(counters["dropped_packets"])
    backlog = 0 if counters is None else int(counters["backlog_packets"])
    # Packets that no tap had to show (a router's own, copies lost on the way) may be among the counted ones.
    others = int((~inputs.expected & (traffic.matched.copies == 0)).sum()) + int(traffic.own_words.sum())
    spare = others + _copies_lost(traffic) + _copies_queued(traffic)
    failure = None
    if lost > dropped + traffic.damaged_at_most:
        failure = (
            f"{plural(lost, 'packet')} got lost on {link}, but its counters own up to {dropped:,}: "
            f"{plural(lost - dropped, 'packet')} vanished."
        )
    elif dropped + backlog > lost + queued + spare:
        failure = (
            f"The counters of {link} say {dropped:,} dropped and {backlog:,} queued at the end, but of "
            f"{plural(entered, 'packet')} that "
            f"entered {left:,} left, so that only {lost + queued:,} can be."
        )
    findings.add(
        "conservation",
        link,
        failure,
        f"Of {plural(entered, 'packet')} that entered {link}, {left:,} left, {by_script}{lost:,} were "
        f"dropped and {queued:,} were still queued.",
        measured={
            "entered_packets": entered,
            "left_packets": left,
            "lost_packets": lost,
            "queued_packets": queued,
            **({"scripted_packets": scripted} if scripted else {}),
        },
        expected={"lost_packets": dropped, "queued_packets": backlog},
    )


def _copies_lost(traffic: Traffic) -> int:
    """How many copies made by duplication may have been dropped: these count as drops, but no packet is
    missing."""
    chance = max(state.duplicate * state.loss_probability for state in traffic.asked.states)
    if chance == 0:
        return 0
    return allowed_range([Trials(len(traffic.inputs), 0.0, chance)], tolerance.ALPHA)[1]


def _copies_queued(traffic: Traffic) -> int:
    """How many copies made by duplication may be queued at the end, beside the packets themselves."""
    chance = max(state.duplicate for state in traffic.asked.states)
    if chance == 0:
        return 0
    return allowed_range([Trials(int(traffic.may_wait.sum()), 0.0, chance)], tolerance.ALPHA)[1]


def check_counters(tap: TapPackets, counters: Counters, damage: float, findings: Findings) -> int:
    """The link's own counters of packets and bytes agree with what the capture saw leave it.

    Returns the bytes that the link carried beside the captured packets: ARP is not captured, nor is what
    passed before the capture began.
    """
    link, sent, sent_bytes = tap.link, int(counters["sent_packets"]), int(counters["sent_bytes"])
    captured_bytes = int(tap.length.sum())
    hidden = sent - len(tap)
    # A queue with a size table counts from the IP header on, any other one with the Ethernet header.
    hidden_bytes = [
        sent_bytes - captured_bytes,
        sent_bytes - captured_bytes - tolerance.ETHERNET_HEADER_BYTES * sent,
    ]
    smallest, largest = (hidden * size for size in tolerance.ARP_BYTES)
    fitting = [size for size in hidden_bytes if smallest <= size <= largest]
    # A flipped bit in the Ethernet header hides a packet of any length from the capture.
    damaged = allowed_range([Trials(sent, 0.0, damage)], tolerance.ALPHA)[1] if damage else 0
    failure = None
    if hidden < 0 or (not fitting and hidden > damaged):
        failure = (
            f"The counters of {link} say that it sent {plural(sent, 'packet')} ({sent_bytes:,} bytes), but "
            f"the capture saw "
            f"{len(tap):,} ({captured_bytes:,} bytes)."
        )
    beside = f" and {plural(hidden, 'housekeeping packet')} beside them" if hidden > 0 else ""
    findings.add(
        "counters",
        link,
        failure,
        f"The counters of {link} agree with the {plural(len(tap), 'captured packet')}{beside}.",
        measured={"captured_packets": len(tap), "captured_bytes": captured_bytes},
        expected={"sent_packets": sent, "sent_bytes": sent_bytes},
    )
    return min(fitting) if fitting else max(0, hidden_bytes[0])


def own_words(traffic: Traffic) -> int:
    """How many ICMP messages of routers and unknown packets of the stage could not be followed."""
    messages = traffic.own_words & ~traffic.outputs.local
    return int(np.count_nonzero(messages)) + int(
        (~traffic.inputs.expected & (traffic.matched.copies == 0)).sum()
    )
