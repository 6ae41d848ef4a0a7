"""Corruption makes packets unrecognisable: forgiven up to what was asked, and a fault beyond."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.certificate.conftest import Judge
from tests.certificate.railsim import QUIET_TIMELINE, Run, run_network, steady

DELAY, LAST = "radio>core", "lan>srv"


def corrupted_run(asked: float, really: float) -> Run:
    """A run that flips a bit in some packets, of which the next router drops one in ten."""
    timeline = [{**entry, "corrupt": asked} if entry["link"] == DELAY else entry for entry in QUIET_TIMELINE]
    run = run_network(timeline, steady(4e6, 1000, 10.0), really=QUIET_TIMELINE)
    chance, dropped = random.Random(5), set()
    for number in range(len(run.taps[DELAY])):
        if chance.random() >= really:
            continue
        sent, received = run.taps[DELAY][number], run.taps[LAST][number]
        wire = bytearray(sent.wire)
        wire[chance.randrange(24 + 20, 112)] ^= 1 << chance.randrange(8)
        run.taps[DELAY][number] = replace(sent, wire=bytes(wire))
        run.taps[LAST][number] = replace(received, wire=received.wire[:20] + bytes(wire[44:]))
        if chance.random() < 0.1:
            dropped.add(number)
    run.taps[LAST] = [packet for number, packet in enumerate(run.taps[LAST]) if number not in dropped]
    assert (really == 0) == (not dropped)
    return run


def test_what_was_asked_is_forgiven_and_said(judge: Judge) -> None:
    verdict = judge(corrupted_run(0.02, 0.02))
    assert verdict.failures == {}
    assert "Corruption was asked, so that up to 2 %" in verdict.undecided


@pytest.mark.parametrize(("asked", "really"), [(0.0, 0.01), (0.01, 0.03)])
def test_more_than_was_asked_is_a_fault(judge: Judge, asked: float, really: float) -> None:
    failures = judge(corrupted_run(asked, really)).failures
    assert "without ever entering it" in failures["origin", DELAY]


@pytest.mark.parametrize("asked", [0.02, 0.0])
def test_a_damaged_packet_that_looks_like_another_is_not_a_copy_of_it(judge: Judge, asked: float) -> None:
    timeline = [{**entry, "corrupt": asked} if entry["link"] == DELAY else entry for entry in QUIET_TIMELINE]
    run = run_network(timeline, steady(4e6, 1000, 10.0), really=QUIET_TIMELINE)
    for tap in (DELAY, LAST):
        run.taps[tap][700] = replace(run.taps[tap][700], wire=run.taps[tap][703].wire)
    verdict = judge(run)
    assert (verdict.failures == {}) == (asked > 0)
    assert asked or ("duplication", DELAY) in verdict.failures
