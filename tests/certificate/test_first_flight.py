"""The initial window that a plan asks, held against the packets of a real run, which had the kernel's ten."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.certificate.conftest import Certificate
from tests.certificate.test_real import RealRun

FIRST, BACK = "sa>rasa", "sa>tc1"


def asked(segments: int | None) -> RealRun:
    """The real run of TCP CUBIC as if the plan had asked this window."""
    run = RealRun("cubic")
    if segments is not None:
        run.plan["flows"][0]["stack_params"]["initial_window_segments"] = segments
    return run


def answer(verdict: Certificate) -> str:
    (found,) = [it for it in verdict.certificate["checks"] if it["name"] == "initial_window"]
    return str(found["answer"])


def data_rows(run: RealRun) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Packets with data at the first tap."""
    rows = run.rows(FIRST)
    packets = run.packets["packet"][rows]
    found: np.ndarray[tuple[int], np.dtype[np.int64]]
    found = rows[run.packets["length"][rows] > 20 + 4 * (packets[:, 32] >> 4).astype(np.int64)]
    return found


def test_nothing_is_said_of_a_window_that_nobody_asked(tmp_path: Path) -> None:
    names = {it["name"] for it in asked(None).verdict(tmp_path).certificate["checks"]}
    assert "initial_window" not in names


def test_the_window_that_was_asked_is_the_one_that_was_used(tmp_path: Path) -> None:
    verdict = asked(10).verdict(tmp_path)
    assert verdict.failures == {}
    assert answer(verdict) == "confirmed"
    assert verdict.check("initial_window", FIRST)["measured"]["segments"] == 10


@pytest.mark.parametrize(
    ("segments", "said"),
    [
        (3, "sent 10 segments"),
        (9, "before any was acknowledged; its initial window is 9"),
        (11, "although it had more; its initial window is 11"),
        (30, "sent only 10 segments"),
    ],
)
def test_another_window_than_asked(tmp_path: Path, segments: int, said: str) -> None:
    failures = asked(segments).verdict(tmp_path).failures
    assert set(failures) == {("initial_window", FIRST)}
    assert said in failures["initial_window", FIRST]


@pytest.mark.parametrize(
    "change", [{"send_buffer_bytes": 8_000}, {"fast_open": True}, {"rate_bps": 100_000}, {"app": "web"}]
)
def test_who_had_no_more_or_no_room_may_send_less(tmp_path: Path, change: dict[str, object]) -> None:
    run = asked(30)
    (flow,) = run.plan["flows"]
    for key, value in change.items():
        (flow if key == "app" else flow["app_params" if key == "rate_bps" else "stack_params"])[key] = value
    assert ("initial_window", FIRST) not in run.verdict(tmp_path).failures


def test_a_receiver_with_a_smaller_window_is_no_fault_of_the_sender(tmp_path: Path) -> None:
    """Its first window, which is not scaled, stands in its SYN-ACK: here room for 14 segments."""
    run = asked(30)
    rows = run.rows(BACK)
    flags = run.packets["packet"][rows, 33]
    run.packets["packet"][np.ix_(rows[flags & 0x02 != 0], [34, 35])] = [20_000 // 256, 20_000 % 256]
    assert ("initial_window", FIRST) not in run.verdict(tmp_path).failures


def test_a_segment_is_counted_once_however_often_it_is_sent(tmp_path: Path) -> None:
    run = asked(9)
    # The tenth segment repeats the ninth.
    ninth, tenth = data_rows(run)[8:10]
    run.packets["packet"][tenth, 24:28] = run.packets["packet"][ninth, 24:28]
    assert ("initial_window", FIRST) not in run.verdict(tmp_path).failures


def test_without_a_tap_on_the_way_back_it_is_not_checked(tmp_path: Path) -> None:
    run = asked(10)
    run.drop(run.rows(BACK))
    run.record["taps"] = [tap for tap in run.record["taps"] if tap["link"] != BACK]
    verdict = run.verdict(tmp_path)
    assert answer(verdict) == "not checked"


def test_where_packets_are_damaged_it_is_not_checked(tmp_path: Path) -> None:
    run = asked(3)
    for entries in (run.plan["timeline"], run.record["timeline"]):
        entries[-1]["corrupt"] = 1e-9
    assert answer(run.verdict(tmp_path)) == "not checked"
