"""Does each packet take the time it was asked to take, and do packets keep their order?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import Findings, plural, seconds, span
from gauntlet.certificate.traffic import Traffic, delay_windows

Ints = npt.NDArray[np.int64]


def check_delays(traffic: Traffic, findings: Findings) -> None:
    """No packet leaves a delaying link earlier or later than the delay in force when it entered.

    A packet may leave later than that only where order is kept and it waits for the packet before it: at the
    very instant at which that one leaves.
    """
    asked, link = traffic.asked, traffic.link
    left_ns = traffic.outputs.time_ns[traffic.known]
    entered_ns = traffic.inputs.time_ns[traffic.known_source]
    least, most = delay_windows(asked, entered_ns)
    due_ns = entered_ns + most
    keeps_order = asked.most("reorder", entered_ns) == 0
    held_ns = np.where(keeps_order, traffic.previous_departure_ns[traffic.known], due_ns)
    early_ns = entered_ns + least - left_ns
    late_ns = left_ns - np.maximum(due_ns, held_ns)
    worst_early = int(early_ns.max(initial=np.iinfo(np.int64).min))
    worst_late = int(late_ns.max(initial=np.iinfo(np.int64).min))
    early, late = early_ns > tolerance.current().time_ns, late_ns > tolerance.current().late_ns
    failures = []
    if early.any():
        k = int(np.argmax(early_ns))
        failures.append(
            f"{plural(int(early.sum()), 'packet')} left {link} earlier than its delay allows: the worst "
            f"entered at "
            f"{seconds(entered_ns[k])}, was to take at least {span(least[k])} and took "
            f"{span(left_ns[k] - entered_ns[k])}, "
            f"{span(worst_early)} too little."
        )
    if late.any():
        k = int(np.argmax(late_ns))
        failures.append(
            f"{plural(int(late.sum()), 'packet')} left {link} later than its delay and the order of "
            f"packets explain: the worst "
            f"entered at {seconds(entered_ns[k])}, was to take at most {span(most[k])} and took "
            f"{span(left_ns[k] - entered_ns[k])}, "
            f"{span(worst_late)} too much.{tolerance.current().why_late}"
        )
    failures += _stuck(traffic)
    waited = int(((left_ns - due_ns > tolerance.current().late_ns) & ~late).sum())
    measured: dict[str, float] = {"packets": len(left_ns), "waited_for_order_packets": waited}
    if len(left_ns):
        measured |= {
            "shortest_s": int((left_ns - entered_ns).min()) / 1e9,
            "longest_s": int((left_ns - entered_ns).max()) / 1e9,
            "earliest_before_due_s": worst_early / 1e9,
            "latest_after_due_s": worst_late / 1e9,
        }
    waits = f", {waited:,} of them held back to keep the order" if waited else ""
    findings.add(
        "delay",
        link,
        " ".join(failures) or None,
        f"All {plural(len(left_ns), 'packet')} left {link} after the delay in force when they "
        f"entered{waits}.",
        measured=measured,
        expected={
            "shortest_s": int(least.min(initial=2**62)) / 1e9 if len(least) else None,
            "longest_s": int(most.max(initial=0)) / 1e9 if len(most) else None,
            **tolerance.current().expected,
        },
    )


def _stuck(traffic: Traffic) -> list[str]:
    waiting = np.flatnonzero(traffic.queued & ~traffic.matched.unclear_in)
    _, most = delay_windows(traffic.asked, traffic.inputs.time_ns[waiting])
    overdue_ns = traffic.end_ns - (traffic.inputs.time_ns[waiting] + most)
    stuck = int((overdue_ns > tolerance.current().time_ns).sum())
    if not stuck:
        return []
    return [
        f"{plural(stuck, 'packet')} still waited on {traffic.link} at the end of the run although the "
        f"delay was over, "
        f"the longest for {span(int(overdue_ns.max()))}."
    ]


def check_order(traffic: Traffic, findings: Findings) -> None:
    """Packets that enter while `reorder` is false leave in the order in which they entered; copies are not
    counted."""
    link = traffic.link
    entered_ns = traffic.inputs.time_ns[traffic.known_source]
    ordered = traffic.asked.most("reorder", entered_ns) == 0
    in_departure_order = traffic.known_source[ordered]
    if (np.diff(in_departure_order) <= 0).any():
        source, first_copies = np.unique(in_departure_order, return_index=True)
        in_departure_order = source[np.argsort(first_copies, kind="stable")]
    overtaken = _overtakers(traffic, in_departure_order)
    failure = None
    if len(overtaken):
        k = int(overtaken[0])
        failure = (
            f"{plural(len(overtaken), 'packet')} left {link} behind a packet that had entered later, "
            f"although order was to be kept: "
            f"the first of them entered at {seconds(traffic.inputs.time_ns[k])}."
        )
    findings.add(
        "order",
        link,
        failure,
        f"All {plural(len(in_departure_order), 'packet')} that were to keep their order on {link} kept it.",
        measured={"overtaken_packets": len(overtaken), "packets": len(in_departure_order)},
        expected={"overtaken_packets": 0},
    )


def _overtakers(traffic: Traffic, sources: Ints) -> Ints:
    """Inputs, given in order of departure, that left behind a later one of the same tap, or clearly later
    one of another."""
    if not len(sources):
        return sources
    times, feeds = traffic.inputs.time_ns[sources], traffic.inputs.feed[sources]
    behind = times < np.maximum.accumulate(times) - tolerance.current().time_ns
    for feed in np.unique(feeds):
        mine = np.flatnonzero(feeds == feed)
        behind[mine] |= sources[mine] < np.maximum.accumulate(sources[mine])
    return sources[behind]
