"""Protocols named deep space take from the round trip what a mission would; the flow has the last word."""

import re
from pathlib import Path
from typing import Any

import pytest

from gauntlet.experiment import expand, parse_experiment
from gauntlet.experiment.flows import held_times
from gauntlet.experiment.plans import plan_run
from gauntlet.experiment.protocols import LONGEST_S, PROTOCOLS
from gauntlet.experiment.runspec import RunSpec


def spec_of(protocol: str, scenario: str, link: str = "", flow: str = "") -> RunSpec:
    """The one run of an experiment."""
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
    return spec


def params(protocol: str, scenario: str, link: str = "", flow: str = "") -> dict[str, Any]:
    """What the plan tells the stack."""
    told: dict[str, Any] = plan_run(spec_of(protocol, scenario, link, flow))["flows"][0]["stack_params"]
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


@pytest.mark.parametrize(
    ("delay", "days", "held"), [("5d", 360, False), ("6d", 366, True), ("400d", 366, True)]
)
def test_a_time_that_no_flow_takes_is_held_at_the_longest_and_said(delay: str, days: int, held: bool) -> None:
    spec = spec_of("quic-quinn-cubic-deep-space", f'name = "mars"\ndelay = "{delay}"\nduration = "1000d"')
    assert plan_run(spec)["flows"][0]["stack_params"]["idle_timeout_s"] == days * 86_400
    said = held_times(spec.flows, PROTOCOLS)
    assert any(sentence.startswith("idle_timeout of quic-quinn") for sentence in said) == held


def test_the_longest_time_is_the_player_s() -> None:
    """What the player refuses is read from its own source."""
    source = Path(__file__).parents[2] / "crates" / "transports" / "src" / "params.rs"
    (days,) = re.findall(
        r"const LONGEST_S: f64 = ([0-9.]+) \* 86_400\.0;", source.read_text(encoding="utf-8")
    )
    assert float(days) * 86_400 == LONGEST_S


@pytest.mark.parametrize(
    ("scenario", "limit_s"),
    [
        ('name = "constant"\ndelay = "20ms"', 302.6),
        ('name = "geo"', 302.6),
        ('name = "constant"\ndelay = "10s"', 2.6 + 400 * 20),
        ('name = "mars"\ndelay = "5d"\nduration = "30d"', 2.6 + 3660 * 86_400),
    ],
)
def test_a_limit_that_is_worked_out_knows_the_distance(scenario: str, limit_s: float) -> None:
    """Flows start after a second; 10 kB take 1.6 s at 50 kbit/s."""
    assert spec_of("quic-quinn-cubic", scenario).limit_s == pytest.approx(limit_s, rel=1e-9)


def test_a_limit_that_is_given_stays() -> None:
    text = """
[experiment]
name = "x"
limit = "1h"
[scenario]
name = "mars"
[matrix]
protocols = ["quic-quinn-cubic"]
[workload]
app = "bulk"
size = "10kB"
"""
    assert expand(parse_experiment(text, "x", Path()))[0].limit_s == 3600
