"""Lengths of loss bursts: the ranges hold what they promise on honest chains, and tell other ones."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gauntlet.certificate import bursts
from gauntlet.certificate.asked import Bursts
from tests.certificate import linksim

MODELS = [
    {"p": 0.01, "r": 0.2, "loss_bad": 1.0, "loss_good": 0.0},
    {"p": 0.02, "r": 0.1, "loss_bad": 0.6, "loss_good": 0.002},
    {"p": 0.001, "r": 0.02, "loss_bad": 1.0, "loss_good": 0.0},
    {"p": 0.2, "r": 0.5, "loss_bad": 0.5, "loss_good": 0.1},
]


def fates(model: dict[str, float], count: int, seed: int) -> bursts.Flags:
    """Which packets a simulated chain loses."""
    dice = linksim.Dice(random.Random(seed))
    values = {"up": True, "gilbert_elliott": model, "loss": 0.0}
    return np.array([dice.lost(values) for _ in range(count)])


def whole(lost: bursts.Flags) -> bursts.Dice:
    return bursts.Dice(lost, np.zeros(len(lost), np.int64))


def test_lengths_of_bursts() -> None:
    lost = np.array([1, 1, 0, 1, 1, 1, 0, 0, 1, 1], np.bool_)
    stretch = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 2])
    assert bursts.Dice(lost, stretch).lengths.tolist() == [1, 2, 0, 1, 2, 1, 0, 0, 1, 1]


@pytest.mark.parametrize("model", MODELS)
def test_shares_are_those_of_a_simulated_chain(model: dict[str, float]) -> None:
    lost = fates(model, 300_000, 1)
    lengths = whole(lost).lengths
    assert bursts.mean_length(Bursts(**model)) == pytest.approx(lost.sum() / (lengths == 1).sum(), rel=0.06)
    for longer in (2, 4):
        share = bursts._share(Bursts(**model), f"{longer}")
        assert (lengths == longer).sum() / (lengths == longer // 2).sum() == pytest.approx(share, abs=0.06)


@pytest.mark.parametrize("model", MODELS)
def test_an_honest_chain_stays_within_the_ranges(model: dict[str, float]) -> None:
    """At a rate of one in ten, at most one in ten of a hundred honest sequences may be found to be wrong."""
    rate, runs = 0.1, 100
    wrong = sum(
        bool(bursts.judge(Bursts(**model), whole(fates(model, 4000, seed)), rate, 0.0).failures)
        for seed in range(runs)
    )
    assert wrong <= rate * runs


@pytest.mark.parametrize("factor", [0.4, 2.5])
def test_bursts_of_other_lengths_at_the_same_loss_are_told(factor: float) -> None:
    model = MODELS[0]
    other = {**model, "p": model["p"] * factor, "r": model["r"] * factor}
    found = bursts.judge(Bursts(**model), whole(fates(other, 30_000, 3)), 1e-6, 0.0)
    assert found.telling
    assert "losses came in other bursts than asked" in found.failures[0]


def test_bursts_that_are_all_as_long_as_the_mean_are_told_by_their_spread() -> None:
    """Bursts of exactly five: the mean is right, their distribution is not."""
    model, chance = Bursts(**MODELS[0]), random.Random(5)
    lost = np.zeros(30_000, np.bool_)
    place = 0
    while place < len(lost) - 200:
        place += 5 + int(chance.expovariate(model.p))
        lost[place : place + 5] = True
    found = bursts.judge(model, whole(lost), 1e-6, 0.0)
    assert found.measured["mean_burst_packets"] == pytest.approx(5.0, abs=0.2)
    assert found.failures
    assert all("the lengths of loss bursts are spread otherwise" in sentence for sentence in found.failures)


def test_few_losses_tell_nothing() -> None:
    found = bursts.judge(Bursts(**MODELS[0]), whole(fates(MODELS[0], 150, 1)), 1e-6, 0.0)
    assert not found.failures
    assert not found.telling


def test_broken_sequences_allow_more() -> None:
    model = Bursts(**MODELS[1])
    one = bursts._range(model, "mean", 5000, 1, 1e-6)
    many = bursts._range(model, "mean", 5000, 50, 1e-6)
    assert many[0] < one[0] < 0 < one[1] < many[1]
