"""The ranges of chance hold what they promise, and are hardly wider than exact ones."""

from __future__ import annotations

import random
from math import exp, lgamma, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.certificate.asked import Bursts
from gauntlet.certificate.chance import Trials, allowed_range
from tests.certificate.linksim import Dice


def binomial(count: int, hits: int, probability: float) -> float:
    """The exact probability of `hits` among `count`."""
    ways = lgamma(count + 1) - lgamma(hits + 1) - lgamma(count - hits + 1)
    return exp(ways + hits * log(probability) + (count - hits) * log(1 - probability))


def tails(count: int, probability: float, smallest: int, largest: int) -> tuple[float, float]:
    below = sum(binomial(count, hits, probability) for hits in range(smallest))
    above = sum(binomial(count, hits, probability) for hits in range(largest + 1, count + 1))
    return below, above


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 3000), st.floats(0.0005, 0.9995), st.sampled_from([1e-2, 1e-6, 1e-9]))
def test_an_honest_link_stays_within_the_range(count: int, probability: float, alpha: float) -> None:
    smallest, largest = allowed_range([Trials(count, probability, probability)], alpha)
    below, above = tails(count, probability, smallest, largest)
    assert below <= alpha / 2 * (1 + 1e-9)
    assert above <= alpha / 2 * (1 + 1e-9)


def test_the_range_is_hardly_wider_than_the_exact_one() -> None:
    smallest, largest = allowed_range([Trials(10_000, 0.01, 0.01)], 1e-6)
    exact_smallest = next(k for k in range(100) if binomial_below(10_000, k, 0.01) > 5e-7)
    exact_largest = next(k for k in range(300, 0, -1) if binomial_above(10_000, k, 0.01) > 5e-7)
    assert exact_smallest - 3 <= smallest <= exact_smallest
    assert exact_largest <= largest <= exact_largest + 6


def binomial_below(count: int, hits: int, probability: float) -> float:
    return sum(binomial(count, k, probability) for k in range(hits + 1))


def binomial_above(count: int, hits: int, probability: float) -> float:
    return sum(binomial(count, k, probability) for k in range(hits, hits + 400))


@pytest.mark.parametrize(("probability", "hits"), [(0.0, 0), (1.0, 500)])
def test_certainties(probability: float, hits: int) -> None:
    assert allowed_range([Trials(500, probability, probability)], 1e-6) == (hits, hits)


def test_stretches_add_up() -> None:
    parts = [Trials(1000, 0.0, 0.0), Trials(10, 1.0, 1.0), Trials(2000, 0.02, 0.02)]
    smallest, largest = allowed_range(parts, 1e-6)
    alone = allowed_range(parts[2:], 1e-6)
    assert (smallest - 10, largest - 10) == alone


def test_a_chain_without_memory_is_binomial() -> None:
    memoryless = Bursts(p=0.3, r=0.7, loss_bad=0.1, loss_good=0.1)
    chain = allowed_range([Trials(5000, 0.1, 0.1, memoryless)], 1e-6)
    assert chain == allowed_range([Trials(5000, 0.1, 0.1)], 1e-6)


def test_bursts_widen_the_range() -> None:
    model = Bursts(p=0.001, r=0.02, loss_bad=1.0, loss_good=0.0)
    smallest, largest = allowed_range([Trials(20_000, model.loss, model.loss, model)], 1e-6)
    alone = allowed_range([Trials(20_000, model.loss, model.loss)], 1e-6)
    assert smallest < alone[0]
    assert largest > alone[1]


def test_a_simulated_chain_stays_within_its_range() -> None:
    model = {"p": 0.01, "r": 0.1, "loss_bad": 0.9, "loss_good": 0.01}
    values = {"up": True, "gilbert_elliott": model, "loss": 0.0}
    bursts = Bursts(**model)
    smallest, largest = allowed_range([Trials(3000, bursts.loss, bursts.loss, bursts)], 1e-3)
    counts = []
    for seed in range(200):
        dice = Dice(random.Random(seed))
        counts.append(sum(dice.lost(values) for _ in range(3000)))
    assert smallest <= min(counts)
    assert max(counts) <= largest
    assert smallest > 0
    assert sum(counts) / len(counts) == pytest.approx(3000 * bursts.loss, rel=0.03)
