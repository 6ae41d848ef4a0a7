"""Traces: what is refused, and that windows show the same link as the whole."""

import dataclasses
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.errors import UserError
from gauntlet.scenario import Scenario, Trace
from gauntlet.scenario.trace import SCHEMA

GOOD: dict[str, list[object]] = {
    "t_s": [0.0, 1.0, 2.5],
    "rate_up_bps": [1e6, 2e6, 3e6],
    "rate_down_bps": [4e6, 5e6, 6e6],
    "delay_up_s": [0.01, 0.02, 0.03],
    "delay_down_s": [0.04, 0.05, 0.06],
    "loss_up": [0.0, 0.1, 1.0],
    "loss_down": [0.0, 0.0, 0.0],
    "queue_limit_bytes": [1000, 2000, 3000],
}


def trace(**changed: list[object]) -> Trace:
    return Trace.from_columns({**GOOD, **changed}, 10.0, "x.csv")


def test_columns_are_those_of_the_format() -> None:
    assert trace().table.schema == SCHEMA
    assert trace().table.column("cell").null_count == 3


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("t_s", [0.0, 2.0, 2.0], ["row 3", "rise strictly"]),
        ("t_s", [0.0, 2.0, 1.0], ["row 3", "rise strictly"]),
        ("t_s", [0.5, 1.0, 2.0], ["row 1", "first must be 0"]),
        ("rate_up_bps", [1e6, 0.0, 1e6], ["row 2", "at least 1 bit/s"]),
        ("rate_down_bps", [1e6, 1e6, -5.0], ["row 3", "at least 1 bit/s"]),
        ("delay_up_s", [-0.01, 0.0, 0.0], ["row 1", "0 or more"]),
        ("delay_down_s", [0.0, math.nan, 0.0], ["row 2", "finite"]),
        ("loss_up", [0.0, 0.0, 1.01], ["row 3", "fraction"]),
        ("loss_down", [0.0, -0.1, 0.0], ["row 2", "fraction"]),
        ("queue_limit_bytes", [1, 0, 1], ["row 2", "above 0"]),
        ("rate_up_bps", [1e6, None, 1e6], ["row 2", "finite"]),
    ],
)
def test_a_bad_value_is_named_with_its_row_and_column(
    column: str, values: list[object], words: list[str]
) -> None:
    with pytest.raises(UserError) as refused:
        trace(**{column: values})
    for word in ["x.csv", f"'{column}'", *words]:
        assert word in str(refused.value)


def test_missing_and_unknown_columns_are_named() -> None:
    with pytest.raises(UserError, match="lacks the column 'loss_up'"):
        Trace(pa.table({key: values for key, values in GOOD.items() if key != "loss_up"}), 10.0, "x.csv")
    with pytest.raises(UserError, match="unknown column 'los_up'"):
        Trace(pa.table({**GOOD, "los_up": [0.0, 0.0, 0.0]}), 10.0, "x.csv")


def test_no_rows_and_an_end_before_the_last_row() -> None:
    with pytest.raises(UserError, match="no rows"):
        Trace(pa.table(GOOD).slice(0, 0), 10.0, "x.csv")
    with pytest.raises(UserError, match="must end later"):
        Trace(pa.table(GOOD), 2.5, "x.csv")


def test_at_finds_the_row_in_force() -> None:
    assert [trace().at(t_s).rate_up_bps for t_s in (0.0, 0.999, 1.0, 2.4, 2.5, 10.0)] == [
        1e6, 1e6, 2e6, 2e6, 3e6, 3e6,
    ]  # fmt: skip
    for t_s in (-0.1, 10.1):
        with pytest.raises(UserError, match="runs from 0 to 10 s"):
            trace().at(t_s)


@pytest.mark.parametrize(("start_s", "duration_s"), [(-1, 2), (9, 2), (3, 0), (3, -1)])
def test_a_window_must_be_inside(start_s: float, duration_s: float) -> None:
    with pytest.raises(UserError, match="runs from 0 to 10 s"):
        trace().window(start_s, duration_s)


def test_a_trace_without_end_can_be_cut_anywhere() -> None:
    cut = Trace.from_columns(GOOD, math.inf, "x").window(1e6, 5)
    assert cut.table.num_rows == 1
    assert cut.at(5).rate_up_bps == 3e6


@settings(max_examples=150, deadline=None)
@given(st.floats(0, 0.999), st.floats(0.001, 1), st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_a_window_shows_the_same_link(hsr: Scenario, start: float, part: float, places: list[float]) -> None:
    whole = hsr.trace
    start_s = start * whole.end_s
    duration_s = max(part * (whole.end_s - start_s), 1e-3)
    cut = whole.window(start_s, duration_s)
    t_s = cut.column("t_s")
    assert t_s[0] == 0
    assert np.all(np.diff(t_s) > 0)
    assert t_s[-1] < cut.end_s == duration_s
    for place in places:
        instant_s = min(start_s + place * duration_s, whole.end_s)
        # Within rounding of a border either row is right.
        if np.abs(whole.column("t_s") - instant_s).min() > 1e-6:
            in_cut = cut.at(place * duration_s)
            assert dataclasses.replace(in_cut, t_s=0.0) == dataclasses.replace(whole.at(instant_s), t_s=0.0)


def test_window_of_a_window_is_a_window(hsr: Scenario) -> None:
    direct = hsr.trace.window(1500, 100)
    nested = hsr.trace.window(1000, 1000).window(500, 100)
    assert nested.column("t_s") == pytest.approx(direct.column("t_s"), abs=1e-6)
    assert nested.table.drop_columns(["t_s"]).equals(direct.table.drop_columns(["t_s"]))


def test_mean_weighs_rows_with_their_time() -> None:
    assert trace().mean("rate_up_bps") == pytest.approx((1 * 1e6 + 1.5 * 2e6 + 7.5 * 3e6) / 10)
    assert trace().mean("rate_up_bps", 0.5, 1.5) == pytest.approx(1.5e6)
