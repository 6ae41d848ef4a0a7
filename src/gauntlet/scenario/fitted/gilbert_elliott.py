"""A chain of two states, good and bad, with a loss in each.

E. N. Gilbert, "Capacity of a Burst-Noise Channel", Bell System Technical Journal 39 (1960); E. O. Elliott,
"Estimates of Error Rates for Codes on Burst-Noise Channels", same journal 42 (1963). Which state a step was
in is not seen: the fit is Baum and Welch's (L. E. Baum et al., Annals of Mathematical Statistics 41, 1970).
"""

from dataclasses import astuple, dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from gauntlet.scenario.fitted.series import Flags, Floats
from gauntlet.scenario.linefile import StrictData

PACKETS_OF_A_SHARE = 100
"""A measured share of lost packets weighs as much as so many packets, since the file has per cents; a loss of
0 or 1 is that of one packet."""
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


def packets_of(losses: Floats) -> int:
    """How many packets a loss at one step stands for."""
    seen = losses[np.isfinite(losses)]
    return 1 if np.isin(seen, (0.0, 1.0)).all() else PACKETS_OF_A_SHARE


@dataclass(frozen=True)
class _Guess:
    """Parameters during the fit."""

    p: float
    r: float
    loss_good: float
    loss_bad: float


def fit(losses: Floats, packets: int) -> GilbertElliott:
    """Calibrate to the share lost at each step (NaN: not seen), each being that of so many packets."""
    seen = np.isfinite(losses)
    mean = float(np.mean(losses[seen]))
    if np.ptp(losses[seen]) == 0:
        loss = round(mean, 9)
        return GilbertElliott(p=0.0, r=1.0, loss_good=loss, loss_bad=loss)
    lost = np.where(seen, losses * packets, 0.0)
    kept = np.where(seen, (1 - losses) * packets, 0.0)
    guess = _first_guess(np.where(seen, losses, mean), mean)
    for _ in range(_MOST_ROUNDS):
        better = _better(guess, lost, kept)
        change = max(abs(one - other) for one, other in zip(astuple(better), astuple(guess), strict=True))
        guess = better
        if change < _ENOUGH:
            break
    if guess.loss_bad < guess.loss_good:
        guess = _Guess(guess.r, guess.p, guess.loss_bad, guess.loss_good)
    p, r, loss_good, loss_bad = (round(value, 9) for value in astuple(guess))
    return GilbertElliott(p=p, r=max(r, 1e-9), loss_good=loss_good, loss_bad=loss_bad)


def _first_guess(losses: Floats, mean: float) -> _Guess:
    smoothed = np.convolve(losses, np.full(_SMOOTHED_STEPS, 1 / _SMOOTHED_STEPS), "same")
    bad = smoothed > mean
    if bad.all() or not bad.any():
        bad = losses > mean
    p, r = count_states(bad)
    return _inside(_Guess(p, r, float(np.mean(losses[~bad])), float(np.mean(losses[bad]))), 1e-4)


def _inside(guess: _Guess, margin: float) -> _Guess:
    """Chances of 0 and 1 would never change again."""
    return _Guess(*(min(max(value, margin), 1 - margin) for value in astuple(guess)))


def _better(guess: _Guess, lost: Floats, kept: Floats) -> _Guess:
    """One round: how likely each state was at each step, then the parameters that fit to that."""
    logs = [lost * np.log(share) + kept * np.log1p(-share) for share in (guess.loss_good, guess.loss_bad)]
    best = np.maximum(logs[0], logs[1])
    good, bad = (np.exp(own - best).tolist() for own in logs)
    filtered = _filtered(guess, good, bad)
    weights, entered, left = _smoothed(guess, filtered)
    on_bad, on_good = float(np.sum(weights[:-1])), float(np.sum(1 - weights[:-1]))
    shares = [
        float(np.sum(own * lost)) / max(float(np.sum(own * (lost + kept))), 1e-300)
        for own in (1 - weights, weights)
    ]
    return _inside(
        _Guess(entered / max(on_good, 1e-300), left / max(on_bad, 1e-300), shares[0], shares[1]), 1e-12
    )


def _filtered(guess: _Guess, good: list[float], bad: list[float]) -> list[float]:
    """Chance of the bad state at each step, from what was seen up to it."""
    found = []
    chance = guess.p / (guess.p + guess.r)
    for of_good, of_bad in zip(good, bad, strict=True):
        weight = chance * of_bad
        now = weight / (weight + (1 - chance) * of_good)
        found.append(now)
        chance = now * (1 - guess.r) + (1 - now) * guess.p
    return found


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
