"""Other trains: none that is on the line is forgotten, none is there twice."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.scenario.motion import Limit, journey
from gauntlet.scenario.traffic import trains

LENGTH_KM = 30.0
SLOW = journey(LENGTH_KM, [Limit(0, LENGTH_KM, 60)], [], 0.5, 0.5)
FAST = journey(LENGTH_KM, [Limit(0, LENGTH_KM, 180)], [], 0.5, 0.5)


@settings(max_examples=80, deadline=None)
@given(st.floats(60, 4000), st.floats(0, 5000), st.booleans())
def test_all_trains_on_the_line_during_the_journey_and_no_others(
    headway_s: float, lag_s: float, reference_is_slow: bool
) -> None:
    reference, other = (SLOW, FAST) if reference_is_slow else (FAST, SLOW)
    expected = []
    for number in range(-200, 201):
        for is_outbound, run, first_s in ((True, reference, 0.0), (False, other, lag_s)):
            departure_s = first_s + number * headway_s
            if departure_s < reference.arrival_s and departure_s + run.arrival_s > 0:
                expected.append((round(departure_s, 6), is_outbound))
    found = trains(reference, other, headway_s, lag_s, LENGTH_KM)
    assert sorted((round(train.departure_s, 6), train.outbound) for train in found) == sorted(expected)
    assert (found[0].departure_s, found[0].outbound) == (0, True)


def test_positions_of_both_directions() -> None:
    found = trains(FAST, SLOW, 600, 100, LENGTH_KM)
    back = next(train for train in found if not train.outbound and train.departure_s == 100)
    assert back.km_at(100) == LENGTH_KM
    assert back.km_at(100 + SLOW.arrival_s) == pytest.approx(0)
    enter_s, leave_s = back.inside_s(10, 12)
    assert back.km_at(enter_s) == pytest.approx(12)
    assert back.km_at(leave_s) == pytest.approx(10)
    # 2 km at 60 km/h
    assert leave_s - enter_s == pytest.approx(120)
