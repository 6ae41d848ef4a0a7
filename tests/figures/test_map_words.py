"""Where words stand on a map: on a side that is free, off lines, and where they are seen."""

import numpy as np
import pytest

from gauntlet.figures.map_words import ON_LINK, ON_PATH, SIDES, Room, View, meets

WORDS = "St. Louis"
MIDDLE = np.array([500.0, 500.0])


def room() -> Room:
    """Of a square of 1,000 km, 600 pixels wide, with nothing on it."""
    corners = [np.array([x, y]) for x in (0.0, 1000.0) for y in (0.0, 1000.0)]
    return Room(View(corners, [], 600, (200, 600)))


def test_the_first_side_is_taken_where_nothing_is_in_the_way() -> None:
    assert room().side(MIDDLE, WORDS) == next(iter(SIDES))


def test_words_never_lie_over_other_words_while_a_side_is_free() -> None:
    its = room()
    # A line through all sides but one that is taken already: the taken one would cost least.
    below = its.view.box(MIDDLE, WORDS, "below")
    its.taken.append(below)
    for side in SIDES:
        left, right, top, bottom = its.view.box(MIDDLE, WORDS, side)
        if side != "below":
            its.line([its.view.km(left, top), its.view.km(right, bottom)], ON_PATH)
    found = its.side(MIDDLE, WORDS)
    assert found is not None
    assert not meets(its.view.box(MIDDLE, WORDS, found), [below])


@pytest.mark.parametrize("always", [False, True])
def test_words_without_room_are_left_out_unless_they_have_to_stand(always: bool) -> None:
    its = room()
    x, y = its.view.pixels(MIDDLE)
    its.taken.append((x - 200, x + 200, y - 200, y + 200))
    assert (its.side(MIDDLE, WORDS, always=always) is None) is not always


def test_words_take_their_room() -> None:
    its = room()
    sides = [its.side(MIDDLE, WORDS) for _ in range(len(SIDES) + 1)]
    there = [side for side in sides if side is not None]
    boxes = [its.view.box(MIDDLE, WORDS, side) for side in there]
    assert len(there) > 1
    assert sides[-1] is None
    assert not any(meets(box, boxes[:place]) for place, box in enumerate(boxes))


def test_of_the_free_sides_the_one_over_the_cheapest_lines_is_taken() -> None:
    its = room()
    west, east, south, north = (
        MIDDLE + np.array(it) for it in ((-400.0, 0.0), (400.0, 0.0), (0.0, -400.0), (0.0, 400.0))
    )
    # A path to the south, and a link of no path to the north and to either side.
    its.line([MIDDLE, south], ON_PATH)
    for end in (north, west, east):
        its.line([MIDDLE, end], ON_LINK)
    assert its.side(MIDDLE, WORDS) in ("below-right", "below-left", "above-right", "above-left")
    again = room()
    again.line([MIDDLE, south], ON_PATH)
    assert again.side(MIDDLE, WORDS) == "above"


def test_words_stay_within_what_is_seen() -> None:
    its = room()
    at_the_bottom = its.view.km(300.0, its.view.height - 6.0)
    side = its.side(at_the_bottom, WORDS)
    assert side is not None
    assert its.view.sees(its.view.box(at_the_bottom, WORDS, side))


def test_the_ruler_moves_where_its_corner_is_taken() -> None:
    free, busy = room(), room()
    first = free.corner(80.0, 20.0)
    busy.taken.append((first[0], first[0] + 80.0, first[1] - 20.0, first[1]))
    assert first[0] < free.view.width / 2 < first[1]
    assert busy.corner(80.0, 20.0) != first


def test_words_of_circles_at_one_place_stand_beside_each_other() -> None:
    its = room()
    turns = np.linspace(0.0, 2 * np.pi, 73)
    for radius_km in (10.0, 15.0, 20.0, 25.0):
        ring = MIDDLE + radius_km * np.stack([np.sin(turns), np.cos(turns)], axis=1)
        its.inside(ring, "103–107 s")
    for place, box in enumerate(its.taken):
        assert not meets(box, its.taken[:place])
        assert its.view.sees(box)
