"""Queues other than the token bucket's own: what they do is confirmed, what they must not do is noticed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.certificate.conftest import Certificate, Judge
from tests.certificate.railsim import QUIET_TIMELINE, Run, run_network, steady

UP = "gw>radio"

BUSY = steady(6e6, 1400, 20.0)
"""More than the link carries, for 20 s."""
CALM = steady(3e6, 1000, 20.0)

PFIFO = {"kind": "pfifo", "limit_packets": 100}
CODEL = {"kind": "codel", "limit_packets": 1000, "target_s": 0.005, "interval_s": 0.1, "ecn": False}
FQ_CODEL = {**CODEL, "kind": "fq_codel", "ecn": True, "flows": 1024, "quantum_bytes": 1514}
PIE = {"kind": "pie", "limit_packets": 1000, "target_s": 0.015, "tupdate_s": 0.015, "ecn": False}
MARKING = {**CODEL, "ecn": True}
WITH_THRESHOLD = {**MARKING, "ce_threshold_s": 0.001}


def asked(queue: dict[str, Any]) -> list[dict[str, Any]]:
    """The timeline with this queue on the shaper upwards."""
    return [{**entry, "queue": queue} if entry["link"] == UP else entry for entry in QUIET_TIMELINE]


def knows_ecn(_: int, wire: bytes) -> bytes:
    return wire[:1] + bytes([wire[1] | 2]) + wire[2:]


def three_flows(number: int, wire: bytes) -> bytes:
    """By their source ports: two send much, one little."""
    port = 40_000 + (2 if number % 50 == 0 else number % 2)
    return wire[:20] + port.to_bytes(2, "big") + wire[22:]


def at_link(verdict: Certificate) -> dict[str, str]:
    """Contradictions of the link, by their checks."""
    return {name: sentence for (name, link), sentence in verdict.failures.items() if link == UP}


@pytest.mark.parametrize("queue", [PFIFO, CODEL, MARKING, FQ_CODEL], ids=lambda it: str(it["kind"]))
@pytest.mark.parametrize("traffic", [BUSY, CALM], ids=["busy", "calm"])
@pytest.mark.parametrize("dress", [lambda _, wire: wire, knows_ecn, three_flows])
def test_what_was_asked_is_confirmed(judge: Judge, queue: Any, traffic: Any, dress: Any) -> None:
    verdict = judge(run_network(asked(queue), traffic, dress=dress))
    assert at_link(verdict) == {}
    assert verdict.missing == set()
    if traffic is BUSY and queue is not PFIFO:
        assert verdict.check("control", UP)["answer"] == "confirmed"
        assert verdict.impairment(UP, "queue discipline")["answer"] == "confirmed"
    marks = verdict.check("marks", UP)["measured"]
    assert (marks["markable_packets"] > 0) == (dress is knows_ecn)
    assert (marks["marked_packets"] > 0) == (
        dress is knows_ecn and queue.get("ecn", False) and traffic is BUSY
    )


@pytest.mark.parametrize("queue", [CODEL, FQ_CODEL], ids=lambda it: str(it["kind"]))
def test_a_queue_that_only_drops_when_it_is_full_is_no_codel(judge: Judge, queue: dict[str, Any]) -> None:
    verdict = judge(run_network(asked(queue), BUSY, really=asked({**PFIFO, "limit_packets": 900})))
    assert f"which is no {queue['kind']}" in at_link(verdict)["control"]


def test_a_codel_with_another_interval_is_noticed(judge: Judge) -> None:
    verdict = judge(run_network(asked(CODEL), BUSY, really=asked({**CODEL, "interval_s": 0.4})))
    assert set(at_link(verdict)) == {"control"}


def test_a_drop_of_what_cannot_have_waited(judge: Judge) -> None:
    run = run_network(asked(CODEL), CALM)
    _lose(run, 700)
    assert "it cannot have waited for 5 ms" in at_link(judge(run))["drops"]


def test_a_drop_although_there_is_room(judge: Judge) -> None:
    run = run_network(asked(PFIFO), CALM)
    _lose(run, 700)
    assert "although the queue had room" in at_link(judge(run))["drops"]


def test_a_drop_of_what_was_to_be_marked(judge: Judge) -> None:
    run = run_network(asked(MARKING), BUSY, really=asked(CODEL), dress=knows_ecn)
    assert "that could be marked got lost" in at_link(judge(run))["drops"]


def test_marks_of_a_queue_that_was_to_make_none(judge: Judge) -> None:
    run = run_network(asked(CODEL), BUSY, really=asked(MARKING), dress=knows_ecn)
    assert "although the queue was to mark none" in at_link(judge(run))["marks"]


def test_a_threshold_for_marks_holds(judge: Judge) -> None:
    assert at_link(judge(run_network(asked(WITH_THRESHOLD), BUSY, dress=knows_ecn))) == {}


def test_a_threshold_for_marks_that_is_not_there_is_noticed(judge: Judge) -> None:
    verdict = judge(run_network(asked(WITH_THRESHOLD), BUSY, really=asked(MARKING), dress=knows_ecn))
    assert "were not marked" in at_link(verdict)["marks"]


def test_a_mark_on_what_takes_none(judge: Judge) -> None:
    run = run_network(asked(MARKING), CALM)
    packet = run.taps[UP][50]
    wire = packet.wire[:1] + bytes([packet.wire[1] | 3]) + packet.wire[2:]
    run.taps[UP][50] = type(packet)(packet.time_ns, wire)
    assert "their ends do not know ECN" in at_link(judge(run))["marks"]


def test_flows_may_pass_each_other(judge: Judge) -> None:
    run = run_network(asked(FQ_CODEL), BUSY, dress=three_flows)
    order = judge(run).check("order", UP)
    assert order["answer"] == "confirmed"
    assert order["measured"]["passed_packets"] > 10


def test_packets_of_one_flow_may_not_pass_each_other(judge: Judge) -> None:
    run = run_network(asked(FQ_CODEL), CALM)
    first, second = run.taps[UP][80:82]
    run.taps[UP][80:82] = [type(first)(first.time_ns, second.wire), type(first)(second.time_ns, first.wire)]
    assert "behind a later one of the same flow" in at_link(judge(run))["order"]


def test_what_a_lottery_drops_is_said_not_to_be_checked(judge: Judge) -> None:
    verdict = judge(run_network(asked(PIE), CALM, really=asked(CODEL)))
    entry = verdict.impairment(UP, "queue discipline")
    assert (entry["answer"], entry["missing"]) == ("not checked", None)
    assert verdict.answer == "confirmed"


def test_the_kernel_says_itself_that_it_has_another_queue(judge: Judge) -> None:
    run = run_network(asked(CODEL), CALM)
    run.queues = {UP: "pie"}
    assert "has the queue pie, where codel was asked" in at_link(judge(run))["control"]


def _lose(run: Run, number: int) -> None:
    """A packet vanishes on the link, and its counters own up to it."""
    for tap in ("gw>radio", "radio>core", "lan>srv"):
        del run.taps[tap][number]
    run.counters[UP].dropped += 1
