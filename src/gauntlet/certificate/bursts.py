"""Do losses come in the bursts that were asked for?

The losses of a Gilbert-Elliott link are those of a hidden chain, so that the number of bursts that reach a
length, and of losses that follow a loss, have known moments: those of products of the chain's transfer
matrices, with the length of the burst so far (up to the longest that is looked at) as a part of the state.
Two kinds of sums are held against them, both of mean zero on a link that does what was asked:

* losses that follow a loss, less their asked share of all losses: how long bursts are on average;
* bursts that reach a length, less their asked share of those that reach half of it: how their lengths
  spread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import Findings, plural
from gauntlet.certificate.asked import Bursts
from gauntlet.certificate.chance import tilted_range
from gauntlet.certificate.queues import Occupancy
from gauntlet.certificate.traffic import Traffic

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LENGTHS = (1, 2, 4, 8, 16)
"""Burst lengths that are counted; each is held against the one before it."""

_ENOUGH_BURSTS = 20
"""Expected bursts of a length below which nothing is said of those twice as long."""

_TILTS: Floats = np.geomspace(1e-4, 8.0, 90)


@dataclass(frozen=True)
class Statistic:
    """A sum over packets of mean zero: losses at which `counts(burst length so far)` is true weigh 1, less
    the `share` of those at which `of` is true. `longest`: the longest burst length that it tells from
    others."""

    counts: Callable[[Ints], Flags]
    of: Callable[[Ints], Flags]
    longest: int


@dataclass(frozen=True)
class Dice:
    """The fates of packets in the order in which a link rolled its dice: `lost`, and the `stretch` of
    unbroken sequence to which each belongs."""

    lost: Flags
    stretch: Ints

    @property
    def lengths(self) -> Ints:
        """At each packet, how many losses in a row end with it within its stretch (0: not lost)."""
        number = np.arange(len(self.lost))
        breaks = ~self.lost
        begins = np.concatenate(([True], np.diff(self.stretch) != 0)) if len(number) else breaks
        last = np.where(breaks, number, np.where(begins, number - 1, -1))
        return number - np.maximum.accumulate(last)


def _following() -> Statistic:
    return Statistic(lambda length: length >= 2, lambda length: length >= 1, 2)


def _reaching(longer: int, shorter: int) -> Statistic:
    return Statistic(lambda length: length == longer, lambda length: length == shorter, longer)


def check_bursts(traffic: Traffic, queue: Occupancy, hidden_packets: int, findings: Findings) -> None:
    """Lengths of loss bursts on a link that was asked for a Gilbert-Elliott model.

    `hidden_packets`: how many packets rolled the dice unseen (ARP).
    """
    models = {state.bursts for state in traffic.asked.states if state.bursts is not None}
    models = {model for model in models if model.p + model.r > 0}
    if not models:
        return
    link = traffic.link
    if any(state.duplicate and state.bursts for state in traffic.asked.states):
        findings.not_checked(
            "bursts",
            link,
            f"The bursts of losses on {link} could not be checked: copies of packets roll the dice, too, "
            "in an "
            "order that no tap shows.",
            missing=None,
        )
        return
    slack = 2 * (
        hidden_packets + int(traffic.own_words.sum()) + traffic.damaged_at_most + _unsure_order(traffic)
    )
    parts = [(model, _dice(traffic, queue, model)) for model in sorted(models, key=astuple)]
    parts = [(model, dice) for model, dice in parts if len(dice.lost)]
    alpha = tolerance.ALPHA / max(1, len(parts))
    failures, measured, told = [], {}, False
    for model, dice in parts:
        found = judge(model, dice, alpha, slack)
        failures += [f"On {link} {sentence}" for sentence in found.failures]
        told |= found.telling
        measured = found.measured
    if not failures and not told:
        findings.not_checked(
            "bursts",
            link,
            f"Too few losses came on {link} to tell the bursts asked for from losses one by one.",
            missing=None,
            measured=measured,
        )
        return
    findings.add(
        "bursts",
        link,
        " ".join(failures) or None,
        f"Losses on {link} came in bursts of the lengths asked for "
        f"({measured['bursts']:,} bursts of on average {measured['mean_burst_packets']} packets).",
        measured=measured,
        expected={
            "mean_burst_packets": [round(mean_length(model), 3) for model, _ in parts],
            "alpha": tolerance.ALPHA,
        },
    )


def _dice(traffic: Traffic, queue: Occupancy, model: Bursts) -> Dice:
    """The sequence of fates under one model; whatever hides a fate breaks it."""
    asked, inputs = traffic.asked, traffic.inputs
    before, after = asked.around(inputs.time_ns)
    applies = np.array([state.bursts == model for state in asked.states])
    gone = traffic.matched.copies == 0
    # A packet that vanished in front of the queue rolled no dice.
    rolled = np.flatnonzero(~traffic.scripted)
    known = applies[before] & (before == after)
    known &= ~gone | traffic.queued | (inputs.expected & ~queue.may_be_full)
    known &= ~traffic.matched.unclear_in & ~traffic.lost_or_queued
    known, fate, state = known[rolled], (gone & ~traffic.queued)[rolled], before[rolled]
    breaks = np.concatenate(([0], np.cumsum((np.diff(state) != 0) | ~known[1:]))) if len(rolled) else rolled
    return Dice(fate[known], breaks[known])


def _unsure_order(traffic: Traffic) -> int:
    """Neighbours from different taps that came at the same instant: either may have been first."""
    inputs = traffic.inputs
    near = np.diff(inputs.time_ns) <= tolerance.current().time_ns
    return int((near & (np.diff(inputs.feed) != 0)).sum())


@dataclass(frozen=True)
class Judgement:
    """What was found of one model's bursts; `telling`: losses one by one would have been noticed."""

    failures: list[str]
    telling: bool
    measured: dict[str, Any]


def judge(model: Bursts, dice: Dice, alpha: float, slack: float) -> Judgement:
    """Hold the burst lengths of a sequence of fates against the model, at a false-alarm rate of `alpha`.

    Each sum may be off by `slack` besides.
    """
    lengths = dice.lengths
    stretches = len(np.unique(dice.stretch))
    count, losses = len(lengths), int(dice.lost.sum())
    bursts = int((lengths == 1).sum())
    reached = {length: int((lengths == length).sum()) for length in LENGTHS}
    statistics = _statistics(model, count)
    share_of_alpha = alpha / len(statistics)
    failures, telling = [], False
    for name, statistic in statistics.items():
        share = _share(model, name)
        value = float(statistic.counts(lengths).sum() - share * statistic.of(lengths).sum())
        low, high = _range(model, name, count, stretches, share_of_alpha)
        low, high = low - slack, high + slack
        if name == "mean":
            alone = count * (model.loss**2 - share * model.loss)
            telling = not low <= alone <= high
        if low <= value <= high:
            continue
        if name == "mean":
            failures.append(
                f"losses came in other bursts than asked: {plural(bursts, 'burst')} of on average "
                f"{losses / max(1, bursts):.3g} packets where {mean_length(model):.3g} were asked for."
            )
        else:
            shorter = statistic.longest // 2
            failures.append(
                "the lengths of loss bursts are spread otherwise than asked: of "
                f"{plural(reached[shorter], 'burst')} "
                f"of at least {plural(shorter, 'packet')} {reached[statistic.longest]:,} reached "
                f"{statistic.longest} where about {share * reached[shorter]:,.0f} were to."
            )
    mean = round(losses / bursts, 3) if bursts else None
    return Judgement(
        failures,
        telling,
        {"packets": count, "lost_packets": losses, "bursts": bursts, "mean_burst_packets": mean},
    )


def mean_length(model: Bursts) -> float:
    """How many losses a burst has on average."""
    share = _share(model, "mean")
    return 1 / (1 - share) if share < 1 else float("inf")


def _statistics(model: Bursts, count: int) -> Mapping[str, Statistic]:
    """The sums to look at: the longer bursts only as far as enough are to be expected."""
    found = {"mean": _following()}
    rate = _rate_of(model, lambda length: length == 1)
    for shorter, longer in pairwise(LENGTHS):
        if rate * count < _ENOUGH_BURSTS:
            break
        found[f"{longer}"] = _reaching(longer, shorter)
        rate *= _share(model, f"{longer}")
    return found


def _by_name(name: str) -> Statistic:
    return _following() if name == "mean" else _reaching(int(name), int(name) // 2)


@cache
def _share(model: Bursts, name: str) -> float:
    """The asked share of a statistic: the chance of what it counts over that of what it counts it of."""
    statistic = _by_name(name)
    whole = _rate_of(model, statistic.of, statistic.longest)
    return _rate_of(model, statistic.counts, statistic.longest) / whole if whole > 0 else 0.0


def _rate_of(model: Bursts, event: Callable[[Ints], Flags], longest: int = 1) -> float:
    """The chance, at any packet, of a loss at which the burst so far satisfies `event`."""
    quiet, at_loss, after = _transfer(model, longest)
    balance = np.vstack(((quiet + at_loss).T - np.eye(len(quiet)), np.ones(len(quiet))))
    stationary = np.linalg.lstsq(balance, np.append(np.zeros(len(quiet)), 1.0), rcond=None)[0]
    return float(stationary @ at_loss @ event(after).astype(np.float64))


def _transfer(model: Bursts, longest: int) -> tuple[Floats, Floats, Ints]:
    """Transitions without and with a loss over states (good or bad, burst length so far), and the burst
    length of each state. Lengths above `longest` are one."""
    size = longest + 2
    quiet, at_loss = np.zeros((2 * size, 2 * size)), np.zeros((2 * size, 2 * size))
    turn = ((1 - model.p, model.p), (model.r, 1 - model.r))
    for bad, loss in enumerate((model.loss_good, model.loss_bad)):
        for length in range(size):
            for then in (0, 1):
                quiet[bad * size + length, then * size] += (1 - loss) * turn[bad][then]
                at_loss[bad * size + length, then * size + min(length + 1, size - 1)] += (
                    loss * turn[bad][then]
                )
    return quiet, at_loss, np.tile(np.arange(size), 2)


@cache
def _growth(model: Bursts, name: str) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """By how much log E[exp(t S)] grows a packet at most, and what a stretch adds once: for each tilt t, and
    for each -t.

    With v a positive vector and M the transfer matrix, M v <= g v gives E[exp(t S_n)] <= g^n max(v) / min(v).
    The Perron vector of M (here from a power of it) makes g the smallest.
    """
    statistic, share = _by_name(name), _share(model, name)
    quiet, at_loss, after = _transfer(model, statistic.longest)
    weight = statistic.counts(after).astype(np.float64) - share * statistic.of(after)
    sides = []
    for tilts in (_TILTS, -_TILTS):
        matrices = quiet + at_loss * np.exp(tilts[:, None, None] * weight[None, None, :])
        power = matrices
        for _ in range(14):
            power = power @ power
            power /= power.max(axis=(1, 2))[:, None, None]
        vector = power.sum(axis=2) + 1e-12
        growth = ((matrices @ vector[:, :, None])[:, :, 0] / vector).max(axis=1)
        sides.append((np.log(growth), np.log(vector.max(axis=1) / vector.min(axis=1))))
    return sides[0], sides[1]


def _range(model: Bursts, name: str, count: int, stretches: int, alpha: float) -> tuple[float, float]:
    (up, up_once), (down, down_once) = _growth(model, name)
    return tilted_range(
        (count * up + stretches * up_once, count * down + stretches * down_once), _TILTS, alpha
    )
