"""Calls and pages against numbers worked out by hand."""

from collections.abc import Sequence
from typing import Any

import pytest

from gauntlet.metrics.flow import FlowData
from gauntlet.metrics.kpis import voip, web
from gauntlet.metrics.registry import registry
from tests.metrics.flows import flow


def _call(sent: Sequence[float], got: Sequence[float | None], **changes: Any) -> FlowData:
    """A call of 100 packets of 20 ms."""
    return flow(sent, got, app="voip", **{"duration_s": 2.0, **changes})


def test_packets_are_in_time_late_or_lost() -> None:
    call = flow([0, 1, 2, 3, 4], [0.05, 1.16, 2.17, None, 4.05], app="voip", duration_s=5.0, interval_s=1.0)
    assert voip.lost_ratio(call) == pytest.approx(0.2)
    assert voip.late_ratio(call) == pytest.approx(0.2)
    # Delays of 50, 160, 170 and 50 ms: mean 107.5, squared deviations 3306.25, 2756.25, 3906.25, 3306.25.
    assert voip.delay_deviation_s(call) == pytest.approx(0.057609, abs=1e-6)


def test_only_calls_are_judged_as_calls() -> None:
    other = flow([0, 1], [0.05, 1.05], app="cbr")
    assert [kpi.of_flow(other) for kpi in voip.KPIS if kpi.of_flow] == [None] * 4
    assert web.page_load_time_s(other) is None
    assert {"voip_mos", "voip_lost_ratio", "voip_late_ratio", "page_load_time_s"} <= registry().keys()


@pytest.mark.parametrize(
    ("rating", "score"),
    # ITU-T G.107, Annex B, Table B.1: ratings and the scores that belong to them.
    [(90, 4.34), (80, 4.03), (70, 3.60), (60, 3.10), (50, 2.58), (0, 1.0), (-5, 1.0), (100, 4.5)],
)
def test_scores_are_those_of_the_recommendation(rating: float, score: float) -> None:
    assert voip.opinion_score(rating) == pytest.approx(score, abs=0.01)


def test_delay_up_to_a_tenth_of_a_second_costs_nothing() -> None:
    assert voip.delay_impairment(0.1) == 0
    assert 0 < voip.delay_impairment(0.18) < voip.delay_impairment(0.4)
    # At 200 ms X is 1: 25 ((1 + 1)^(1/6) - 3 (1 + 3^-6)^(1/6) + 2).
    assert voip.delay_impairment(0.2) == pytest.approx(3.0446, abs=1e-3)


@pytest.mark.parametrize(
    ("delay_s", "impairment"),
    # X = log2(T / 100 ms) is 0, 1, 2 and 3. At 3: 25 (730^(1/6) - 3 2^(1/6) + 2).
    [(0.1, 0.0), (0.2, 3.04), (0.4, 24.07), (0.8, 40.83)],
)
def test_delay_impairs_by_the_equation_of_the_recommendation(delay_s: float, impairment: float) -> None:
    assert voip.delay_impairment(delay_s) == pytest.approx(impairment, abs=0.02)


def test_without_impairments_the_rating_is_the_default_of_the_recommendation() -> None:
    # G.107: R = 93.2 with all parameters at their defaults, which is a score of 4.41.
    assert voip.opinion_score(voip.BASIC_RATING) == pytest.approx(4.41, abs=0.005)


def test_one_percent_lost_costs_g711_with_concealment_little() -> None:
    # G.113, Appendix I: Ie 0, Bpl 25.1. 95 / (1 + 25.1) is 3.64.
    assert voip.loss_impairment(1.0, 1.0) == pytest.approx(3.64, abs=0.005)


@pytest.mark.parametrize(
    ("missing_percent", "burst_ratio", "score"),
    # R = 93.2 - 1.346 (180 ms) - 95 P / (P / B + 25.1), worked out apart from this program.
    [(0, 1, 4.382), (1, 1, 4.293), (5, 1, 3.867), (20, 1, 2.561), (1.7, 51, 4.212), (33.3, 670, 1.0)],
)
def test_losses_and_bursts_at_the_delay_of_playout(
    missing_percent: float, burst_ratio: float, score: float
) -> None:
    rating = voip.BASIC_RATING - voip.delay_impairment(voip.PLAYOUT_S + voip.PACKET_S)
    rating -= voip.loss_impairment(missing_percent, burst_ratio)
    assert voip.opinion_score(rating) == pytest.approx(score, abs=6e-4)


def test_opus_has_no_score_on_the_scale_of_telephone_speech() -> None:
    sent = [0.02 * number for number in range(100)]
    call = _call(sent, [instant + 0.03 for instant in sent])
    call.plan["app_params"]["codec"] = "opus"
    assert voip.mos(call) is None
    assert voip.lost_ratio(call) == 0.0
    call.plan["app_params"]["codec"] = "g711"
    assert voip.mos(call) == pytest.approx(4.36, abs=0.05)


def test_a_quarter_lost_at_random_costs_half_of_everything() -> None:
    assert voip.loss_impairment(25.1, 1.0) == pytest.approx(47.5)
    assert voip.loss_impairment(0, 1.0) == 0
    assert voip.loss_impairment(10, 2.0) > voip.loss_impairment(10, 1.0)


def test_bursts_sound_worse_than_the_same_losses_apart() -> None:
    sent = [0.02 * number for number in range(100)]
    clear = [instant + 0.03 for instant in sent]
    apart = [None if number % 20 == 10 else instant for number, instant in enumerate(clear)]
    burst = [None if 40 <= number < 45 else instant for number, instant in enumerate(clear)]
    best, scattered, bunched = (voip.mos(_call(sent, got)) for got in (clear, apart, burst))
    assert best is not None and scattered is not None and bunched is not None
    assert best > scattered > bunched > 1
    assert best == pytest.approx(4.36, abs=0.05)


def test_late_packets_count_as_missing() -> None:
    sent = [0.02 * number for number in range(100)]
    lost = [None if number % 10 == 3 else instant + 0.03 for number, instant in enumerate(sent)]
    late = [instant + (0.3 if number % 10 == 3 else 0.03) for number, instant in enumerate(sent)]
    assert voip.mos(_call(sent, late)) == voip.mos(_call(sent, lost))


def test_a_page_lasts_from_its_first_request_to_its_last_byte() -> None:
    def one(name: str, requested_s: float, completed_s: float | None) -> dict[str, object]:
        done_ns = None if completed_s is None else round(completed_s * 1e9)
        outcome = "ok" if completed_s is not None else "the server ended the session"
        return {
            "object": name,
            "requested_ns": round(requested_s * 1e9),
            "completed_ns": done_ns,
            "outcome": outcome,
        }

    pages = [one("page 0", 1, 2), one("page 0, object 1", 2.1, 2.5), one("page 1", 30, 30.5)]
    assert web.page_load_time_s(flow([], [], app="web", outcome="ok", exchanges=pages)) == pytest.approx(1.0)
    broken = [*pages, one("page 1, object 1", 31, None)]
    assert web.page_load_times_s(flow([], [], app="web", exchanges=broken)) == pytest.approx([1.5])
    assert web.page_load_time_s(flow([], [], app="web", outcome="failed", exchanges=broken)) is None
