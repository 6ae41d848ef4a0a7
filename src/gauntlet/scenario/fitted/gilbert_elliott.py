"""A chain of two states, good and bad, with a loss in each.

E. N. Gilbert, "Capacity of a Burst-Noise Channel", Bell System Technical Journal 39 (1960); E. O. Elliott,
"Estimates of Error Rates for Codes on Burst-Noise Channels", same journal 42 (1963). Which state a step was
in is not seen: the fit is Baum and Welch's (L. E. Baum et al., Annals of Mathematical Statistics 41, 1970).
Measured seconds of the bad state do not all lose the same share; so for the fit its losses are beta-binomial
(J. G. Skellam, Journal of the Royal Statistical Society B 10, 1948), which keeps those that lose less than
most from being told as the good state's. Its mean is what is drawn.
"""

import math
from dataclasses import astuple, dataclass, replace
from typing import Any, Literal

import numpy as np
from pydantic import Field

from gauntlet.scenario.fitted.series import Flags, Floats
from gauntlet.scenario.linefile import StrictData

LEAST_PACKETS_OF_A_SHARE = 100
"""A measured share of lost packets weighs as much as so many packets, since the file has per cents; on a line
that carries more, as much as all of them."""
_PACKET_BYTES = 1500
_LEAST_ALIKE = 1e-6
_MOST_ROUNDS = 500
_ENOUGH = 1e-5
"""The fit ends when no parameter changes by more."""
_SMOOTHED_STEPS = 5
"""The first guess of the bad state is where the loss over so many steps is above the mean."""


class GilbertElliott(StrictData):
    """Chances of turning bad (`p`) and good again (`r`) at each step, and the loss in either state."""

    model: Literal["gilbert-elliott"] = "gilbert-elliott"
    p: float = Field(ge=0, le=1)
    r: float = Field(gt=0, le=1)
    loss_good: float = Field(ge=0, le=1)
    loss_bad: float = Field(ge=0, le=1)

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """The share of packets lost at each step."""
        return np.where(bad_states(self.p, self.r, count, rng), self.loss_bad, self.loss_good)


def bad_states(p: float, r: float, count: int, rng: np.random.Generator) -> Flags:
    """Whether the chain is in its bad state at each step; it begins as it is on average."""
    flags = np.zeros(count, bool)
    bad = False
    chance = p / (p + r)
    for step, draw in enumerate(rng.random(count).tolist()):
        bad = draw < chance
        flags[step] = bad
        chance = 1 - r if bad else p
    return flags


def count_states(bad: Flags) -> tuple[float, float]:
    """`p` and `r` of a chain whose states are seen, by counting; the first step follows the last one, so that
    every state is left as often as it is entered.
    """
    entered = int(np.sum(~bad & np.roll(bad, -1)))
    if entered == 0:
        return (1.0, 1e-9) if bad.all() else (0.0, 1.0)
    return entered / int(np.sum(~bad)), entered / int(np.sum(bad))


def packets_of(losses: Floats, rate_bps: float, step_s: float) -> int:
    """How many packets a loss at one step stands for: those of 1,500 bytes that a line of this rate carries
    in it, so that a link drawn loses in as many steps as the measured one; one where losses are 0 or 1.
    """
    seen = losses[np.isfinite(losses)]
    if np.isin(seen, (0.0, 1.0)).all():
        return 1
    return max(LEAST_PACKETS_OF_A_SHARE, round(rate_bps * step_s / (8 * _PACKET_BYTES)))


@dataclass(frozen=True)
class _Guess:
    """Parameters during the fit. In the bad state the share lost varies from step to step, about `loss_bad`,
    by a beta distribution; `alike` is how much two of its packets have in common (0: a constant share).
    """

    p: float
    r: float
    loss_good: float
    loss_bad: float
    alike: float


def fit(losses: Floats, packets: int) -> GilbertElliott:
    """Calibrate to the share lost at each step (NaN: not seen), each being that of so many packets.

    The good state loses nothing unless the losses are likelier by more than Schwarz's criterion asks for one
    parameter more (G. Schwarz, Annals of Statistics 6, 1978).
    """
    seen = np.isfinite(losses)
    mean = float(np.mean(losses[seen]))
    if np.ptp(losses[seen]) == 0:
        loss = round(mean, 9)
        return GilbertElliott(p=0.0, r=1.0, loss_good=loss, loss_bad=loss)
    steps = _Steps.of(losses, packets)
    first = _first_guess(np.where(seen, losses, mean), mean)
    guess, likelihood = _fitted(first, steps)
    if guess.loss_bad < guess.loss_good:
        # The state whose losses vary is the one that loses less: then none of it is free of losses.
        guess = replace(guess, p=guess.r, r=guess.p, loss_good=guess.loss_bad, loss_bad=guess.loss_good)
    if (losses[seen] == 0).any():
        lossless, without = _fitted(replace(first, loss_good=0.0), steps)
        if likelihood - without < math.log(int(np.sum(seen))) / 2:
            guess = lossless
    p, r, loss_good, loss_bad = (round(value, 9) for value in astuple(guess)[:4])
    return GilbertElliott(p=p, r=max(r, 1e-9), loss_good=loss_good, loss_bad=loss_bad)


@dataclass(frozen=True)
class _Steps:
    """What was seen: each kind of step once, for many are equal, and of which kind every step is."""

    lost: Floats
    kept: Floats
    kinds: np.ndarray[Any, np.dtype[np.intp]]

    @classmethod
    def of(cls, losses: Floats, packets: int) -> "_Steps":
        # What was not seen counts as a step of no packets.
        shares, kinds = np.unique(np.where(np.isfinite(losses), losses, -1.0), return_inverse=True)
        seen = shares >= 0
        return cls(np.where(seen, shares * packets, 0.0), np.where(seen, (1 - shares) * packets, 0.0), kinds)

    def sums(self, weights: Floats) -> Floats:
        """Of steps' weights, for each kind."""
        return np.bincount(self.kinds, weights, len(self.lost)).astype(float)


def _fitted(guess: _Guess, steps: _Steps) -> tuple[_Guess, float]:
    """Baum and Welch's rounds from a first guess, and the logarithm of the likelihood. A loss of 0 in the
    good state stays 0.
    """
    likelihood = -math.inf
    for _ in range(_MOST_ROUNDS):
        better, likelihood = _better(guess, steps)
        change = max(abs(one - other) for one, other in zip(astuple(better), astuple(guess), strict=True))
        guess = better
        if change < _ENOUGH:
            break
    return guess, likelihood


def _first_guess(losses: Floats, mean: float) -> _Guess:
    smoothed = np.convolve(losses, np.full(_SMOOTHED_STEPS, 1 / _SMOOTHED_STEPS), "same")
    bad = smoothed > mean
    if bad.all() or not bad.any():
        bad = losses > mean
    p, r = count_states(bad)
    shares = float(np.mean(losses[~bad])), float(np.mean(losses[bad]))
    p, r, loss_good, loss_bad = (_inside(value, 1e-4) for value in (p, r, *shares))
    return _Guess(p, r, loss_good, loss_bad, _LEAST_ALIKE)


def _inside(value: float, margin: float) -> float:
    """Chances of 0 and 1 would never change again."""
    return min(max(value, margin), 1 - margin)


def _better(guess: _Guess, steps: _Steps) -> tuple[_Guess, float]:
    """One round: how likely each state was at each step, then the parameters that fit to that; and how likely
    the losses were by the guess.
    """
    logs = [_log_of_good(guess, steps), _log_of_bad(guess, steps)]
    best = np.maximum(logs[0], logs[1])
    good, bad = (np.exp(own - best)[steps.kinds].tolist() for own in logs)
    filtered, likelihood = _filtered(guess, good, bad)
    weights, entered, left = _smoothed(guess, filtered)
    on_bad, on_good = float(np.sum(weights[:-1])), float(np.sum(1 - weights[:-1]))
    of_good, of_bad = (steps.sums(own) for own in (1 - weights, weights))
    chances = (entered / max(on_good, 1e-300), left / max(on_bad, 1e-300))
    loss_good = _inside(_share(of_good, steps), 1e-12) if guess.loss_good else 0.0
    loss_bad = _inside(_share(of_bad, steps), 1e-12)
    p, r = (_inside(chance, 1e-12) for chance in chances)
    found = _Guess(p, r, loss_good, loss_bad, _alike(of_bad, steps, loss_bad))
    return found, likelihood + float(np.sum(best[steps.kinds]))


def _share(weights: Floats, steps: _Steps) -> float:
    packets = float(np.sum(weights * (steps.lost + steps.kept)))
    return float(np.sum(weights * steps.lost)) / max(packets, 1e-300)


def _log_of_good(guess: _Guess, steps: _Steps) -> Floats:
    if guess.loss_good == 0:
        return np.where(steps.lost > 0, -np.inf, 0.0)
    return steps.lost * math.log(guess.loss_good) + steps.kept * math.log1p(-guess.loss_good)


def _log_of_bad(guess: _Guess, steps: _Steps) -> Floats:
    """Of a beta-binomial distribution, without the factor that both states share."""
    # SciPy takes longer to load than most commands to run.
    from scipy.special import betaln

    both = 1 / guess.alike - 1
    lost, kept = guess.loss_bad * both, (1 - guess.loss_bad) * both
    found: Floats = betaln(steps.lost + lost, steps.kept + kept) - betaln(lost, kept)
    return found


def _alike(weights: Floats, steps: _Steps, share: float) -> float:
    """By moments: by how much the shares of steps differ more than chance has it."""
    packets = steps.lost + steps.kept
    most = float(np.max(packets))
    seen = weights * (packets > 0)
    variance = float(np.sum(seen * (steps.lost / most - share) ** 2)) / max(float(np.sum(seen)), 1e-300)
    beyond = variance * most / (share * (1 - share)) - 1
    return min(max(beyond / (most - 1), _LEAST_ALIKE), 0.99) if most > 1 else _LEAST_ALIKE


def _filtered(guess: _Guess, good: list[float], bad: list[float]) -> tuple[list[float], float]:
    """Chance of the bad state at each step, from what was seen up to it; and the logarithm of how likely all
    of it was.
    """
    found = []
    chance = guess.p / (guess.p + guess.r)
    likelihood = 0.0
    for of_good, of_bad in zip(good, bad, strict=True):
        weight = chance * of_bad
        either = weight + (1 - chance) * of_good
        now = weight / either
        found.append(now)
        likelihood += math.log(either)
        chance = now * (1 - guess.r) + (1 - now) * guess.p
    return found, likelihood


def _smoothed(guess: _Guess, filtered: list[float]) -> tuple[Floats, float, float]:
    """Chance of the bad state at each step from all that was seen, and how often the chain is expected to
    have turned bad and good.
    """
    weights = np.empty(len(filtered))
    after = weights[-1] = filtered[-1]
    entered = left = 0.0
    for step in range(len(filtered) - 2, -1, -1):
        now = filtered[step]
        to_bad = now * (1 - guess.r) + (1 - now) * guess.p
        stayed = now * (1 - guess.r) * after / to_bad
        turned_good = now * guess.r * (1 - after) / (1 - to_bad)
        entered += (1 - now) * guess.p * after / to_bad
        left += turned_good
        after = weights[step] = stayed + turned_good
    return weights, entered, left
