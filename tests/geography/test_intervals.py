"""Sets of moments: unions and intersections against moments one by one."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gauntlet.geography.challenges.intervals import Intervals, covers, intersection, length_s, union

Pairs = list[tuple[int, int]]
SETS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=5)
MOMENTS = [it / 2 for it in range(-1, 43)]


@given(SETS, SETS)
def test_unions_have_the_moments_of_either(first: Pairs, second: Pairs) -> None:
    found = union(first, second)
    for moment in MOMENTS:
        assert covers(found, moment) == any(start <= moment < end for start, end in [*first, *second])
    assert all(one[1] < other[0] for one, other in pairwise(found))
    assert all(start < end for start, end in found)


@given(SETS, SETS, SETS)
def test_intersections_have_the_moments_of_all(first: Pairs, second: Pairs, third: Pairs) -> None:
    sets: list[Intervals] = [union(it) for it in (first, second, third)]
    found = intersection(*sets)
    for moment in MOMENTS:
        assert covers(found, moment) == all(covers(it, moment) for it in sets)


def test_lengths_add_up() -> None:
    assert length_s(union([(0, 2), (1, 3), (5, 6)])) == 4
    assert length_s(()) == 0
