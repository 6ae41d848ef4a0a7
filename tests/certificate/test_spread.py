"""The distribution of jitter: its false-alarm rate, with and without packets that wait for others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gauntlet.certificate.answers import Findings
from gauntlet.certificate.asked import read_timeline
from gauntlet.certificate.capture import read_capture
from gauntlet.certificate.spread import Floats, distance_from_uniform, jitter_places, largest_distance
from gauntlet.certificate.stages import read_routes
from gauntlet.certificate.traffic import follow
from tests.certificate.railsim import FORWARD, QUIET_TIMELINE, RETURN, Traffic, bursty, run_network, steady

DELAY = "radio>core"
RATE = 0.1
"""The false-alarm rate under test: a certificate's own is too small to see."""


def places(folder: Path, seed: int, reorder: bool, traffic: Traffic) -> tuple[Floats, float]:
    """Where the delays of a simulated run lie, from a written capture."""
    change = {"at_s": 0.0, "link": DELAY, "jitter_s": 0.01, "reorder": reorder}
    run = run_network([*QUIET_TIMELINE, change], traffic, seed=seed)
    record = run.write(folder)
    taps = list(enumerate(run.taps))
    capture = read_capture(record / "packets.bin", 112, taps)
    flow = {"id": "f0", "source": "10.0.1.1:40000", "destination": "10.0.2.1:5000"}
    routes = read_routes([flow], [{"flow": "f0", "forward": FORWARD, "return": RETURN}])
    asked = read_timeline(run.plan["timeline"], run.plan["timeline"], 0, Findings())[DELAY]
    stage = follow(
        asked, feeds=routes.feeds[DELAY], taps=capture.taps, routes=routes, end_ns=capture.last_ns, damage=0.0
    )
    return jitter_places(stage)


@pytest.mark.parametrize("reorder", [False, True])
@pytest.mark.parametrize("traffic", [steady(4e6, 1000, 1.0), bursty(500, 10.0)], ids=["steady", "bursty"])
def test_an_honest_jitter_is_seldom_called_wrong(tmp_path: Path, reorder: bool, traffic: Traffic) -> None:
    runs, wrong, least = 30, 0, 500
    for seed in range(runs):
        found, blur = places(tmp_path / f"{seed}", seed, reorder, traffic)
        wrong += distance_from_uniform(found) > largest_distance(len(found), RATE) + blur
        least = min(least, len(found))
    assert least > 40
    # More than 8 of 30 at a rate of one in ten has a chance of 0.2 %.
    assert wrong <= 8


def test_the_distance_of_known_samples() -> None:
    assert distance_from_uniform(np.array([0.5])) == 0.5
    assert distance_from_uniform((np.arange(100) + 0.5) / 100) == pytest.approx(0.005)
    assert distance_from_uniform(np.zeros(10)) == 1.0


def test_the_bound_is_the_asymptotic_quantile_of_kolmogorov() -> None:
    # K(1.358) = 95 % (Smirnov 1948): sqrt(n) D exceeds 1.358 with a chance of 5 %.
    assert largest_distance(10_000, 0.05) * 100 == pytest.approx(1.358, abs=0.001)
