"""Parameters and names: units are read, and what cannot be is named in one sentence."""

from pathlib import Path

import pytest

from gauntlet.errors import UserError
from gauntlet.scenario import available, load_scenario


def test_units() -> None:
    params = {"rate": "2Mbit/s", "delay": "50ms", "loss": "1%", "queue_limit": "64kB", "duration": "10min"}
    scenario = load_scenario("constant", params)
    row = scenario.trace.at(0)
    assert (row.rate_up_bps, row.rate_down_bps) == (2e6, 2e6)
    assert (row.delay_up_s, row.delay_down_s) == (0.05, 0.05)
    assert (row.loss_up, row.loss_down, row.queue_limit_bytes) == (0.01, 0.01, 64_000)
    assert scenario.duration_s == 600
    assert scenario.max_rate_bps == 2e6


def test_plain_numbers_are_in_base_units() -> None:
    row = load_scenario("constant", {"rate": 2e6, "delay": 0.05, "loss": 0.01}).trace.at(1e6)
    assert (row.rate_up_bps, row.delay_up_s, row.loss_up) == (2e6, 0.05, 0.01)


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("hsr", {"bandwith": "5MHz"}, ["'hsr'", "'bandwith'", "bandwidth"]),
        ("hsr", {"bandwidth": "3MHz"}, ["'bandwidth'", "1.4, 5, 10, 20 MHz"]),
        ("hsr", {"bandwidth": "3 furlongs"}, ["'bandwidth'", "furlongs"]),
        ("hsr", {"radio": "gsm"}, ["'radio'", "'lte'", "'nr'"]),
        ("hsr", {"loss": "150%"}, ["'loss'"]),
        ("hsr", {"loss": -0.1}, ["'loss'"]),
        ("hsr", {"headway": 0}, ["'headway'"]),
        ("hsr", {"ip_scale": 0}, ["'ip_scale'"]),
        ("hsr", {"subcarriers": 0}, ["'subcarriers'"]),
        ("hsr", {"rank": "C"}, ["'hsr'", "'C'", "none"]),
        ("regional", {"rank": "P"}, ["'regional'", "'P'", "A, B, C"]),
        ("metro-a", {"bandwidth": "5MHz"}, ["'metro-a'", "'bandwidth'"]),
        ("constant", {"rate": "-5Mbit/s"}, ["'rate'", "-5Mbit/s"]),
        ("constant", {"rate": 0}, ["'rate'"]),
        ("constant", {"rate": float("nan")}, ["'rate'"]),
        ("constant", {"queue_limit": "0B"}, ["'queue_limit'"]),
        ("constant", {"delay": "5 parsecs"}, ["'delay'", "parsecs"]),
    ],
)
def test_a_bad_parameter_is_named(name: str, params: dict[str, object], words: list[str]) -> None:
    with pytest.raises(UserError) as refused:
        load_scenario(name, params)
    for word in words:
        assert word in str(refused.value)
    assert "\n" not in str(refused.value)


def test_unknown_scenario_names_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"'hrs'.*hsr, regional, metro-a, constant"):
        load_scenario("hrs")


def test_a_recorded_link_has_no_parameters(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no parameter 'loss'; its parameters are: none"):
        load_scenario(str(tmp_path / "x.csv"), {"loss": 0})


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_out_of_range(seed: int) -> None:
    with pytest.raises(UserError, match=f"Seed {seed}"):
        load_scenario("hsr", seed=seed)


def test_available_scenarios_load_with_the_parameters_they_show() -> None:
    found = available()
    satellites, planets = ["geo", "meo", "leo"], ["lunar", "mars"]
    assert [info.name for info in found] == [
        "hsr", "regional", "metro-a", "constant", *satellites, *planets
    ]  # fmt: skip
    for info in found:
        default, shown = load_scenario(info.name), load_scenario(info.name, info.params)
        assert shown.trace.table.equals(default.trace.table)
        assert shown.title == info.title


def test_rank_and_stop_change_the_journey() -> None:
    base = load_scenario("regional").duration_s
    assert load_scenario("regional", {"rank": "A"}).duration_s > base + 600
    assert load_scenario("regional", {"stop": "5min"}).duration_s == pytest.approx(base - 4 * 300)
