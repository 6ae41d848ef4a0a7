"""The comparison of protocols: its error rate by simulation; ties, failures and few repetitions."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from scipy import stats

from gauntlet.metrics.compare import (
    _SEED,
    EXACT_UP_TO,
    against_best,
    fewest_repetitions,
    holm,
    sign_flips,
)
from gauntlet.metrics.observation import NEVER, Observation, State
from gauntlet.metrics.steps import Floats

TRIALS = 300
ALLOWED = 0.05 + 3 * np.sqrt(0.05 * 0.95 / TRIALS)
"""What a true rate of 5 % shows at most in so many trials (three standard errors)."""

Draw = Callable[[np.random.Generator, int, int], Floats]


def _lognormal(rng: np.random.Generator, count: int, protocols: int) -> Floats:
    return np.exp(rng.normal(0, 1, (count, 1)) + rng.normal(0, 1, (count, protocols)))


NULL_CASES: dict[str, Draw] = {
    "normal": lambda rng, n, m: rng.normal(0, 2, (n, 1)) + rng.normal(0, 1, (n, m)),
    "unequal spreads": lambda rng, n, m: rng.normal(0, 1, (n, m)) * np.geomspace(0.1, 10, m),
    "lognormal": _lognormal,
    "heavy tails": lambda rng, n, m: np.exp(rng.normal(0, 2, (n, m))),
    "ties": lambda rng, n, m: rng.integers(0, 3, (n, m)).astype(float),
    "many zeros": lambda rng, n, m: np.exp(rng.normal(0, 1, (n, m))) * (rng.random((n, m)) < 0.6),
    "censored": lambda rng, n, m: np.minimum(_lognormal(rng, n, m), 1.5),
}
"""Protocols that do not differ: values by repetition (rows) and protocol (columns)."""


def observations(values: Floats, limit: float | None = None) -> dict[str, dict[int, Observation]]:
    """Protocols p0, p1, ... from columns; what reaches the limit is censored there."""
    return {
        f"p{place}": {
            number: Observation(float(value), State.CENSORED if value == limit else State.MEASURED)
            for number, value in enumerate(column, 1)
        }
        for place, column in enumerate(values.T)
    }


def called_worse(values: Floats, limit: float | None = None) -> set[str]:
    standings = against_best(observations(values, limit), higher_is_better=False)
    return {name for name, it in standings.items() if it.distinguishable}


@pytest.mark.parametrize("protocols", [2, 4, 8])
@pytest.mark.parametrize("case", NULL_CASES)
def test_what_does_not_differ_is_called_worse_in_at_most_five_percent(case: str, protocols: int) -> None:
    """The report's promise: the family-wise error rate, over the choice of the best as well."""
    rng = np.random.default_rng([protocols, *case.encode()])
    limit = 1.5 if case == "censored" else None
    wrong = sum(bool(called_worse(NULL_CASES[case](rng, 8, protocols), limit)) for _ in range(TRIALS))
    assert wrong / TRIALS <= ALLOWED


@pytest.mark.parametrize("repetitions", [6, 12, 13, 40])
def test_flips_are_those_of_scipy(repetitions: int) -> None:
    rng = np.random.default_rng(repetitions)
    for _ in range(5):
        row = rng.normal(0.3, 1, repetitions)
        wanted = stats.permutation_test(
            (row,), lambda it, axis: np.abs(it.sum(axis=axis)), permutation_type="samples",
            n_resamples=2**EXACT_UP_TO, alternative="greater", rng=np.random.default_rng(_SEED),
        )  # fmt: skip
        assert sign_flips(row[None, :])[0] == wanted.pvalue


def test_a_true_loser_does_not_make_the_others_fall() -> None:
    """With one protocol that is far worse, the rest still is told apart in at most 5 %."""
    rng = np.random.default_rng(11)
    wrong = found = 0
    for _ in range(TRIALS):
        worse = called_worse(_lognormal(rng, 10, 5) * np.array([1, 1, 1, 1, 50]))
        found += "p4" in worse
        wrong += bool(worse - {"p4"})
    assert wrong / TRIALS <= ALLOWED
    assert found / TRIALS > 0.9


def test_picking_the_best_and_testing_it_unadjusted_would_break_the_promise() -> None:
    """The mistake that is avoided is real: each against the best one, as if that had been named before."""
    rng = np.random.default_rng(12)
    wrong = 0
    for _ in range(TRIALS):
        values = rng.normal(0, 1, (8, 8))
        best = values.mean(axis=0).argmin()
        others = [place for place in range(8) if place != best]
        wrong += any(sign_flips((values[:, [it]] - values[:, [best]]).T)[0] < 0.05 for it in others)
    assert wrong / TRIALS > 0.3


def test_eight_repetitions_of_eight_protocols_can_find_the_worst() -> None:
    rng = np.random.default_rng(13)
    values = rng.normal(0, 0.1, (8, 8)) + rng.normal(0, 10, (8, 1)) + np.array([0] * 7 + [1.0])
    assert called_worse(values) == {"p7"}


def test_a_difference_the_other_way_round_is_not_worse() -> None:
    """p1 is faster in every repetition but one, where it is far slower: it is not worse beyond chance."""
    values = np.array([[10.0, 9.0]] * 9 + [[10.0, 200.0]])
    standings = against_best(observations(values), higher_is_better=False)
    assert standings["p0"].best
    assert standings["p1"].distinguishable is False


def test_what_is_far_below_the_best_of_rates_is_not_equal() -> None:
    """Where more is better the difference from the best is below zero."""
    values = np.array([[10.0 + place / 100, 5.0 + place / 100] for place in range(8)])
    standings = against_best(observations(values), higher_is_better=True, matters=0.02)
    assert (standings["p0"].word, standings["p1"].word) == ("best", "worse")


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_with_fewer_than_six_repetitions_nothing_is_tested(count: int) -> None:
    assert fewest_repetitions() == 6
    standings = against_best(observations(np.tile([[1.0, 100.0]], (count, 1))), higher_is_better=False)
    assert standings["p0"].best
    assert standings["p1"].distinguishable is None
    assert standings["p1"].p_value is None


def test_six_repetitions_that_all_say_the_same_are_enough() -> None:
    assert called_worse(np.tile([[1.0, 100.0]], (6, 1))) == {"p1"}


def test_who_finishes_less_often_is_not_best_however_quick_its_survivors_are() -> None:
    quick = {1: Observation(1.0), **{number: Observation(30.0, State.CENSORED) for number in range(2, 11)}}
    slow = {number: Observation(29.0) for number in range(1, 11)}
    values = {"cubic": quick, "bbr": slow}
    standings = against_best(values, False, completed={"cubic": 0.1, "bbr": 1.0})
    assert standings["bbr"].best
    standings = against_best({"cubic": {1: Observation(1.0)}, "bbr": {1: Observation(2.0)}}, False)
    assert standings["cubic"].best


@pytest.mark.parametrize("repeated", [False, True])
def test_who_fails_more_but_beats_the_best_is_not_called_level_with_it(repeated: bool) -> None:
    """Nor worse: the best is so by its completed flows."""
    values = {
        "quick": {number: Observation(1.0 + (not repeated) * number) for number in range(8)},
        "whole": {number: Observation(2.0 + (not repeated) * 2 * number) for number in range(8)},
        "slow": {number: Observation(9.0 + (not repeated) * 9 * number) for number in range(8)},
    }
    completed = {"quick": 0.9, "whole": 1.0, "slow": 0.95}
    standings = against_best(
        values, False, completed=completed, deterministic=set(values) if repeated else ()
    )
    assert {name: it.word for name, it in standings.items()} == {
        "quick": "ahead",
        "whole": "best",
        "slow": "worse",
    }


@pytest.mark.parametrize("higher", [True, False])
def test_what_never_came_to_be_ranks_behind_everything(higher: bool) -> None:
    values = {
        "dead": dict.fromkeys(range(8), NEVER),
        "bad": {number: Observation(1e9 if not higher else 0.0) for number in range(8)},
        "good": {number: Observation(5.0 + number) for number in range(8)},
    }
    standings = against_best(values, higher)
    assert standings["good"].best
    assert standings["dead"].distinguishable
    assert standings["dead"].difference is None


def test_between_deterministic_protocols_what_no_table_shows_is_no_difference() -> None:
    values = {
        name: dict.fromkeys((1, 2), Observation(value)) for name, value in (("a", 288.0), ("b", 288.01))
    }
    assert against_best(values, False, deterministic=set(values))["b"].word == "level"


def test_between_deterministic_protocols_every_difference_counts() -> None:
    values = observations(np.tile([[1.0, 1.1, 1.0]], (3, 1)))
    standings = against_best(values, False, deterministic=set(values))
    assert [standings[name].distinguishable for name in ("p0", "p1", "p2")] == [False, True, False]


def test_without_common_repetitions_groups_are_compared_as_such() -> None:
    rng = np.random.default_rng(14)
    one = {number: Observation(float(value)) for number, value in enumerate(rng.normal(0, 1, 10))}
    far = {number: Observation(float(value)) for number, value in enumerate(rng.normal(9, 1, 10), 100)}
    given_up = {number: Observation(9.0, State.CENSORED) for number in range(200, 210)}
    standings = against_best({"one": one, "far": far, "given up": given_up}, higher_is_better=False)
    assert standings["one"].best
    assert standings["far"].distinguishable
    assert standings["given up"].distinguishable


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def words(
    values: Mapping[str, Sequence[float]],
    matters: float,
    *,
    completed: Mapping[str, float] | None = None,
    deterministic: Sequence[str] = (),
) -> dict[str, str]:
    """How each protocol stands, its values by repetition."""
    given = {
        name: {number: Observation(value) for number, value in enumerate(each, 1)}
        for name, each in values.items()
    }
    found = against_best(
        given, higher_is_better=False, completed=completed, deterministic=deterministic, matters=matters
    )
    return {name: it.word for name, it in found.items()}


NEAR = {"a": [10.0 + 0.1 * n for n in range(12)], "b": [10.1 + 0.1 * n for n in range(12)]}
"""b is 1 % behind a in every repetition: beyond chance."""


@pytest.mark.parametrize(("matters", "word"), [(0.0, "worse"), (0.005, "worse"), (0.02, "equal")])
def test_a_difference_that_does_not_matter_is_none(matters: float, word: str) -> None:
    assert words(NEAR, matters) == {"a": "best", "b": word}


def test_equal_is_the_whole_interval_and_not_the_mean() -> None:
    """On average 1 % behind, from 9 % ahead to 11 % behind."""
    apart = {"a": [10.0] * 12, "b": [10.0 + (1.1 if n % 2 else -0.9) for n in range(12)]}
    assert words(apart, 0.02) == {"a": "best", "b": "level"}
    assert words(apart, 0.2) == {"a": "best", "b": "equal"}


@pytest.mark.parametrize(("repetitions", "word"), [(2, ""), (5, ""), (6, "equal")])
def test_too_few_repetitions_tell_no_equal_either(repetitions: int, word: str) -> None:
    """b is 1 % behind a in every repetition, where 2 % matter."""
    few = {name: each[:repetitions] for name, each in NEAR.items()}
    assert words(few, 0.02) == {"a": "best", "b": word}


def test_one_repetition_tells_no_equal_unless_nothing_was_drawn() -> None:
    one = {"a": [10.0], "b": [10.1]}
    assert words(one, 0.02) == {"a": "best", "b": ""}
    repeated = {"a": [10.0] * 3, "b": [10.1] * 3}
    assert words(repeated, 0.02, deterministic=("a", "b")) == {"a": "best", "b": "equal"}
    assert words(repeated, 0.005, deterministic=("a", "b")) == {"a": "best", "b": "worse"}


def test_who_fails_more_is_not_equal() -> None:
    assert words(NEAR, 0.02, completed={"a": 1.0, "b": 0.9})["b"] != "equal"


def test_what_did_not_end_is_equal_to_nothing() -> None:
    ended = {number: Observation(10.0 + 0.01 * number) for number in range(12)}
    cut = {**ended, 3: Observation(10.03, State.CENSORED)}
    found = against_best({"a": ended, "b": cut}, higher_is_better=False, matters=0.5)
    assert "equal" not in {it.word for it in found.values()}
