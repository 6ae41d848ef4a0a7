"""Networks that do something else than they were asked to are caught, each by the check that it concerns."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from gauntlet.certificate import certify
from tests.certificate.conftest import Judge
from tests.certificate.railsim import (
    NETWORK,
    QUIET_TIMELINE,
    Run,
    Traffic,
    bursty,
    in_tunnel,
    ip_packet,
    run_network,
    steady,
)

UP, DELAY, LAST = "gw>radio", "radio>core", "lan>srv"

BUSY = steady(5.5e6, 1476, 20.0)
"""A little more than the link carries: it is busy all the time."""

CALM = steady(4e6, 1000, 20.0)
"""Less than the link carries, 10,000 packets."""


def altered(timeline: Sequence[dict[str, Any]], link: str, **values: Any) -> list[dict[str, Any]]:
    """The timeline with other values for one link."""
    return [{**entry, **values} if entry["link"] == link else entry for entry in timeline]


def with_values(link: str, **values: Any) -> list[dict[str, Any]]:
    return altered(QUIET_TIMELINE, link, **values)


def stamp(run: Run, link: str, number: int, shift_ns: int) -> None:
    """Move the stamp of one packet of a tap and of all taps behind it."""
    for tap in ("gw>radio", "radio>core", "lan>srv")[("gw>radio", "radio>core", "lan>srv").index(link) :]:
        packets = run.taps[tap]
        packets[number] = replace(packets[number], time_ns=packets[number].time_ns + shift_ns)
        packets.sort(key=attrgetter("time_ns"))


def remove(run: Run, link: str, numbers: Iterable[int]) -> None:
    """Lose packets on a link: they are missing from its tap and from those behind it."""
    gone = set(numbers)
    forward = ["gw>radio", "radio>core", "lan>srv"]
    for tap in forward[forward.index(link) :]:
        run.taps[tap] = [packet for number, packet in enumerate(run.taps[tap]) if number not in gone]


@pytest.mark.parametrize("factor", [1.02, 1.001])
def test_a_faster_link(judge: Judge, factor: float) -> None:
    run = run_network(QUIET_TIMELINE, BUSY, really=with_values(UP, rate_bps=int(5_200_000 * factor)))
    failures = judge(run).failures
    assert "gw>radio was faster than asked" in failures["rate", UP]
    assert "before the rate asked for had earned them" in failures["pace", UP]
    assert {link for _, link in failures} == {UP}


@pytest.mark.parametrize("factor", [0.98, 0.999])
def test_a_slower_link(judge: Judge, factor: float) -> None:
    run = run_network(QUIET_TIMELINE, BUSY, really=with_values(UP, rate_bps=int(5_200_000 * factor)))
    failures = judge(run).failures
    assert "gw>radio was slower than asked" in failures["pace", UP]
    assert {link for _, link in failures} == {UP}


def test_a_link_that_stalls_for_good(judge: Judge) -> None:
    really = [*QUIET_TIMELINE, {"at_s": 10.0, "link": UP, "rate_bps": 8}]
    failures = judge(run_network(QUIET_TIMELINE, CALM, really=really)).failures
    assert "was still waiting at the end of the run" in failures["pace", UP]


def test_a_bucket_deeper_than_asked(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, bursty(2000, 30.0), really=with_values(UP, burst_bytes=3000))
    assert ("rate", UP) in judge(run).failures


DEEP = 64_000
"""A bucket for 42 of the packets of a flood, which have 1,500 bytes in the tunnel."""


def floods(_: random.Random) -> list[tuple[float, int]]:
    """Sixty packets at one instant, each two seconds."""
    return [(0.5 + 2.0 * number, 1476) for number in range(14) for _ in range(60)]


def test_a_deep_bucket_as_asked(judge: Judge) -> None:
    """After each pause forty packets leave at once, and that is as it should be."""
    verdict = judge(run_network(with_values(UP, burst_bytes=DEEP), floods))
    assert verdict.failures == {}
    assert verdict.check("pace", UP)["measured"]["waited_packets"] == 14 * (60 - DEEP // 1500)


@pytest.mark.parametrize("really", [1580, DEEP // 2, DEEP - 1500])
def test_a_bucket_less_deep_than_asked(judge: Judge, really: int) -> None:
    run = run_network(with_values(UP, burst_bytes=DEEP), floods, really=with_values(UP, burst_bytes=really))
    failures = judge(run).failures
    assert "gw>radio was slower than asked" in failures["pace", UP]
    assert {link for _, link in failures} == {UP}


@pytest.mark.parametrize("really", [DEEP + 1500, 2 * DEEP])
def test_a_deep_bucket_deeper_than_asked(judge: Judge, really: int) -> None:
    run = run_network(with_values(UP, burst_bytes=DEEP), floods, really=with_values(UP, burst_bytes=really))
    failures = judge(run).failures
    assert "a burst of 64,000 bytes" in failures["rate", UP]
    assert "before the rate asked for had earned them" in failures["pace", UP]


def test_a_packet_too_early(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    stamp(run, DELAY, 500, -50_000)
    failures = judge(run).failures
    assert set(failures) == {("delay", DELAY)}
    assert "1 packet left radio>core earlier than its delay allows" in failures["delay", DELAY]
    assert "50 us too little" in failures["delay", DELAY]


def test_a_packet_too_late(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    stamp(run, DELAY, 500, 50_000)
    failures = judge(run).failures
    assert set(failures) == {("delay", DELAY)}
    assert "later than its delay" in failures["delay", DELAY]


@pytest.mark.parametrize(
    ("programs", "shift_ns", "words"),
    [
        (True, 20_000, None),
        (True, 60_000, "each time that one reads it"),
        (True, -20_000, "20 us too little."),
        (False, 20_000, "20 us too much."),
    ],
)
def test_beside_programs_that_read_the_clock_a_packet_may_be_somewhat_later(
    judge: Judge, programs: bool, shift_ns: int, words: str | None
) -> None:
    """20 us were seen, 50 are allowed; beyond the sentence says why, and early is early as ever."""
    run = run_network(QUIET_TIMELINE, CALM)
    if programs:
        run.plan["programs"] = [{"id": "mine"}]
    stamp(run, DELAY, 500, shift_ns)
    failures = judge(run).failures
    if words is None:
        assert failures == {}
    else:
        assert set(failures) == {("delay", DELAY)}
        assert words in failures["delay", DELAY]


def test_a_packet_too_early_from_the_shaper(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, BUSY)
    stamp(run, UP, 3000, -50_000)
    failures = judge(run).failures
    assert set(failures) == {("pace", UP), ("rate", UP)}
    assert " us too early" in failures["pace", UP]


def test_a_packet_held_where_nothing_should_hold_it(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    stamp(run, LAST, 500, 50_000)
    assert set(judge(run).failures) == {("delay", LAST)}


def test_a_lost_packet_that_is_not_counted(judge: Judge) -> None:
    timeline = with_values(DELAY, loss=0.01)
    run = run_network(timeline, CALM)
    remove(run, DELAY, [700])
    failures = judge(run).failures
    assert set(failures) == {("conservation", DELAY)}
    assert "1 packet vanished" in failures["conservation", DELAY]


def test_a_counted_drop_that_did_not_happen(judge: Judge) -> None:
    run = run_network(with_values(DELAY, loss=0.01), CALM)
    run.counters[DELAY].dropped += 1
    assert set(judge(run).failures) == {("conservation", DELAY)}


def test_a_loss_where_none_was_asked(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    remove(run, DELAY, [700])
    run.counters[DELAY].dropped += 1
    failures = judge(run).failures
    assert set(failures) == {("loss", DELAY)}
    assert "although no loss was asked for" in failures["loss", DELAY]


def test_a_loss_between_two_taps_without_any_queue(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    remove(run, LAST, [700])
    assert set(judge(run).failures) == {("loss", LAST), ("conservation", LAST)}


def test_a_drop_while_the_queue_has_room(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    remove(run, UP, [700])
    for tap in (DELAY, LAST):
        assert len(run.taps[tap]) == len(run.taps[UP])
    run.counters[UP].dropped += 1
    failures = judge(run).failures
    assert set(failures) == {("drops", UP)}
    assert "although the queue had room" in failures["drops", UP]


@pytest.mark.parametrize("really", [0.015, 0.006])
def test_another_loss_than_asked(judge: Judge, really: float) -> None:
    traffic = steady(4.5e6, 200, 10.0)
    run = run_network(with_values(DELAY, loss=0.01), traffic, really=with_values(DELAY, loss=really))
    failures = judge(run).failures
    assert set(failures) == {("loss", DELAY)}
    assert "where 1 % was asked" in failures["loss", DELAY]


def test_loss_that_comes_in_bursts_other_than_asked(judge: Judge) -> None:
    model = {"p": 0.01, "r": 0.3, "loss_bad": 0.8, "loss_good": 0.0}
    worse = {**model, "p": 0.03}
    traffic = steady(4.5e6, 200, 10.0)
    asked = with_values(DELAY, gilbert_elliott=model)
    assert set(
        judge(run_network(asked, traffic, really=with_values(DELAY, gilbert_elliott=worse))).failures
    ) == {("loss", DELAY)}


MODEL = {"p": 0.01, "r": 0.2, "loss_bad": 1.0, "loss_good": 0.0}
"""Loses one packet in 21, in bursts of five."""

SCATTERED = {"p": MODEL["p"] * 4, "r": MODEL["r"] * 4, "loss_bad": 1.0, "loss_good": 0.0}


@pytest.mark.parametrize(
    "really", [{"gilbert_elliott": SCATTERED}, {"gilbert_elliott": None, "loss": 1 / 21}]
)
def test_bursts_scattered_at_the_same_mean_loss(judge: Judge, really: dict[str, Any]) -> None:
    traffic = steady(4.5e6, 200, 10.0)
    asked, done = with_values(DELAY, gilbert_elliott=MODEL), with_values(DELAY, **really)
    verdict = judge(run_network(asked, traffic, really=done))
    assert set(verdict.failures) == {("bursts", DELAY)}
    assert "where 5 were asked for" in verdict.failures["bursts", DELAY]
    assert verdict.impairment(DELAY, "burst loss")["answer"] == "contradicted"


def test_losses_in_bursts_where_single_ones_were_asked_are_not_called_the_same(judge: Judge) -> None:
    asked, done = with_values(DELAY, gilbert_elliott=SCATTERED), with_values(DELAY, gilbert_elliott=MODEL)
    verdict = judge(run_network(asked, steady(4.5e6, 200, 10.0), really=done))
    assert ("bursts", DELAY) in verdict.failures


@pytest.mark.parametrize("traffic", [steady(4.5e6, 200, 10.0), bursty(20_000, 60.0)])
def test_corruption_left_out(judge: Judge, traffic: Traffic) -> None:
    verdict = judge(run_network(with_values(DELAY, corrupt=0.03), traffic, really=QUIET_TIMELINE))
    assert set(verdict.failures) == {("corruption", DELAY)}
    assert "damaged 0 of" in verdict.failures["corruption", DELAY]


def test_more_corruption_than_asked(judge: Judge) -> None:
    asked, done = with_values(DELAY, corrupt=0.01), with_values(DELAY, corrupt=0.03)
    assert ("corruption", DELAY) in judge(run_network(asked, CALM, really=done)).failures


def test_duplication_left_out(judge: Judge) -> None:
    verdict = judge(run_network(with_values(DELAY, duplicate=0.02), CALM, really=QUIET_TIMELINE))
    assert set(verdict.failures) == {("duplication", DELAY)}
    assert verdict.impairment(DELAY, "duplicate")["answer"] == "contradicted"


@pytest.mark.parametrize("reorder", [False, True])
@pytest.mark.parametrize("delay_s", [0.02, 0.025, 0.03])
def test_jitter_replaced_by_a_constant(judge: Judge, reorder: bool, delay_s: float) -> None:
    asked = with_values(DELAY, jitter_s=0.01, reorder=reorder)
    verdict = judge(run_network(asked, CALM, really=with_values(DELAY, delay_s=delay_s)))
    assert set(verdict.failures) == {("jitter", DELAY)}
    assert "is not spread as asked" in verdict.failures["jitter", DELAY]


@pytest.mark.parametrize("reorder", [False, True])
def test_half_the_jitter(judge: Judge, reorder: bool) -> None:
    asked = with_values(DELAY, jitter_s=0.01, reorder=reorder)
    done = with_values(DELAY, jitter_s=0.005, reorder=reorder)
    assert set(judge(run_network(asked, CALM, really=done)).failures) == {("jitter", DELAY)}


@pytest.mark.parametrize("reorder", [False, True])
def test_twice_the_jitter(judge: Judge, reorder: bool) -> None:
    asked = with_values(DELAY, jitter_s=0.005, reorder=reorder)
    done = with_values(DELAY, jitter_s=0.01, reorder=reorder)
    assert {("jitter", DELAY), ("delay", DELAY)} <= set(judge(run_network(asked, CALM, really=done)).failures)


def test_order_kept_where_jitter_was_to_change_it(judge: Judge) -> None:
    asked = with_values(DELAY, jitter_s=0.01, reorder=True)
    verdict = judge(run_network(asked, CALM, really=with_values(DELAY, jitter_s=0.01)))
    assert set(verdict.failures) == {("jitter", DELAY)}
    assert verdict.impairment(DELAY, "reorder")["answer"] == "contradicted"


def test_a_claim_of_more_bytes_than_arrived(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    run.claims = run.honest_claims()
    run.claims.received_bytes += 1
    failures = judge(run).failures
    assert set(failures) == {("bytes", LAST), ("instants", LAST)}
    assert "claims 9,720,001 bytes received" in failures["bytes", LAST]
    assert "carried at most 9,720,000" in failures["bytes", LAST]


def test_a_claim_of_more_messages_than_its_rows_tell_of(judge: Judge) -> None:
    """Loss is computed from that total."""
    run = run_network(with_values(DELAY, loss=0.01), CALM)
    run.claims = run.honest_claims()
    run.claims.further_messages = 1
    failures = judge(run).failures
    assert set(failures) == {("bytes", LAST)}
    count = len(run.claims.messages)
    assert (
        f"claims {count + 1:,} messages received, but its rows tell of {count:,}" in failures["bytes", LAST]
    )


@pytest.mark.parametrize("number", [0, 5000, 9999])
def test_a_message_received_a_millisecond_too_early(judge: Judge, number: int) -> None:
    run = run_network(with_values(DELAY, loss=0.01), CALM)
    run.claims = run.honest_claims()
    number = sorted(run.claims.messages)[min(number, len(run.claims.messages) - 1)]
    size, instant = run.claims.messages[number]
    run.claims.messages[number] = size, instant - 1_000_000
    failures = judge(run).failures
    assert set(failures) == {("instants", LAST)}
    assert "1 ms before the last packet" in failures["instants", LAST]


def test_a_message_that_never_arrived(judge: Judge) -> None:
    run = run_network(with_values(DELAY, loss=0.01), CALM)
    run.claims = run.honest_claims()
    lost = next(number for number in range(10_000) if number not in run.claims.messages)
    run.claims.messages[lost] = (972, 19_000_000_000)
    failures = judge(run).failures
    assert set(failures) == {("instants", LAST)}
    assert "which the captured packets never carried" in failures["instants", LAST]


def test_packets_that_get_through_an_outage(judge: Judge) -> None:
    down = [{"at_s": 5.0, "link": DELAY, "up": False}, {"at_s": 6.0, "link": DELAY, "up": True}]
    run = run_network([*QUIET_TIMELINE, *down], CALM, really=QUIET_TIMELINE)
    assert "where 100 % was asked" in judge(run).failures["loss", DELAY]


@pytest.mark.parametrize(("asked", "really"), [(0.0, 0.001), (0.02, 0.04), (0.02, 0.0)])
def test_other_duplication_than_asked(judge: Judge, asked: float, really: float) -> None:
    run = run_network(with_values(DELAY, duplicate=asked), CALM, really=with_values(DELAY, duplicate=really))
    assert set(judge(run).failures) == {("duplication", DELAY)}


def test_reordering_where_order_was_asked(judge: Judge) -> None:
    asked = with_values(DELAY, jitter_s=0.01)
    run = run_network(asked, CALM, really=with_values(DELAY, jitter_s=0.01, reorder=True))
    failures = judge(run).failures
    assert "behind a packet that had entered later" in failures["order", DELAY]


def test_two_swapped_packets(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    for tap in (DELAY, LAST):
        packets = run.taps[tap]
        packets[41], packets[42] = (
            replace(packets[42], time_ns=packets[41].time_ns),
            replace(packets[41], time_ns=packets[42].time_ns),
        )
    assert ("order", DELAY) in judge(run).failures


def test_a_packet_above_the_mtu(judge: Judge) -> None:
    failures = judge(run_network(QUIET_TIMELINE, steady(1e6, 1477, 5.0))).failures
    assert "exceeded the MTU of 1,476 bytes" in failures["mtu", "sa>gw"]
    assert "exceeded the MTU of 1,500 bytes" in failures["mtu", DELAY]


def test_the_mtu_of_the_rail_preset(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    run.plan["network"] = {"preset": "rail-d34"}
    assert judge(run).failures == {}
    assert NETWORK["links"][0]["mtu_bytes"] == 1476


def test_a_queue_above_its_limit(judge: Judge) -> None:
    asked = with_values(UP, queue_limit_bytes=100_000)
    run = run_network(asked, BUSY, really=with_values(UP, queue_limit_bytes=103_000))
    failures = judge(run).failures
    assert "The queue of gw>radio was above its limit" in failures["queue", UP]


def test_a_queue_shorter_than_asked(judge: Judge) -> None:
    asked = with_values(UP, queue_limit_bytes=100_000)
    run = run_network(asked, BUSY, really=with_values(UP, queue_limit_bytes=97_000))
    assert ("drops", UP) in judge(run).failures


def test_a_netem_queue_above_its_limit(judge: Judge) -> None:
    asked = with_values(DELAY, limit_packets=10)
    run = run_network(asked, CALM, really=with_values(DELAY, limit_packets=11))
    assert "where 10 are allowed" in judge(run).failures["queue", DELAY]


def changes(*at_s: float) -> list[dict[str, Any]]:
    return [
        {"at_s": at, "link": DELAY, "delay_s": delay} for at, delay in zip(at_s, (0.05, 0.02), strict=True)
    ]


@pytest.mark.parametrize("late_s", [0.01, 0.5])
def test_a_change_of_delay_that_comes_late_unsaid(judge: Judge, late_s: float) -> None:
    asked = [*QUIET_TIMELINE, *changes(5.0, 10.0)]
    run = run_network(asked, CALM, really=[*QUIET_TIMELINE, *changes(5.0 + late_s, 10.0)])
    assert "earlier than its delay allows" in judge(run).failures["delay", DELAY]


def test_a_change_that_comes_late_and_says_so(judge: Judge) -> None:
    asked = [*QUIET_TIMELINE, *changes(5.0, 10.0)]
    really = [*QUIET_TIMELINE, *changes(5.5, 10.0)]
    run = run_network(asked, CALM, really=really)
    run.timeline = really
    failures = judge(run).failures
    assert set(failures) == {("timeline", DELAY)}
    assert "made 500 ms later than planned" in failures["timeline", DELAY]


def test_a_change_that_was_never_made(judge: Judge) -> None:
    run = run_network([*QUIET_TIMELINE, *changes(5.0, 10.0)], CALM)
    run.timeline = run.plan["timeline"][:-1]
    assert "was never made" in judge(run).failures["timeline", DELAY]


def test_a_change_to_another_value_than_planned(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    run.timeline = with_values(DELAY, delay_s=0.03)
    assert "set delay_s to 0.03 where the plan asks for 0.025" in judge(run).failures["timeline", DELAY]


def test_an_invented_packet(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    packets = run.taps[DELAY]
    invented = in_tunnel(ip_packet("10.0.1.1", "10.0.2.1", 999_999, 500))
    packets.insert(100, replace(packets[100], wire=invented))
    failures = judge(run).failures
    assert "1 packet left radio>core without ever entering it" in failures["origin", DELAY]


def test_a_packet_seen_twice_at_the_end_of_the_run(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    for tap in (DELAY, LAST):
        run.taps[tap].append(run.taps[tap][-1])
    failures = judge(run).failures
    assert "1 packet of 10,000 was repeated on radio>core" in failures["duplication", DELAY]


@pytest.mark.parametrize("link", [UP, DELAY])
def test_counters_that_do_not_fit_the_capture(judge: Judge, tmp_path: Path, link: str) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    record = run.write(tmp_path / "altered")
    content = json.loads((record / "record.json").read_text())
    (counters,) = [entry for entry in content["links"] if entry["link"] == link]
    counters["sent_packets"] += 1
    counters["sent_bytes"] += 1500
    (record / "record.json").write_text(json.dumps(content))
    failed = [check for check in certify(run.plan, record)["checks"] if not check["passed"]]
    assert [(check["name"], check["link"]) for check in failed] == [("counters", link)]
    assert "the capture saw 10,000" in failed[0]["sentence"]


def test_a_payload_that_changed_on_the_way(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    packet = run.taps[DELAY][50]
    wire = bytearray(packet.wire)
    wire[60] ^= 1
    run.taps[DELAY][50] = replace(packet, wire=bytes(wire))
    failures = judge(run).failures
    assert ("origin", DELAY) in failures
    assert ("loss", DELAY) in failures


def test_a_capture_that_missed_packets(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, CALM)
    run.missed[DELAY] = 3
    failures = judge(run).failures
    assert failures == {("capture", None): "The capture missed 3 packets on radio>core."}


@pytest.mark.parametrize("seed", range(5))
def test_any_packet_early_by_more_than_the_tolerance(judge: Judge, seed: int) -> None:
    chance = random.Random(seed)
    run = run_network(QUIET_TIMELINE, bursty(3000, 30.0), seed=seed)
    stamp(run, DELAY, chance.randrange(2000), -chance.randrange(6_000, 20_000))
    assert ("delay", DELAY) in judge(run).failures
