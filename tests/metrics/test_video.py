"""Frames of a video call, and ITU-T G.1070's video quality."""

import math
from collections.abc import Sequence
from typing import Any

import pytest

from gauntlet.metrics.flow import FlowData
from gauntlet.metrics.kpis import download, video, video_quality
from gauntlet.metrics.registry import registry
from tests.metrics.flows import flow

PAYLOAD_BYTES = 1088
FRAME_S = 0.04
KINDS = "IPPPIPPP"
"""Two groups of pictures of four frames."""


def _call(delays_s: Sequence[Sequence[float | None]], **record: Any) -> FlowData:
    """A call at 25 frames a second, each frame of so many packets with these delays (None: lost)."""
    captured = [FRAME_S * number for number in range(len(delays_s))]
    sent = [at for at, frame in zip(captured, delays_s, strict=True) for _ in frame]
    came = [
        None if delay is None else at + delay
        for at, frame in zip(captured, delays_s, strict=True)
        for delay in frame
    ]
    rows = [_frame(*given) for given in zip(KINDS, captured, delays_s, strict=False)]
    made = flow(sent, came, app="video", exchanges=rows, duration_s=len(delays_s) * FRAME_S, **record)
    made.plan["app_params"].update(
        rate_bps=1e6, frame_rate_hz=25.0, packet_bytes=PAYLOAD_BYTES + 12, playout_s=0.16
    )
    return made


def _frame(kind: str, captured_s: float, delays_s: Sequence[float | None]) -> dict[str, Any]:
    came = [delay for delay in delays_s if delay is not None]
    whole = len(came) == len(delays_s)
    return {
        "object": kind,
        "size_bytes": (len(delays_s) - 1) * PAYLOAD_BYTES + 1,
        "requested_ns": round(captured_s * 1e9),
        "completed_ns": round((captured_s + max(came)) * 1e9) if whole else None,
        "outcome": "ok" if whole else "it never arrived whole",
    }


def test_a_frame_that_is_not_shown_takes_those_with_it_that_need_it() -> None:
    # Frame 1 has lost a packet, so 2 and 3 are not shown either; 4 is an I frame; 6 is late, and 7 needs it.
    call = _call([[0.05] * 3, [0.05, None], [0.05], [0.05], [0.05] * 3, [0.05], [0.17], [0.05]])
    assert video.missing_ratio(call) == pytest.approx(1 / 8)
    assert video.late_ratio(call) == pytest.approx(1 / 8)
    assert video.frozen_ratio(call) == pytest.approx(5 / 8)
    # Two freezes in 0.32 s.
    assert video.freezes_per_min(call) == pytest.approx(2 * 60 / 0.32)


def test_a_call_that_brings_every_frame_in_time_never_freezes() -> None:
    call = _call([[0.16]] * 8)
    assert [kpi.of_flow(call) for kpi in video.KPIS if kpi.of_flow] == [0.0] * 4
    assert download.download_time_s(call) is None, "it is no transfer"
    assert call.completed


def test_a_call_that_lost_a_frame_did_what_it_was_to_do() -> None:
    assert _call([[0.05], [None], *[[0.05]] * 6]).completed


def test_without_its_first_frame_nothing_is_seen_up_to_the_next_i_frame() -> None:
    assert video.frozen_ratio(_call([[None], *[[0.05]] * 7])) == pytest.approx(4 / 8)


def test_nobody_sees_a_call_that_never_came_about() -> None:
    dead = flow([], [], established_s=None, outcome="failed", app="video")
    assert [video.missing_ratio(dead), video.frozen_ratio(dead), video_quality.of_call(dead)] == [1.0] * 3


def test_only_video_calls_are_judged_as_such() -> None:
    other = flow([0, 1], [0.05, 1.05], app="cbr")
    kpis = [*video.KPIS, *video_quality.KPIS]
    assert [kpi.of_flow(other) for kpi in kpis if kpi.of_flow] == [None] * 5
    assert {kpi.name for kpi in kpis} <= registry().keys()


def test_packets_that_are_lost_late_or_never_handed_over_are_not_played() -> None:
    # Eleven packets: one lost, one late; of the call that broke off the last frame's was never handed over.
    delays: list[list[float | None]] = [
        [0.05] * 3,
        [0.05, None],
        [0.17],
        [0.05],
        [0.05],
        [0.05],
        [0.05],
        [0.05],
    ]
    assert video_quality.unplayed_ratio(_call(delays)) == pytest.approx(2 / 11)
    whole = _call(delays)
    broke = FlowData(**{**vars(whole), "sent_ns": whole.sent_ns[:-1], "received_ns": whole.received_ns[:-1]})
    assert video_quality.unplayed_ratio(broke) == pytest.approx(3 / 11)


def test_at_the_best_frame_rate_only_the_bit_rate_limits_the_coding() -> None:
    # For 1,000 kbit/s: Ofr = 5.517 + 12.9; Iofr = 3.459 (1 - 1 / (1 + (1000 / 178.53)^1.02)).
    at_best = 3.459 * (1 - 1 / (1 + (1000 / 178.53) ** 1.02))
    assert video_quality.coding_quality(1000, 18.417) == pytest.approx(at_best, abs=1e-9)
    assert video_quality.coding_quality(1000, 18.417) == pytest.approx(2.950, abs=1e-3)
    # One DFr = 1.15 + 0.355 away from it on the scale of logarithms, exp(-1/2) of that is left.
    away = 18.417 * math.exp(-1.505)
    assert video_quality.coding_quality(1000, away) == pytest.approx(at_best * math.exp(-0.5), abs=1e-9)


def test_the_best_frame_rate_stays_within_its_range() -> None:
    # 0.0129 * 4,000 alone is 51.6; Ofr ends at 30.
    best = video_quality.coding_quality(4000, 30.0)
    assert best > max(video_quality.coding_quality(4000, rate) for rate in (25.0, 29.0))


def test_loss_costs_by_the_robustness() -> None:
    # DPpl at 1,000 kbit/s and 25 Hz: 0.736 - 6.451 exp(-25 / 0.114) + 13.684 exp(-1000 / 513.77).
    robustness = video_quality.loss_robustness(1000, 25.0)
    assert robustness == pytest.approx(0.736 + 13.684 * math.exp(-1000 / 513.77), abs=1e-9)
    clear, lossy = (video_quality.video_quality(1000, 25.0, lost) for lost in (0.0, robustness))
    assert clear == pytest.approx(3.89, abs=0.005)
    assert (lossy - 1) / (clear - 1) == pytest.approx(math.exp(-1))
    assert video_quality.video_quality(1000, 25.0, 100.0) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(
    ("rate_kbps", "frame_rate_hz", "lost_percent", "quality"),
    [(1000, 25, 0, 3.8900), (1000, 25, 1, 2.9927), (1000, 25, 5, 1.4504), (300, 10, 2, 2.7119)],
)
def test_qualities_worked_out_apart_from_this_program(
    rate_kbps: float, frame_rate_hz: float, lost_percent: float, quality: float
) -> None:
    found = video_quality.video_quality(rate_kbps, frame_rate_hz, lost_percent)
    assert found == pytest.approx(quality, abs=1e-4)


def test_the_quality_of_a_call_is_that_of_its_packets() -> None:
    call = _call([[0.05] * 3, [0.05, None], [0.17], *[[0.05]] * 5])
    assert video_quality.of_call(call) == video_quality.video_quality(1000, 25.0, 200 / 11)
