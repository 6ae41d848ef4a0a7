"""Runs of a network that does what it is asked to are trusted, and the certificate's numbers are right."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from tests.certificate.conftest import Judge
from tests.certificate.railsim import QUIET_TIMELINE, bursty, run_network, steady

UP, DELAY = "gw>radio", "radio>core"

BUSY = bursty(4000, 40.0)


def entry(link: str, at_s: float = 0.0, **values: Any) -> dict[str, Any]:
    return {"at_s": at_s, "link": link, **values}


GOOD_AND_BAD = {"p": 0.01, "r": 0.3, "loss_bad": 0.8, "loss_good": 0.001}

CONDITIONS = {
    "quiet": [],
    "loss": [entry(DELAY, loss=0.01)],
    "jitter in order": [entry(DELAY, jitter_s=0.01)],
    "jitter out of order": [entry(DELAY, jitter_s=0.01, reorder=True)],
    "bursty loss": [entry(DELAY, gilbert_elliott=GOOD_AND_BAD)],
    "corruption": [entry(DELAY, corrupt=0.02)],
    "corruption and bursts": [entry(DELAY, corrupt=0.01, gilbert_elliott=GOOD_AND_BAD)],
    "all at once": [entry(DELAY, jitter_s=0.005, reorder=True, loss=0.02, duplicate=0.02, corrupt=0.01)],
    "duplication": [entry(DELAY, duplicate=0.02, loss=0.05)],
    "full queue": [entry(UP, queue_limit_bytes=20_000)],
    "full netem": [entry(DELAY, limit_packets=10)],
    "changing rate": [entry(UP, 2.0 + k, rate_bps=400_000 + 700_000 * (k % 5)) for k in range(40)],
    "limit taken off": [entry(UP, 5.0, rate_bps=None), entry(UP, 9.0, rate_bps=300_000)],
    "changing delay": [
        entry(DELAY, 1.0 + k, delay_s=0.01 + 0.03 * (k % 4), loss=0.01 * (k % 2)) for k in range(40)
    ],
    "outage": [entry(DELAY, 10.0, up=False), entry(DELAY, 12.0, up=True)],
}


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_asked_is_trusted(judge: Judge, condition: str, seed: int) -> None:
    timeline = sorted([*QUIET_TIMELINE, *CONDITIONS[condition]], key=lambda e: e["at_s"])
    verdict = judge(run_network(timeline, BUSY, seed=seed))
    assert verdict.failures == {}
    assert verdict.missing == set()
    assert verdict.answer == "confirmed"
    assert verdict.certificate["trusted"] is True


def test_ipv6_inside_the_tunnel_is_followed(judge: Judge) -> None:
    verdict = judge(run_network(QUIET_TIMELINE, BUSY, addresses=("fd00:1::1", "fd00:2::1")))
    assert verdict.failures == {}
    assert verdict.check("delay", DELAY)["measured"]["packets"] == 4000


def test_a_run_may_end_with_packets_under_way(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, steady(8e6, 1476, 20.0), end_s=15.0)
    assert run.counters[UP].backlog > 100
    assert run.counters[DELAY].backlog > 5
    assert judge(run).failures == {}


LONG = entry(DELAY, delay_s=750.0)
"""The end of the run comes long before the first packet does."""


@pytest.mark.parametrize("seed", range(1, 6))
def test_losses_among_packets_that_are_all_under_way_are_judged_of_all_of_them(
    judge: Judge, seed: int
) -> None:
    timeline = [*QUIET_TIMELINE, LONG, entry(DELAY, loss=0.15)]
    run = run_network(timeline, steady(1e6, 1052, 5.0), end_s=9.0, seed=seed)
    verdict = judge(run)
    assert verdict.failures == {}
    told = verdict.check("loss", DELAY)
    assert told["measured"]["lost_packets"] == run.counters[DELAY].dropped > 0
    assert told["measured"]["packets"] == run.counters[DELAY].dropped + run.counters[DELAY].backlog
    assert told["passed"]


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize(
    "asked",
    [
        {"gilbert_elliott": {"p": 0.05, "r": 0.5, "loss_bad": 1.0, "loss_good": 0.0}},
        {"loss": 0.3, "duplicate": 0.3},
        {"loss": 0.3, "duplicate": 0.3, "jitter_s": 2.0, "reorder": True, "delay_s": 3.0},
    ],
    ids=["bursts", "copies", "copies out of order"],
)
def test_packets_under_way_say_nothing_of_bursts_and_copies(
    judge: Judge, asked: dict[str, Any], seed: int
) -> None:
    timeline = [*QUIET_TIMELINE, LONG | asked]
    assert judge(run_network(timeline, steady(4e6, 1052, 5.0), end_s=9.0, seed=seed)).failures == {}


def test_a_loss_that_changes_while_everything_is_under_way_is_no_alarm(judge: Judge) -> None:
    timeline = [*QUIET_TIMELINE, LONG, entry(DELAY, loss=0.3), entry(DELAY, 3.0, loss=0.0)]
    verdict = judge(run_network(timeline, steady(1e6, 1052, 5.0), end_s=9.0))
    assert verdict.failures == {}
    assert verdict.check("loss", DELAY)["measured"]["lost_packets"] > 30


def test_the_numbers_of_a_busy_link(judge: Judge) -> None:
    verdict = judge(run_network(QUIET_TIMELINE, steady(5.5e6, 1476, 10.0)))
    pace, delay = verdict.check("pace", UP)["measured"], verdict.check("delay", DELAY)["measured"]
    assert pace["waited_packets"] > 4000
    assert abs(pace["earliest_before_due_s"]) < 1e-6
    assert delay["shortest_s"] == delay["longest_s"] == 0.025
    assert verdict.check("mtu", UP)["measured"]["longest_bytes"] == 1500
    assert verdict.check("conservation", UP)["measured"]["lost_packets"] == 0


def test_too_few_packets_to_decide_are_no_failure(judge: Judge) -> None:
    timeline = [*QUIET_TIMELINE, entry(DELAY, loss=0.01)]
    verdict = judge(run_network(timeline, bursty(40, 5.0)))
    assert verdict.failures == {}
    assert "too few to tell the loss asked of radio>core (1 %)" in verdict.undecided


@pytest.mark.parametrize("loss", [0.0, 0.01])
def test_a_link_that_is_down_unseen_was_not_asked_for_losses(judge: Judge, loss: float) -> None:
    outage = [entry(DELAY, 10.0, up=False), entry(DELAY, 12.0, up=True, loss=loss)]
    said = judge(run_network([*QUIET_TIMELINE, *outage], steady(1e6, 1052, 5.0), end_s=15.0)).undecided
    assert ("The loss asked of radio>core could not be checked" in said) == (loss > 0)
    unseen = "That radio>core loses all that comes while it is down was not checked: no packet came."
    assert (unseen in said) == (loss == 0)


def test_enough_packets_are_decided(judge: Judge) -> None:
    timeline = [*QUIET_TIMELINE, entry(DELAY, loss=0.01)]
    verdict = judge(run_network(timeline, steady(5e6, 300, 5.0)))
    assert verdict.failures == {}
    assert "too few" not in verdict.undecided


def test_identical_packets_are_told_apart_by_time(judge: Judge) -> None:
    run = run_network([*QUIET_TIMELINE, entry(DELAY, loss=0.05)], steady(1e6, 600, 20.0))
    same = run.taps["sa>gw"][0].wire
    forward = ["sa>gw", "gw>radio", "radio>core", "lan>srv"]
    for link in forward:
        shape = next(p.wire for p in run.taps[link] if p.wire.endswith(same[-500:]))
        run.taps[link] = [type(p)(p.time_ns, shape) for p in run.taps[link]]
    verdict = judge(run)
    assert verdict.failures == {}


def test_arp_and_neighbour_discovery_do_no_harm(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, BUSY)
    solicitation = bytes([0x60, 0, 0, 0, 0, 24, 58, 255]) + bytes([0xFE, 0x80] + [0] * 13 + [1])
    solicitation += bytes([0xFF, 2] + [0] * 13 + [1]) + bytes(24)
    first = run.taps[DELAY][0]
    run.taps[DELAY].insert(0, type(first)(first.time_ns - 5_000_000, solicitation))
    assert judge(run).failures == {}


def test_the_simulator_itself_keeps_order(judge: Judge) -> None:
    run = run_network([*QUIET_TIMELINE, entry(DELAY, jitter_s=0.02)], BUSY)
    assert all(a.time_ns <= b.time_ns for a, b in pairwise(run.taps[DELAY]))
