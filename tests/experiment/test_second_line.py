"""Networks of two lines: both are as the scenario says, and the second as it is told, where it is."""

from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import guest
from gauntlet.errors import UserError
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import parse_experiment
from gauntlet.experiment.plan_schema import check_plan
from gauntlet.experiment.plans import plan_run

EXPERIMENT = """
[experiment]
name = "two"
repetitions = 1
[scenario]
name = "constant"
rate = "2Mbit/s"
delay = "20ms"
loss = "1%"
[link]
{link}
[matrix]
protocols = ["mptcp-cubic"]
{matrix}
[workload]
app = "bulk"
size = "1MB"
"""


def _runs(link: str, matrix: str = "") -> list[dict[str, Any]]:
    specs = expand(parse_experiment(EXPERIMENT.format(link=link, matrix=matrix), "two.toml", Path()))
    runs = [plan_run(spec) for spec in specs]
    check_plan(guest.plan(runs))
    return runs


def _states(run: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["link"]: entry for entry in run["timeline"]}


def test_both_lines_are_alike_unless_told_otherwise() -> None:
    (run,) = _runs('network = "wire-dual"')
    states = _states(run)
    for first, second in [("west>mid", "west2>mid2"), ("mid>east", "mid2>east2"), ("mid>west", "mid2>west2")]:
        assert {**states[first], "link": second} == states[second]


def test_the_second_line_has_conditions_of_its_own() -> None:
    own = 'network = "wire-dual"\nsecond_rate = "500kbit/s"\nsecond_delay = "80ms"\nsecond_loss = "0%"'
    (run,) = _runs(own)
    states = _states(run)
    assert [states[link]["rate_bps"] for link in ("west>mid", "west2>mid2", "east2>mid2")] == [
        2_000_000, 500_000, 500_000
    ]  # fmt: skip
    assert [states[link]["delay_s"] for link in ("mid>east", "mid2>east2", "mid2>west2")] == [
        0.02,
        0.08,
        0.08,
    ]
    assert [states[link]["loss"] for link in ("mid>east", "mid2>east2", "mid2>west2")] == [0.01, 0.0, 0.0]


def test_its_delay_can_be_an_axis() -> None:
    runs = _runs('network = "wire-dual"', 'second_delay = ["20ms", "200ms"]')
    assert [_states(run)["mid2>east2"]["delay_s"] for run in runs] == [0.02, 0.2]
    assert [run["id"] for run in runs] == [
        f"mptcp-cubic_second-delay-{delay}_rep-001" for delay in ("20ms", "200ms")
    ]


def test_one_line_has_no_second() -> None:
    with pytest.raises(UserError, match="a network with a second line, 'wire-dual'"):
        _runs('network = "wire"\nsecond_delay = "20ms"')
