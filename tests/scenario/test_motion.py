"""Motion of a train against kinematics worked out by hand, and rules that hold on every line."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.scenario.motion import Journey, Limit, Stop, journey, reversed_limits, reversed_stops


def test_trapezium() -> None:
    """72 km/h, 0.5 m/s2 up and 1 m/s2 down: 40 s and 400 m up, 20 s and 200 m down, 470 s between."""
    run = journey(10, [Limit(0, 10, 72)], [], 0.5, 1.0)
    assert run.arrival_s == pytest.approx(40 + 470 + 20)
    assert run.km_at(40) == pytest.approx(0.4, abs=1e-4)
    assert run.km_at(510) == pytest.approx(9.8, abs=1e-4)
    assert run.speed_at(20) == pytest.approx(36, abs=0.1)
    assert run.speed_kmh.max() == pytest.approx(72)


def test_triangle_where_the_limit_is_never_reached() -> None:
    """1 km with 1 m/s2 both ways: 2 x sqrt(1000) s, top speed sqrt(1000) m/s."""
    run = journey(1, [Limit(0, 1, 500)], [], 1.0, 1.0)
    assert run.arrival_s == pytest.approx(2 * 1000**0.5)
    assert run.speed_kmh.max() == pytest.approx(3.6 * 1000**0.5)


def test_brakes_before_a_lower_limit_and_speeds_up_after_it() -> None:
    run = journey(20, [Limit(0, 10, 180), Limit(10, 12, 36), Limit(12, 20, 180)], [], 0.5, 0.5)
    at = {round(km, 3): speed for km, speed in zip(run.km, run.speed_kmh, strict=True)}
    assert at[10.0] == pytest.approx(36)
    assert at[12.0] == pytest.approx(36)
    # From 50 to 10 m/s with 0.5 m/s2 takes 2.4 km.
    assert at[7.6] == pytest.approx(180)
    assert at[7.7] < 180


def test_stop_holds_the_train_and_delays_the_rest() -> None:
    through = journey(10, [Limit(0, 10, 72)], [], 0.5, 1.0)
    run = journey(10, [Limit(0, 10, 72)], [Stop(5.003, 60)], 0.5, 1.0)
    # Braking and starting again costs half of 20 s and of 40 s.
    assert run.arrival_s == pytest.approx(through.arrival_s + 60 + 10 + 20, abs=0.01)
    departs_s = run.time_at(5.003)
    assert run.km_at(departs_s) == run.km_at(departs_s - 60) == pytest.approx(5.003)
    assert run.km_at(departs_s - 61) < 5.003 < run.km_at(departs_s + 1)


@st.composite
def lines(draw: st.DrawFn) -> tuple[list[Limit], list[Stop], float, float]:
    lengths = draw(st.lists(st.floats(0.3, 8), min_size=1, max_size=6))
    borders = np.round(np.cumsum([0.0, *lengths]), 2).tolist()
    limits = [Limit(a, b, draw(st.floats(20, 300))) for a, b in itertools.pairwise(borders)]
    places = draw(st.lists(st.floats(0.1, 0.9), max_size=3, unique_by=lambda share: round(share, 1)))
    stops = [Stop(round(share, 1) * borders[-1], draw(st.floats(1, 900))) for share in sorted(places)]
    return limits, stops, draw(st.floats(0.2, 1.5)), draw(st.floats(0.2, 1.5))


def drive(line: tuple[list[Limit], list[Stop], float, float]) -> Journey:
    limits, stops, accel_mps2, brake_mps2 = line
    return journey(limits[-1].to_km, limits, stops, accel_mps2, brake_mps2)


@settings(max_examples=60, deadline=None)
@given(lines())
def test_every_journey_keeps_the_rules(line: tuple[list[Limit], list[Stop], float, float]) -> None:
    limits, stops, accel_mps2, brake_mps2 = line
    run = drive(line)
    assert np.all(np.diff(run.t_s) > 0)
    assert np.all(np.diff(run.km) >= 0)
    assert run.speed_kmh[0] == run.speed_kmh[-1] == 0
    for limit in limits:
        inside = (run.km >= limit.from_km) & (run.km <= limit.to_km)
        assert np.all(run.speed_kmh[inside] <= limit.limit_kmh + 1e-6)
    change_mps2 = np.diff(run.speed_kmh / 3.6) / np.diff(run.t_s)
    assert change_mps2.max() <= accel_mps2 * (1 + 1e-3)
    assert change_mps2.min() >= -brake_mps2 * (1 + 1e-3)
    waited_s = np.diff(run.t_s)[np.diff(run.km) == 0].sum()
    assert waited_s == pytest.approx(sum(stop.duration_s for stop in stops))


@settings(max_examples=40, deadline=None)
@given(lines())
def test_backward_with_swapped_rates_takes_as_long(
    line: tuple[list[Limit], list[Stop], float, float],
) -> None:
    limits, stops, accel_mps2, brake_mps2 = line
    length_km = limits[-1].to_km
    back = journey(
        length_km,
        reversed_limits(limits, length_km),
        reversed_stops(stops, length_km),
        brake_mps2,
        accel_mps2,
    )
    assert back.arrival_s == pytest.approx(drive(line).arrival_s, rel=1e-3)


@settings(max_examples=40, deadline=None)
@given(lines(), st.floats(0, 1))
def test_time_and_position_are_inverse(
    line: tuple[list[Limit], list[Stop], float, float], share: float
) -> None:
    run = drive(line)
    km = share * float(run.km[-1])
    assert run.km_at(run.time_at(km)) == pytest.approx(km, abs=1e-6)
