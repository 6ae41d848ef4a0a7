"""Colours of protocols that an experiment of ours plays side by side are told apart, on a light page and on a
dark one.
"""

import itertools
import math
import tomllib
from pathlib import Path

import pytest

from gauntlet.figures.look import PALETTE as OF_VALUES
from gauntlet.figures.palette import PALETTE
from gauntlet.figures.style import lightened

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("experiments/*.toml"), *ROOT.glob("studies/*/experiments/*.toml")])
ENOUGH = 0.08
"""Of OKLab's distance (Ottosson, A perceptual color space for image processing, 2020), in which the blues of
ResTP and s2n-quic that looked alike were 0.06 apart, and those of ResTP and TCP 0.03.
"""


def oklab(colour: str) -> tuple[float, float, float]:
    """An sRGB colour in OKLab."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (it / 12.92 if it <= 0.04045 else ((it + 0.055) / 1.055) ** 2.4 for it in parts)
    long, middle, short = (
        (of_red * red + of_green * green + of_blue * blue) ** (1 / 3)
        for of_red, of_green, of_blue in (
            (0.4122214708, 0.5363325363, 0.0514459929),
            (0.2119034982, 0.6806995451, 0.1073969566),
            (0.0883024619, 0.2817188376, 0.6299787005),
        )
    )
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def distance(one: str, other: str) -> float:
    """How far two colours are apart, of the two pages where they are nearer."""
    return min(
        math.dist(oklab(this), oklab(that))
        for this, that in ((one, other), (lightened(one), lightened(other)))
    )


def played(file: Path) -> set[str]:
    """The protocols of an experiment that have a colour of their own."""
    entries = tomllib.loads(file.read_text(encoding="utf-8")).get("matrix", {}).get("protocols", [])
    return {protocol for entry in entries for protocol in entry.split("+")} & PALETTE.keys()


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_protocols_of_an_experiment_are_told_apart(file: Path) -> None:
    alike = [
        (one, other)
        for one, other in itertools.combinations(sorted(played(file)), 2)
        if distance(PALETTE[one].colour, PALETTE[other].colour) < ENOUGH
    ]
    assert not alike


def test_colours_of_other_series_are_told_apart() -> None:
    assert min(distance(*pair) for pair in itertools.combinations(OF_VALUES, 2)) >= ENOUGH


def test_two_blues_that_look_alike_are_seen_as_such() -> None:
    assert distance("#2166AC", "#4477AA") < ENOUGH < distance("#000000", "#666666")


@pytest.mark.parametrize(("plain", "secured"), [("tcp-cubic", "tls-cubic"), ("tcp-bbr", "tls-bbr")])
def test_a_transport_and_the_same_one_under_tls_are_told_apart_by_more_than_colour(
    plain: str, secured: str
) -> None:
    """In a plot of four lines two oranges, both dashed and with squares, were hardly two."""
    one, other = PALETTE[plain], PALETTE[secured]
    assert distance(one.colour, other.colour) > 0.11
    assert one.marker != other.marker
    assert one.dash != other.dash


def test_no_two_protocols_have_one_colour() -> None:
    colours = [drawn.colour for drawn in PALETTE.values()]
    assert sorted(colours) == sorted(set(colours))
