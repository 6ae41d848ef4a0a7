"""What is said of a challenge that may not be meant."""

import pytest

from gauntlet.geography import methods, packaged
from gauntlet.geography.challenges.challenge import Challenge
from gauntlet.geography.challenges.circle import Circle, Stage
from gauntlet.geography.remarks import remarks
from gauntlet.geography.told import told
from gauntlet.geography.wanted import Wanted

NETWORK = packaged.load("nobel-eu")


def said(city: str, until_s: float | None = None) -> list[str]:
    """Of a circle around a city, over paths from Paris to Budapest."""
    circle = Circle(NETWORK.nodes[city], [Stage(20, 40, 30.0), Stage(60, 80, 30.0)])
    found = methods.find(NETWORK, "Paris", "Budapest", "disjoint", Wanted(2, 0.0))
    shown = told(NETWORK, [it.path for it in found], Challenge("own", circle.outages))
    return remarks(shown["paths"], shown["challenge"], until_s)


@pytest.mark.parametrize(
    ("city", "until_s", "words"),
    [
        ("Munich", None, []),
        ("Munich", 30.0, []),
        (
            "Budapest",
            30.0,
            [
                "The challenge 'own' takes Budapest itself, an end of the paths, at 20.0–40.0 s; "
                "no path can help then."
            ],
        ),
        ("Rome", None, ["The challenge 'own' takes no node and no link of these paths."]),
        (
            "Budapest",
            12.5,
            [
                "The challenge 'own' takes nothing of the paths before 20.0 s, and the runs were over at "
                "12.5 s."
            ],
        ),
    ],
)
def test_a_challenge_that_takes_an_end_or_nothing_is_told(
    city: str, until_s: float | None, words: list[str]
) -> None:
    assert said(city, until_s) == words
