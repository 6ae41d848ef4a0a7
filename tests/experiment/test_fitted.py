"""Protocols named deep space take from the round trip what a mission would; the flow has the last word."""

from pathlib import Path
from typing import Any

import pytest

from gauntlet.experiment import expand, parse_experiment
from gauntlet.experiment.plans import plan_run


def params(protocol: str, scenario: str, link: str = "", flow: str = "") -> dict[str, Any]:
    """What the plan tells the stack."""
    text = f"""
[experiment]
name = "x"
repetitions = 1
[scenario]
{scenario}
[link]
{link}
[matrix]
protocols = ["{protocol}"]
[workload]
app = "bulk"
size = "10kB"
{flow}
"""
    (spec,) = expand(parse_experiment(text, "x", Path()))
    told: dict[str, Any] = plan_run(spec)["flows"][0]["stack_params"]
    return told


@pytest.mark.parametrize(
    ("scenario", "link", "round_trip_s"),
    [
        ('name = "mars"', "", 1501.04),
        ('name = "mars"\ndistance = "farthest"', "", 2677.86),
        ('name = "constant"\ndelay = "20s"', 'jitter = "1s"', 42.0),
        ('name = "constant"', 'channel_delay = "20s±5s"', 50.0),
        ('name = "geo"', 'channel_delay = "10s"', 20.0),
    ],
)
def test_times_follow_from_the_longest_round_trip(scenario: str, link: str, round_trip_s: float) -> None:
    quic = params("quic-quinn-cubic-deep-space", scenario, link)
    assert quic["initial_rtt_s"] == pytest.approx(1.1 * round_trip_s, rel=1e-3)
    assert quic["idle_timeout_s"] == pytest.approx(36 * round_trip_s, rel=1e-3)
    assert params("sdls-cop1-deep-space", scenario, link)["timer_s"] == pytest.approx(
        1.1 * round_trip_s + 5, rel=1e-3
    )


def test_short_links_keep_the_defaults_of_the_standards() -> None:
    quic = params("quic-quinn-cubic-deep-space", 'name = "constant"\ndelay = "5ms"')
    assert (quic["initial_rtt_s"], quic["idle_timeout_s"]) == (0.333, 30)


def test_what_the_flow_says_counts() -> None:
    told = params("sdls-cop1-deep-space", 'name = "mars"', flow='fop_timer = "1h"\nfop_window = 20')
    assert (told["timer_s"], told["window_frames"], told["transmission_limit"]) == (3600.0, 20, 1000)


def test_other_protocols_keep_their_defaults() -> None:
    assert "initial_rtt_s" not in params("quic-quinn-cubic", 'name = "mars"')
    assert params("sdls-cop1", 'name = "mars"') == {}
