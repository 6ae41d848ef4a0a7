"""Which protocol is best under one condition, and which are worse beyond chance.

All protocols ride the same stretches with the same draws, so they are compared repetition by repetition: what
a stretch does to all of them cancels out. Every pair of protocols is tested, by flipping the signs of whole
repetitions at once: if two protocols do not differ, either could have had either number of a repetition. The
largest statistic of all pairs under the same flips gives the adjusted p-values (max-T, step-down: Westfall
and Young, Resampling-Based Multiple Testing, 1993; Romano and Wolf, Econometrica 73, 2005). So the chance
that *any* protocol is called worse that is not stays about alpha or below, whoever turns out to look best,
and it does not matter that the best is picked from the same data. For two protocols that is exact where their
differences are symmetric; for more it is approximate (docs/decisions/0004; simulated in
tests/metrics/test_compare.py).
"""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

from gauntlet.metrics.ecdf import ALPHA
from gauntlet.metrics.intervals import Mean, mean
from gauntlet.metrics.numbers import counted
from gauntlet.metrics.observation import Observation, State, log_rank, scores
from gauntlet.metrics.steps import Floats

EXACT_UP_TO = 12
"""Repetitions up to which all sign patterns are tried (4096); beyond, as many random ones, seed fixed."""

_SEED = 20261121

_UNSEEN = 5e-4
"""Where nothing was drawn, a difference below this share of the best mean is none: three digits do not show
it, and it is that of a timer's tick.
"""

_ROUNDING = 1e-9
"""The pattern of the data itself must count as "at least as far" despite rounding."""


def fewest_repetitions(alpha: float = ALPHA) -> int:
    """With fewer shared repetitions nothing can be called worse: of 2^n sign patterns two are always at
    least as extreme as the data, so p is at least 2 / 2^n. Six at 5 %, however many protocols there are.
    """
    return math.floor(math.log2(2 / alpha)) + 1


def tellable(repetitions: int, *, alike: bool = False) -> bool:
    """Whether so many shared repetitions can tell better, worse or equal from chance; `alike`: nothing was
    drawn, so there is no chance to tell from. The one rule of reports, settings and comparisons.
    """
    return alike or repetitions >= fewest_repetitions()


def too_few(repetitions: int, one: str = "repetition") -> str:
    """What is said of fewer: 2 repetitions tell nothing from chance: that takes 6."""
    verb = "tells" if repetitions == 1 else "tell"
    return f"{counted(repetitions, one)} {verb} nothing from chance: that takes {fewest_repetitions()}"


@dataclass(frozen=True)
class Standing:
    """How one protocol stands against the others."""

    name: str
    best: bool
    distinguishable: bool | None
    """Whether it is worse than some other protocol beyond chance; None when that could not be tested (too few
    repetitions) and where everything failed. Never true of the best one.
    """
    p_value: float | None
    """The smallest, over the protocols that did better, of the p-values adjusted for all pairs."""
    difference: Mean | None
    """This one minus the best, paired by repetition; None for the best itself, without pairs, and where one
    of the two has no number.
    """
    repetitions: int
    """How many the test had."""
    ahead: bool = False
    """Whether it beats the best beyond chance, repetition by repetition: it is not the best itself, since
    fewer of its flows did what they were to do, or its mean is the lesser one.
    """
    equal: bool = False
    """Whether it differs from the best by less than matters, with the whole interval of the difference; never
    with too few repetitions.
    """

    @property
    def word(self) -> str:
        """In a word: best, equal, worse, ahead, level; empty when nothing was compared."""
        if self.best:
            return "best"
        if self.equal:
            return "equal"
        if self.distinguishable is None:
            return ""
        return "worse" if self.distinguishable else "ahead" if self.ahead else "level"


def against_best(
    values: Mapping[str, Mapping[int, Observation]],
    higher_is_better: bool,
    *,
    completed: Mapping[str, float] | None = None,
    deterministic: Collection[str] = (),
    matters: float = 0.0,
    alpha: float = ALPHA,
) -> dict[str, Standing]:
    """Compare protocols (name -> repetition -> observation) with each other.

    Best is the protocol of which most flows did what they were to do (`completed`: the share of each; all
    the same without), of several the one of which most repetitions have a number at all, of several the one
    of the best mean. Where no flow of any did what it was to do, none is best or worse. `deterministic` are
    those of which every repetition is the same one; between two of them no chance is at work, so any
    difference counts. One whose difference from the best is below `matters`, a share of the best mean, with
    the whole of its interval, and of which as many flows did what they were to do, equals it, whatever is
    beyond chance. Protocols without observations are left out.
    """
    given = {name: of for name, of in values.items() if of}
    if not given:
        return {}
    plain = scores(given, higher_is_better)
    means = {name: float(np.mean(list(of.values()))) for name, of in plain.items()}
    numbers = comparable(given, plain)

    def rank(name: str) -> tuple[float, float, float]:
        states = [it.state for it in given[name].values()]
        known = 1 - states.count(State.NEVER) / len(states)
        share = 1.0 if completed is None else completed.get(name, 1.0)
        return share, known, means[name] if higher_is_better else -means[name]

    best = max(given, key=rank)
    failed = completed is not None and not any(completed.get(name) for name in given)
    pairs = list(itertools.combinations(given, 2))
    shared = set.intersection(*(set(of) for of in given.values()))
    enough = len(shared) >= fewest_repetitions(alpha) or not shared
    found = _p_values(given, numbers, pairs, paired=bool(shared)) if enough else [1.0] * len(pairs)
    p_values = dict(zip(pairs, found, strict=True))
    sign = 1 if higher_is_better else -1

    leads = {pair: sign * _lead(numbers, pair, of=pair[0]) for pair in pairs}

    def beaten(loser: str, winner: str) -> float:
        """The p-value that one does better than another; 1 where it does not."""
        pair = (winner, loser) if (winner, loser) in leads else (loser, winner)
        lead = leads[pair] if pair[0] == winner else -leads[pair]
        return p_values[pair] if lead > 0 else 1.0

    def standing(name: str) -> Standing:
        p_value = min((beaten(name, other) for other in given if other != name), default=1.0)
        worse, ahead, testable = p_value < alpha, name != best and beaten(best, name) < alpha, enough
        if name in deterministic and best in deterministic:
            lead = sign * (means[name] - means[best])
            seen = abs(lead) > _UNSEEN * abs(means[best])
            worse, ahead, testable = lead < 0 and seen, lead > 0 and seen, True
        difference = None if name == best else _difference(given[name], given[best])
        equal = False
        as_many = completed is None or completed.get(name, 1.0) == completed.get(best, 1.0)
        if difference is not None and as_many and not failed:
            alike = name in deterministic and best in deterministic
            equal = (enough or alike) and _below(matters, given[name], given[best], difference, alike=alike)
        told: bool | None = False if equal else worse if testable and not failed else None
        return Standing(
            name=name,
            best=name == best and not failed,
            distinguishable=told if failed or name != best else False,
            p_value=p_value if enough and name != best else None,
            difference=difference,
            repetitions=len(shared),
            ahead=ahead and told is False and not equal,
            equal=equal,
        )

    return {name: standing(name) for name in given}


def comparable(
    given: Mapping[str, Mapping[int, Observation]], numbers: Mapping[str, Mapping[int, float]]
) -> Mapping[str, Mapping[int, float]]:
    """Logarithms where every number was measured and is above zero: what a stretch does to all multiplies
    throughputs and times, and one slow stretch must not outweigh all others. A failure weighs what it costs,
    so numbers up to a limit stay as they are, as do ranks and zeros.
    """
    every = [value for of in numbers.values() for value in of.values()]
    measured = all(it.state == State.MEASURED for of in given.values() for it in of.values())
    if not measured or min(every) <= 0:
        return numbers
    return {name: {key: math.log(value) for key, value in of.items()} for name, of in numbers.items()}


def _lead(numbers: Mapping[str, Mapping[int, float]], pair: tuple[str, str], of: str) -> float:
    """How far one of a pair is above the other in the repetitions that both have; without any, on average."""
    other = pair[1] if pair[0] == of else pair[0]
    shared = numbers[of].keys() & numbers[other].keys()
    if shared:
        return sum(numbers[of][key] - numbers[other][key] for key in shared)
    return float(np.mean(list(numbers[of].values())) - np.mean(list(numbers[other].values())))


def _difference(
    this: Mapping[int, Observation],
    best: Mapping[int, Observation],
) -> Mean | None:
    shared = sorted(this.keys() & best.keys())
    if not shared or any(State.NEVER in (this[key].state, best[key].state) for key in shared):
        return None
    return mean([this[key].value - best[key].value for key in shared])


def _below(
    matters: float,
    this: Mapping[int, Observation],
    best: Mapping[int, Observation],
    difference: Mean,
    *,
    alike: bool,
) -> bool:
    """Whether two differ by less than this share of the best mean, with the whole interval; `alike`: nothing
    was drawn, so the number itself counts. Never where some number is but a limit, and of a single
    repetition.
    """
    if any(it.state != State.MEASURED for of in (this, best) for it in of.values()):
        return False
    most = matters * abs(sum(it.value for it in best.values()) / len(best))
    if alike:
        return abs(difference.value) < most
    if difference.low is None or difference.high is None:
        return False
    return -most < difference.low and difference.high < most


def _p_values(
    given: Mapping[str, Mapping[int, Observation]],
    numbers: Mapping[str, Mapping[int, float]],
    pairs: Sequence[tuple[str, str]],
    *,
    paired: bool,
) -> list[float]:
    """One adjusted p-value a pair."""
    if not pairs:
        return []
    if not paired:
        return holm(
            [_unpaired(given[one], given[other], numbers[one], numbers[other]) for one, other in pairs]
        )
    repetitions = sorted(set().union(*(set(of) for of in numbers.values())))
    differences = np.array(
        [
            [
                # A repetition that one of the two lacks says nothing of them: a zero has no sign to flip.
                numbers[one][key] - numbers[other][key]
                if key in numbers[one] and key in numbers[other]
                else 0
                for key in repetitions
            ]
            for one, other in pairs
        ],
        dtype=float,
    )
    return [float(it) for it in sign_flips(differences)]


def sign_flips(differences: Floats) -> Floats:
    """Adjusted p-values of paired differences (a row a pair, a column a repetition), two-sided.

    Each row's statistic is its sum over its root of squares, which flips do not change, so rows of any scale
    can be compared. The row that is furthest is held against the largest statistic of all rows under the same
    flips, the next one against that of the rest, and so on.
    """
    adjusted = np.ones(len(differences))
    lengths = np.sqrt((differences**2).sum(axis=1))
    moving = np.flatnonzero(lengths > 0)
    if not moving.size:
        return adjusted
    unit = differences[moving] / lengths[moving, None]
    statistic = np.abs(unit.sum(axis=-1))
    # Without the threads of a BLAS, which for so little work only wait for each other.
    flipped = np.abs(np.einsum("pr,rf->pf", unit, _flips(differences.shape[1])))
    furthest_first = np.argsort(-statistic, kind="stable")
    # In row k the largest statistic of this pair and of all that are less far.
    of_rest = np.maximum.accumulate(flipped[furthest_first[::-1]], axis=0)[::-1]
    count = (of_rest >= statistic[furthest_first, None] - _ROUNDING).sum(axis=1)
    # Among random flips the data themselves are one more; among all flips they are there already.
    drawn = int(differences.shape[1] > EXACT_UP_TO)
    p_values = (count + drawn) / (flipped.shape[1] + drawn)
    adjusted[moving[furthest_first]] = np.maximum.accumulate(p_values)
    return adjusted


@lru_cache(maxsize=8)
def _flips(repetitions: int) -> Floats:
    """The signs that repetitions (rows) get in each flip (columns): all patterns, or as many random ones.

    They are those of `scipy.stats.permutation_test` with `permutation_type="samples"`, made once for all
    tests of so many repetitions: a report has thousands.
    """
    if repetitions <= EXACT_UP_TO:
        return np.array(list(itertools.product((1.0, -1.0), repeat=repetitions))).T
    pairs = np.tile(np.arange(2), (2**EXACT_UP_TO, repetitions, 1))
    first = np.random.default_rng(_SEED).permuted(pairs, axis=-1)[..., 0]
    signs: Floats = np.ascontiguousarray(1.0 - 2.0 * first.T)
    return signs


def _unpaired(
    one: Mapping[int, Observation],
    other: Mapping[int, Observation],
    one_numbers: Mapping[int, float],
    other_numbers: Mapping[int, float],
) -> float:
    """p-value for two protocols that share no repetition: log-rank where something is censored, else by
    permutation of their repetitions.
    """
    if any(it.state == State.CENSORED for it in (*one.values(), *other.values())):
        return log_rank(list(one.values()), list(other.values()))
    test = stats.permutation_test(
        (np.array(list(one_numbers.values())), np.array(list(other_numbers.values()))),
        _apart,
        permutation_type="independent",
        n_resamples=2**EXACT_UP_TO,
        vectorized=True,
        alternative="greater",
        rng=np.random.default_rng(_SEED),
    )
    return float(test.pvalue)


def _apart(one: Floats, other: Floats, axis: int) -> Floats:
    distance: Floats = np.abs(one.mean(axis=axis) - other.mean(axis=axis))
    return distance


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (Scandinavian Journal of Statistics 6, 1979)."""
    order = np.argsort(p_values, kind="stable")
    times = len(p_values) - np.arange(len(p_values))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.maximum.accumulate(np.minimum(np.array(p_values)[order] * times, 1.0))
    return [float(it) for it in adjusted]
