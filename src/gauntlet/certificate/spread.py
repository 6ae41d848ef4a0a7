"""Is jitter spread as it was asked to be: uniformly between its bounds, anew for every packet?

Where order is kept, a packet whose own delay would have let it overtake waits for the one before it: its
own delay is then known only to be shorter. Of all others the delay is known, and known to be longer than
that wait would have been. So the place of each within the part of the uniform distribution that was left
to it is uniform between 0 and 1 and independent of all that went before, and the largest distance between
their distribution and the uniform one (Kolmogorov and Smirnov) exceeds sqrt(ln(2 / alpha) / 2n) with a
chance of at most alpha (Dvoretzky, Kiefer and Wolfowitz, with Massart's constant).
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import Findings, plural
from gauntlet.certificate.traffic import Traffic

Floats = npt.NDArray[np.float64]

_ROOM_NS = 500_000
"""A packet is judged if at least this much of the jitter, or half of it, was left to its delay: the
tolerance of an instant is small against it."""


def check_spread(traffic: Traffic, findings: Findings) -> None:
    """The jitter of a link, where any was asked for."""
    if not any(state.jitter_s and state.up for state in traffic.asked.states):
        return
    link = traffic.link
    places, blur = jitter_places(traffic)
    count = len(places)
    allowed = largest_distance(count, tolerance.ALPHA) + blur
    # A delay without any jitter is a distance of at least a half.
    if allowed >= 0.5:
        findings.not_checked(
            "jitter",
            link,
            f"How the jitter of {link} is spread could not be checked: of {plural(count, 'packet')} only "
            "is the "
            "own delay known, the others waited for those before them or met another jitter.",
            missing=None,
            measured={"packets": count},
        )
        return
    distance = distance_from_uniform(places)
    failure = None
    if distance > allowed:
        failure = (
            f"The jitter of {link} is not spread as asked: its distribution over {plural(count, 'packet')} "
            "is off "
            f"the uniform one by {distance:.3g} where chance allows {allowed:.3g} (the median stands at "
            f"{np.median(places):.3g} of 0 to 1)."
        )
    findings.add(
        "jitter",
        link,
        failure,
        f"The jitter of {link} is spread evenly between its bounds ({plural(count, 'packet')}).",
        measured={"packets": count, "distance": round(distance, 6)},
        expected={"distance": round(allowed, 6), "alpha": tolerance.ALPHA},
    )


def largest_distance(count: int, alpha: float) -> float:
    """The distance from its own distribution that so many independent values exceed with a chance of
    `alpha`."""
    return sqrt(log(2 / alpha) / (2 * count)) if count else 1.0


def distance_from_uniform(places: Floats) -> float:
    """Largest distance between the distribution of values and the uniform one over 0 to 1."""
    count = len(places)
    ordered = np.sort(places)
    steps = np.arange(count + 1) / count
    return float(max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))


def jitter_places(traffic: Traffic) -> tuple[Floats, float]:
    """Where each delay lies within what was left to it, 0 to 1, of packets that did not wait for others;
    and how far the tolerance of instants can move any of them."""
    asked = traffic.asked
    left_ns, entered_ns = traffic.outputs.time_ns[traffic.known], traffic.inputs.time_ns[traffic.known_source]
    before, after = asked.around(entered_ns)
    delay, jitter = asked.column("delay_s")[before] * 1e9, asked.column("jitter_s")[before] * 1e9
    keeps_order = asked.column("reorder")[before] == 0
    previous_ns = traffic.previous_departure_ns[traffic.known]
    # A packet of a network that keeps order cannot leave before the one before it, nor before it came.
    floor_ns = np.where(keeps_order, np.maximum(previous_ns - entered_ns, 0), 0)
    took_ns = (left_ns - entered_ns).astype(np.float64)
    lowest, highest = np.maximum(delay - jitter, floor_ns), delay + jitter
    room = highest - lowest
    bound = floor_ns > delay - jitter
    chosen = (before == after) & (jitter > 0) & (room >= np.minimum(_ROOM_NS, jitter))
    chosen &= ~(bound & (took_ns - lowest <= tolerance.current().time_ns))
    room = room[chosen]
    places = np.clip((took_ns - lowest)[chosen] / room, 0.0, 1.0)
    return places, float((tolerance.current().time_ns / room).max(initial=0.0))
