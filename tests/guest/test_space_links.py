"""SDLS and COP-1 in the guest, and QUIC over delays of minutes and hours."""

from pathlib import Path
from typing import Any

import pytest

from tests.guest.conftest import Play, run_plan, tcp_flow

MARS_S = 750.5
"""One way at the mean distance (data/deep-space.toml)."""


def line(delay_s: float, loss: float = 0.0, rate_bps: int = 1_000_000) -> list[dict[str, Any]]:
    """Both directions alike but for losses, which are on the way to the receiver."""
    return [
        *(
            {"at_s": 0.0, "link": link, "rate_bps": rate_bps, "queue_limit_bytes": 4_000_000}
            for link in ("west>mid", "east>mid")
        ),
        {"at_s": 0.0, "link": "mid>east", "delay_s": delay_s, "loss": loss},
        {"at_s": 0.0, "link": "mid>west", "delay_s": delay_s},
    ]


def file_over(name: str, delay_s: float, stack: str, loss: float = 0.0, **params: Any) -> dict[str, Any]:
    """A run of a file of 100 kB."""
    app = {"size_bytes": 100_000, "message_size_bytes": 900}
    flow = tcp_flow(stack=stack, stack_params=params, app="bulk", app_params=app)
    return run_plan(id=name, flows=[flow], timeline=line(delay_s, loss), limit_s=300 * 86_400)


def test_sdls_loses_what_the_link_loses_and_says_so(play: Play) -> None:
    source = {"rate_bps": 80_000, "message_size_bytes": 900, "duration_s": 60}
    flow = tcp_flow(stack="sdls", stack_params={}, app="cbr", app_params=source)
    record = play(run_plan(id="sdls", flows=[flow], timeline=line(0.2, 0.15)))["sdls"]
    (told,) = record["flows"]
    missing = told["sent_messages"] - told["received_messages"]
    dropped = sum(entry["dropped_packets"] for entry in record["links"])
    assert told["outcome"] == "ok", told["reason"]
    assert missing == dropped > 0.05 * told["sent_messages"]
    # What is lost behind the last frame that came shows in no number.
    assert 0 <= dropped - told["counts"]["frames_missing"] < 5


def test_cop1_brings_everything_in_order_with_the_parameters_of_the_link(play: Play) -> None:
    fitted = {
        "window_frames": 127,
        "timer_s": 2.2 * MARS_S,
        "transmission_limit": 1000,
        "report_interval_s": 60,
    }
    records = play(
        file_over("clean", MARS_S, "sdls-cop1", **fitted),
        file_over("lossy", MARS_S, "sdls-cop1", 0.15, **fitted),
        file_over("default", MARS_S, "sdls-cop1"),
    )
    told = {name: record["flows"][0] for name, record in records.items()}
    assert told["clean"]["outcome"] == told["lossy"]["outcome"] == "ok", told
    assert told["clean"]["received_bytes"] == told["lossy"]["received_bytes"] == 100_000
    assert told["clean"]["counts"]["frames_sent"] == 112
    assert "frames_sent_again" not in told["clean"]["counts"]
    assert told["lossy"]["counts"]["frames_sent_again"] > 10
    assert 2 * MARS_S < told["clean"]["finished_s"] - 0.5 < 2 * MARS_S + 5
    assert told["default"]["outcome"] == "failed"
    assert "sent 3 times and not acknowledged within `timer_s` of 3 s" in told["default"]["reason"]


@pytest.mark.parametrize(("delay_s", "trips"), [(MARS_S, 12), (7200.0, 12)])
def test_quic_goes_to_mars_and_two_hours_far_with_what_a_mission_sets(
    delay_s: float, trips: int, play: Play
) -> None:
    fitted = {"initial_rtt_s": 2.2 * delay_s, "idle_timeout_s": min(72 * delay_s, 366 * 86_400)}
    records = play(
        file_over("fitted", delay_s, "quic-quinn", **fitted),
        file_over("default", delay_s, "quic-quinn"),
    )
    told = {name: record["flows"][0] for name, record in records.items()}
    assert told["fitted"]["outcome"] == "ok", told["fitted"]["reason"]
    assert told["fitted"]["received_bytes"] == 100_000
    round_trips = (told["fitted"]["finished_s"] - 0.5) / (2 * delay_s)
    assert 2 < round_trips < trips
    assert told["default"]["outcome"] == "failed"
    assert told["default"]["reason"].startswith("timed out")


def test_a_run_is_the_same_again(play: Play, tmp_path: Path) -> None:
    def bytes_of(name: str) -> bytes:
        run = file_over(name, 0.2, "sdls-cop1", 0.1, transmission_limit=50)
        play({**run, "record": {**run["record"], "packets": "full"}})
        return (tmp_path / "out" / name / "packets.bin").read_bytes()

    assert bytes_of("one") == bytes_of("again")
