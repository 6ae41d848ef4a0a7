"""`gauntlet.scenario`: a link over time as one table, though a package has the same name."""

import math

import pytest

import gauntlet
from gauntlet.errors import UserError
from gauntlet.scenario import load_scenario


def test_it_is_the_trace_with_the_end_of_each_row() -> None:
    table = gauntlet.scenario("hsr", seed=3, bandwidth="5MHz").arrow
    loaded = load_scenario("hsr", {"bandwidth": "5MHz"}, 3)
    trace = loaded.trace.table
    assert table.select(trace.column_names).equals(trace)
    assert set(table["bearer"].to_pylist()) == set(loaded.bearers)
    until_s = table["until_s"].to_pylist()
    assert until_s == [*trace["t_s"].to_pylist()[1:], loaded.duration_s]


def test_parameters_and_seed_matter() -> None:
    first = gauntlet.scenario("hsr").arrow
    assert not first.equals(gauntlet.scenario("hsr", bandwidth="5MHz").arrow)
    assert not first.equals(gauntlet.scenario("hsr", seed=2).arrow)
    assert first.equals(gauntlet.scenario("hsr", seed=1).arrow)


def test_a_link_without_an_end_says_so() -> None:
    assert math.isinf(load_scenario("constant", {"rate": "2Mbit/s"}).duration_s)
    (row,) = gauntlet.scenario("constant", rate="2Mbit/s").arrow.to_pylist()
    assert (row["t_s"], row["until_s"], row["rate_up_bps"]) == (0.0, None, 2e6)


def test_what_cannot_be_is_one_sentence() -> None:
    with pytest.raises(UserError, match="no scenario 'hrs'"):
        gauntlet.scenario("hrs")
