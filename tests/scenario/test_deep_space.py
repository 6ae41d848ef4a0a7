"""Links to the Moon and to Mars: light's time over cited distances, contacts, conjunction."""

from itertools import pairwise

import pytest

from gauntlet.errors import UserError
from gauntlet.scenario import load_scenario


@pytest.mark.parametrize(
    ("name", "params", "one_way_s"),
    [
        ("lunar", {}, 1.2822),
        ("lunar", {"distance": "farthest"}, 1.3526),
        ("mars", {"distance": "nearest"}, 182.13),
        ("mars", {}, 750.52),
        ("mars", {"distance": "farthest"}, 1338.93),
        ("mars", {"distance": "100000000 km"}, 333.56),
        ("mars", {"delay": "5d"}, 432_000.0),
    ],
)
def test_delays_are_light_s(name: str, params: dict[str, object], one_way_s: float) -> None:
    row = load_scenario(name, params).trace.at(0)
    assert (row.delay_up_s, row.delay_down_s) == pytest.approx((one_way_s, one_way_s), rel=1e-4)


def test_nothing_passes_out_of_contact_and_behind_the_sun() -> None:
    link = load_scenario("mars", {"contacts": "1h-9h, 25h-33h", "conjunction": "27h-28h", "duration": "40h"})
    for hour, loss in [
        (0, 1),
        (1, 0),
        (8.9, 0),
        (9, 1),
        (24, 1),
        (26, 0),
        (27, 1),
        (28, 0),
        (33, 1),
        (39, 1),
    ]:
        row = link.trace.at(hour * 3600)
        assert (row.loss_up, row.loss_down) == (loss, loss), hour
    times = link.trace.column("t_s")
    assert all(before < after for before, after in pairwise(times))


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"distance": "near"}, "cannot be 'near': write nearest, mean, farthest or kilometres"),
        ({"distance": "9e9 km"}, "it is from 54,600,000 to 401,400,000 km; give 'delay' for another"),
        ({"distance": "mean", "delay": "5min"}, "both 'distance' and 'delay'; keep one"),
        ({"contacts": "2h-1h"}, "ends before it begins"),
    ],
)
def test_mistakes_are_sentences(params: dict[str, object], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        load_scenario("mars", params)
