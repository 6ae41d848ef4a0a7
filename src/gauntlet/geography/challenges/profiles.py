"""Challenges by name: the three profiles of the dissertation behind ResTP, and two that it has not.

T. A. N. Nguyen (2021), section 4.6.1, tells of a region around Nashville at 20-40, 60-80 and 100-120 s that
is larger each time, of a storm from the southwest to the northeast of the Midwest, and of a hurricane on the
East Coast; radii and ways are in its figures 4.15 and 4.16 only. What is not told is chosen here and said so.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from gauntlet.errors import UserError
from gauntlet.geography.challenges.attack import Attack
from gauntlet.geography.challenges.cascade import Cascade
from gauntlet.geography.challenges.challenge import Challenge
from gauntlet.geography.challenges.circle import Circle, Stage
from gauntlet.geography.challenges.outages import Outages
from gauntlet.geography.challenges.ring import Ring
from gauntlet.geography.challenges.storm import Fix, Storm
from gauntlet.geography.network import Network
from gauntlet.geography.sphere import Place

NASHVILLE = Circle(Place(36.16, -86.78), (Stage(20, 40, 100.0), Stage(60, 80, 300.0), Stage(100, 120, 500.0)))
"""The study's cascading profile: moments and middle are its own, the radii are chosen."""

MIDWEST = Storm(
    (Fix(20, Place(35.47, -97.52), 150.0), Fix(120, Place(41.88, -87.63), 150.0)),
)
"""A super storm from the southwest to the northeast, here from Oklahoma City to Chicago; it is chosen."""

_S_PER_HOUR = 4.0
EAST_COAST = Storm(
    tuple(
        Fix(20 + hours * _S_PER_HOUR, middle, 148.0)
        for hours, middle in (
            (0.0, Place(34.7, -76.5)),
            (21.0 + 35 / 60, Place(39.4, -74.4)),
            (25.0, Place(40.6, -74.0)),
        )
    )
)
"""A hurricane on the East Coast: the landfalls of Irene, 2011 (near Cape Lookout at 12:00 UTC on 27 August,
at Brigantine at 9:35 and on Coney Island at 13:00 on the next day), an hour in 4 s. Hurricane-force winds
reached 80 nautical miles east of its middle at the first one (National Hurricane Center, AL092011); this
radius is kept, though it was a tropical storm at the other two. That an hour takes 4 s is chosen.
"""

PROFILES: Mapping[str, Callable[[Network], Outages]] = MappingProxyType(
    {
        "nashville": NASHVILLE.outages,
        "midwest": MIDWEST.outages,
        "east-coast": EAST_COAST.outages,
        "central": Attack(count=3, from_s=20, to_s=120, every_s=20, again=True).outages,
        "cascade": lambda network: Cascade(
            first=Attack(count=1, from_s=20, to_s=120).targets(network),
            tolerance=0.5,
            from_s=20,
            round_s=20,
            to_s=120,
        ).outages(network),
    }
)
"""What `gauntlet geography` knows by name. The last two fit any network: the three most central nodes fall
20 s after one another, and the most central one takes others with it.
"""

RINGS: Mapping[str, Sequence[Ring]] = MappingProxyType(
    {"nashville": NASHVILLE.rings(), "midwest": MIDWEST.rings(), "east-coast": EAST_COAST.rings()}
)
"""Those that have a shape, to draw."""


def challenge(named: str) -> Challenge:
    """A challenge by its name. Raises UserError naming the nearest."""
    if named in PROFILES:
        anywhere = ", ".join(name for name in PROFILES if name not in RINGS)
        return Challenge(
            named, PROFILES[named], RINGS.get(named, ()), f"those that fit any network are {anywhere}"
        )
    close = difflib.get_close_matches(named, PROFILES, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(PROFILES)}."
    raise UserError(f"There is no challenge '{named}'; {hint}")


def outages(named: str, network: Network) -> Outages:
    """What a challenge does to a network. Raises UserError naming the nearest, and for one that passes by."""
    return challenge(named).outages(network)
