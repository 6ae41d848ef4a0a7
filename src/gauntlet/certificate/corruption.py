"""Does a link damage packets where it was asked to, and as many?

netem flips one bit of the packet, its Ethernet header included. A tap shows it where the bit lies among
the bytes by which a packet is known: the packet that left is then none of those that entered. How many of
the flipped bits these are depends on the packet's length, and on how much of it netem can reach (the
kernel keeps what TCP sends apart from its headers), so that the rate is known within bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import headers, tolerance
from gauntlet.certificate.answers import Findings, percent, plural
from gauntlet.certificate.capture import Capture
from gauntlet.certificate.chance import Trials, allowed_range
from gauntlet.certificate.traffic import Traffic

Floats = npt.NDArray[np.float64]

_UNSEEN_BYTES = 10
"""Most bytes of a header in which a flipped bit need not show: those that may change on the way, and those
that make a packet one of a router's own or of the link's."""

_SHORTEST_HEADERS_BYTES = 28
"""IPv4 (20) and UDP (8): what netem can reach at least."""

_LENGTH_STEP = 64


@dataclass(frozen=True)
class Sight:
    """What a tap holds of a packet: `outer_bytes` of a tunnel's headers, behind which `key_bytes` tell it
    from others."""

    outer_bytes: int
    key_bytes: int

    def share(self, length: int) -> float:
        """The smallest share of the bits of a packet (`length` bytes from its IP header on) that would
        show if they flipped."""
        shares = []
        for reach in (min(length, self.outer_bytes + _SHORTEST_HEADERS_BYTES), length):
            told = min(reach - self.outer_bytes, self.key_bytes) - _UNSEEN_BYTES
            shares.append(max(0.0, told / (reach + tolerance.ETHERNET_HEADER_BYTES)))
        return min(shares)


def check_corruption(traffic: Traffic, capture: Capture, findings: Findings) -> None:
    """Packets that a link has damaged: as many as the asked share allows. What was not to be damaged is
    judged by `origin`."""
    asked, link, outputs = traffic.asked, traffic.link, traffic.outputs
    if not any(state.corrupt and state.up for state in asked.states):
        return
    sight = _sight(traffic, capture)
    corrupt = asked.column("corrupt") * asked.column("up")
    low, high = _shares(traffic, corrupt)
    damaged = np.zeros(len(outputs), np.bool_)
    damaged[traffic.uninvited] = True
    # Rounded up: of a longer packet a smaller part is seen.
    length = (outputs.length + _LENGTH_STEP - 1) // _LENGTH_STEP * _LENGTH_STEP
    groups, counts = np.unique(np.stack((low, high, length.astype(np.float64))), axis=1, return_counts=True)
    trials = [
        Trials(int(count), float(least * sight.share(int(size))), float(most))
        for (least, most, size), count in zip(groups.T, counts, strict=True)
    ]
    smallest, largest = allowed_range(trials, tolerance.ALPHA)
    found, total = int(damaged.sum()), len(outputs)
    share = float(corrupt.max())
    measured = {"packets": total, "damaged_packets": found}
    expected = {"smallest": smallest, "largest": largest, "alpha": tolerance.ALPHA}
    likely = sum(part.count * part.low for part in trials)
    if smallest == 0 and found <= largest:
        needed = f", about {ceil(total * log(2 / tolerance.ALPHA) / likely):,} would do" if likely else ""
        findings.not_checked(
            "corruption",
            link,
            f"{plural(total, 'packet')} are too few to tell the corruption asked of {link} "
            f"({percent(share)}) from "
            f"none at all by the captured part of each{needed}.",
            missing=None,
            measured=measured,
            expected=expected,
        )
        return
    failure = None
    if not smallest <= found <= largest:
        failure = (
            f"{link} damaged {found:,} of {plural(total, 'packet')} that can be told where "
            f"{percent(share)} was "
            f"asked, which allows {smallest:,} to {largest:,}."
        )
    findings.add(
        "corruption",
        link,
        failure,
        f"{link} damaged {found:,} of {plural(total, 'packet')} that can be told; {smallest:,} to "
        f"{largest:,} were "
        "allowed.",
        measured=measured,
        expected=expected,
    )


def _sight(traffic: Traffic, capture: Capture) -> Sight:
    packets = capture.records["packet"]
    tunnelled = headers.in_tunnel(packets[traffic.outputs.rows]).any()
    return Sight(headers.GRE_BYTES if tunnelled else 0, packets.shape[1] - headers.GRE_BYTES)


def _shares(traffic: Traffic, corrupt: Floats) -> tuple[Floats, Floats]:
    """The least and the largest share in force when each output may have entered: which input a damaged one
    was is not known."""
    asked, left_ns = traffic.asked, traffic.outputs.time_ns
    longest_ns = round(float((asked.column("delay_s") + asked.column("jitter_s")).max()) * 1e9)
    spans = np.stack(
        (
            asked.at(left_ns - longest_ns - tolerance.current().time_ns),
            asked.at(left_ns + tolerance.current().time_ns),
        )
    )
    pairs, which = np.unique(spans, axis=1, return_inverse=True)
    low, high = (
        np.array([pick(corrupt[first : last + 1]) for first, last in pairs.T], np.float64)
        for pick in (np.min, np.max)
    )
    return low[which.ravel()], high[which.ravel()]
