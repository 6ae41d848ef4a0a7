"""Did a link lose and repeat as many packets as it was asked to, give or take what chance may do?"""

from __future__ import annotations

from collections import defaultdict
from math import exp, log

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import Findings, percent, plural, seconds
from gauntlet.certificate.asked import AskedLink, Bursts
from gauntlet.certificate.chance import Trials, allowed_range
from gauntlet.certificate.queues import Occupancy
from gauntlet.certificate.traffic import Traffic

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def check_losses(traffic: Traffic, queue: Occupancy, findings: Findings) -> None:
    """Losses of a netem link: within the range of chance for each asked probability and over all; none where
    none was asked.

    With duplication a packet is gone only if it was lost and not repeated (netem draws both), so its chance
    of vanishing lies between loss x (1 - duplicate) and loss. Packets that were still queued at the end were
    not lost: netem throws its dice when they enter. Where corruption was asked, a damaged packet may be
    missing, too.
    """
    judged = np.flatnonzero(
        traffic.inputs.expected & ~_copies_may_wait(traffic) & ~traffic.scripted & ~queue.must_be_full
    )
    lost = traffic.lost[judged] & ~queue.may_be_full[judged]
    states = traffic.asked.states
    probability = np.array([state.loss_probability for state in states])
    repeated = np.array([state.duplicate if state.up else 0.0 for state in states])
    damaged = 1 - (1 - probability) * (1 - traffic.damage)
    _judge_by_chance(
        traffic,
        name="loss",
        verb="lost",
        judged=judged,
        hit=lost,
        unsure=traffic.lost_or_queued[judged],
        low=probability * (1 - repeated),
        high=damaged,
        findings=findings,
    )


def check_outage(traffic: Traffic, findings: Findings) -> None:
    """Nothing gets through a link that was taken down."""
    if all(state.up for state in traffic.asked.states):
        return
    link, inputs = traffic.link, traffic.inputs
    met = np.flatnonzero((traffic.asked.most("up", inputs.time_ns) == 0) & ~traffic.scripted)
    if not len(met):
        findings.not_checked(
            "outage",
            link,
            f"No packet came to {link} while it was down.",
            missing=None,
            measured={"packets": 0},
        )
        return
    through = met[traffic.matched.copies[met] > 0]
    failure = None
    if len(through):
        when = seconds(inputs.time_ns[through[0]])
        failure = (
            f"{plural(len(through), 'packet')} got through {link} while it was down, the first at {when}."
        )
    findings.add(
        "outage",
        link,
        failure,
        f"None of {plural(len(met), 'packet')} got through {link} while it was down.",
        measured={"packets": len(met), "passed_packets": len(through)},
        expected={"passed_packets": 0},
    )


def check_copies(traffic: Traffic, queue: Occupancy, findings: Findings) -> None:
    """Packets that left more than once: within the range of chance of the asked duplication; none where none
    was asked.

    netem rolls the dice of loss for a copy once more, so that a packet leaves twice with a chance between
    duplicate x (1 - loss)^2 and duplicate.
    """
    judged = np.flatnonzero(
        traffic.inputs.expected & ~traffic.queued & ~_copies_may_wait(traffic) & ~queue.must_be_full
    )
    copied = traffic.matched.copies[judged] > 1
    states = traffic.asked.states
    loss = np.array([state.loss_probability for state in states])
    probability = np.array([state.duplicate if state.up else 0.0 for state in states])
    _judge_by_chance(
        traffic,
        name="duplication",
        verb="repeated",
        judged=judged,
        hit=copied,
        unsure=np.zeros(len(judged), np.bool_),
        low=probability * (1 - loss) ** 2,
        high=probability,
        findings=findings,
    )
    more = int(np.maximum(traffic.matched.copies[judged] - 2, 0).sum())
    if more:
        findings.add(
            "duplication",
            traffic.link,
            f"{traffic.link} repeated packets more than once ({plural(more, 'time')}).",
            "",
        )


def _copies_may_wait(traffic: Traffic) -> Flags:
    """Inputs that tell nothing, because what is queued at the end may be their copies; none where no
    duplication was asked for."""
    if any(state.duplicate for state in traffic.asked.states):
        return traffic.may_wait
    return np.zeros(len(traffic.inputs), np.bool_)


def _judge_by_chance(
    traffic: Traffic,
    *,
    name: str,
    verb: str,
    judged: Ints,
    hit: Flags,
    unsure: Flags,
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    findings: Findings,
) -> None:
    """`hit` holds of each of the `judged` packets, but for those `unsure`, of which only their number is
    known."""
    link = traffic.link
    groups = _groups(traffic.asked, traffic.inputs.time_ns[judged], low, high, chain=name == "loss")
    alpha = tolerance.ALPHA / (len(groups) + 1)
    failures = []
    for members, trials, label in groups:
        fewest, most = _hits_within(hit, unsure, members)
        smallest, largest = allowed_range(trials, alpha)
        if smallest <= most and fewest <= largest:
            continue
        hits = fewest if fewest > largest else most
        if largest == 0:
            when = seconds(traffic.inputs.time_ns[judged[members[np.argmax(hit[members])]]])
            failures.append(
                f"{plural(hits, 'packet')} of {len(members):,} {_was(hits)} {verb} on {link} although no "
                f"{name} was asked for, the first "
                f"at {when}."
            )
        else:
            failures.append(
                f"{link} {verb} {hits:,} of {plural(len(members), 'packet')} "
                f"({percent(hits / len(members))}) where {label} was "
                f"asked, which allows {smallest:,} to {largest:,}."
            )
    hits, count = int(hit.sum()), len(judged)
    smallest, largest = allowed_range([part for _, trials, _ in groups for part in trials], alpha)
    if not failures and not smallest <= hits <= largest:
        failures.append(
            f"{link} {verb} {hits:,} of {plural(count, 'packet')} over the whole run where the asked "
            f"{name} allows {smallest:,} to {largest:,}."
        )
    expected = float(sum(part.count * part.low for _, trials, _ in groups for part in trials))
    measured = {"packets": count, f"{verb}_packets": hits}
    allowed = {
        f"{verb}_packets": round(expected, 3),
        "smallest": smallest,
        "largest": largest,
        "alpha": tolerance.ALPHA,
    }
    if low.max(initial=0.0) > 0 and smallest == 0 and not failures:
        bursty = any(part.bursts is not None for _, trials, _ in groups for part in trials)
        needed = ""
        if 0 < expected < count and not bursty:
            needed = f", about {_packets_needed(expected / count):,} would do"
        findings.not_checked(
            name,
            link,
            f"{plural(count, 'packet')} are too few to tell the {name} asked of {link} "
            f"({percent(expected / count)}) from none at all{needed}."
            if expected
            else f"The {name} asked of {link} could not be checked: no packet of a flow met it."
            if any(state.up and state.loss_probability for state in traffic.asked.states)
            else f"That {link} loses all that comes while it is down was not checked: no packet came.",
            missing=None,
            measured=measured,
            expected=allowed,
        )
        return
    findings.add(
        name,
        link,
        " ".join(failures) or None,
        f"{link} {verb} {hits:,} of {plural(count, 'packet')}; {smallest:,} to {largest:,} were allowed.",
        measured=measured,
        expected=allowed,
    )


def _hits_within(hit: Flags, unsure: Flags, members: Ints) -> tuple[int, int]:
    """The fewest and the most hits that can be among some packets."""
    sure, open_here = int((hit & ~unsure)[members].sum()), int(unsure[members].sum())
    hits, spared = int((hit & unsure).sum()), int((~hit & unsure).sum())
    return sure + max(0, open_here - spared), sure + min(open_here, hits)


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _packets_needed(probability: float) -> int:
    """Packets after which not a single hit would be too rare an event to be chance."""
    return (
        int(np.ceil(log(tolerance.ALPHA / 4) / log(max(1 - probability, exp(-700)))))
        if probability > 0
        else 0
    )


def _groups(
    asked: AskedLink,
    time_ns: Ints,
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
    chain: bool,
) -> list[tuple[Ints, list[Trials], str]]:
    """Packets pooled by what was asked of them: (members, trials, label). Beside a change both states
    count as possible."""
    before, after = asked.around(time_ns)
    lows, highs = np.minimum(low[before], low[after]), np.maximum(high[before], high[after])
    pooled: dict[tuple[float, float, Bursts | None], list[tuple[int, int]]] = defaultdict(list)
    edges = np.flatnonzero(np.diff(before) | np.diff(after)) + 1
    for first, end in zip([0, *edges], [*edges, len(time_ns)], strict=True):
        if first < end:
            model = asked.states[before[first]].bursts if chain else None
            steady = before[first] == after[first]
            pooled[(float(lows[first]), float(highs[first]), model if steady else None)].append(
                (int(first), int(end))
            )
    groups = []
    for (lowest, highest, model), spans in pooled.items():
        members = np.concatenate([np.arange(first, end) for first, end in spans])
        if model is None:
            trials = [Trials(len(members), lowest, highest)]
        else:
            trials = [Trials(end - first, lowest, highest, model) for first, end in spans]
        groups.append((members, trials, _asked_words(lowest, highest)))
    return groups


def _asked_words(lowest: float, highest: float) -> str:
    if highest - lowest <= 1e-12:
        return percent(highest)
    return f"{percent(lowest)} to {percent(highest)}"
