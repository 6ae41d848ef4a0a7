"""What is drawn of a challenge is what it does: whoever is in a circle then is down."""

import pytest

from gauntlet.geography import packaged, sphere
from gauntlet.geography.challenges import profiles
from gauntlet.geography.challenges.intervals import covers

NETWORK = packaged.load("us-fibre")


@pytest.mark.parametrize("name", profiles.RINGS)
def test_nodes_are_down_where_a_circle_is_drawn_over_them(name: str) -> None:
    down = profiles.outages(name, NETWORK)
    hit = 0
    for ring in profiles.RINGS[name]:
        # The last moment of a storm is its end, at which nothing is down any more.
        moment_s = ring.from_s if ring.from_s < ring.to_s else ring.from_s - 1e-6
        for node, place in NETWORK.nodes.items():
            apart_km = sphere.distance_km(ring.middle, place)
            if moment_s >= 20 and abs(apart_km - ring.radius_km) > 0.01:
                hit += apart_km < ring.radius_km
                assert covers(down.nodes.get(node, ()), moment_s) is (apart_km < ring.radius_km), (node, ring)
    assert hit > 3


def test_a_storm_is_drawn_from_its_first_fix_to_its_last() -> None:
    first, *_, last = profiles.MIDWEST.rings()
    for ring, fix in ((first, profiles.MIDWEST.fixes[0]), (last, profiles.MIDWEST.fixes[-1])):
        assert ring.from_s == ring.to_s == fix.at_s
        assert sphere.distance_km(ring.middle, fix.middle) < 0.01
