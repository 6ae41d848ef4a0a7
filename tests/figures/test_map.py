"""Networks on a map: every path and every circle is there, and no name lies over another one."""

import itertools
from typing import Any

import altair as alt
import pytest

from gauntlet.figures import map as drawing
from gauntlet.figures.look import INK
from gauntlet.figures.map import maps
from gauntlet.figures.map_words import FONT_PX, LETTER_PX
from gauntlet.figures.style import contrast, lightened
from gauntlet.geography import methods, packaged
from gauntlet.geography.challenges import profiles
from gauntlet.geography.challenges.challenge import Challenge
from gauntlet.geography.challenges.circle import Circle, Stage
from gauntlet.geography.challenges.outages import merged
from gauntlet.geography.sphere import Place
from gauntlet.geography.told import told
from gauntlet.geography.wanted import Wanted

NETWORK = packaged.load("us-fibre")


def spec(challenge: str | Challenge | None, converges_after_s: float | None = None) -> dict[str, Any]:
    sets = []
    for method in ("disjoint", "iwpsp"):
        found = methods.find(NETWORK, "Oklahoma City", "Washington DC", method, Wanted(3, 50.0))
        asked = profiles.challenge(challenge) if isinstance(challenge, str) else challenge
        sets.append((method, told(NETWORK, [it.path for it in found], asked, converges_after_s)))
    with alt.data_transformers.enable(consolidate_datasets=False):
        return dict(maps(sets[0][1]["network"], sets).to_dict())


def rows(part: dict[str, Any]) -> list[dict[str, Any]]:
    return list(part["data"]["values"])


def marks(shown: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Marks of a kind, without the paper around words."""
    found: list[dict[str, Any]] = []
    for part in shown.get("layer", []):
        found += marks(part, kind) if "layer" in part else [part] if part["mark"]["type"] == kind else []
    return [it for it in found if not is_paper(it)]


def is_paper(part: dict[str, Any]) -> bool:
    return bool(part["mark"]["type"] == "text" and part["mark"].get("stroke") == "white")


def test_each_set_has_its_paths_and_the_challenge_its_circles() -> None:
    shown = spec("nashville")
    assert [it["title"]["text"] for it in shown["vconcat"]] == ["disjoint", "iwpsp"]
    for one in shown["vconcat"]:
        circles, paths = marks(one, "line")
        assert {row["when"] for row in rows(circles)} == {"20–40 s", "60–80 s", "100–120 s"}
        assert {row["path"] for row in rows(paths)} == {"path 1", "path 2", "path 3"}
        strokes = paths["encoding"]
        assert len({str(it) for it in strokes["strokeDash"]["scale"]["range"]}) == 3
        assert len(set(strokes["color"]["scale"]["range"])) == 3
    assert shown["vconcat"][1]["title"]["subtitle"][-1] == "path 3: never down"
    assert shown["vconcat"][0]["title"]["subtitle"][-1] == "path 3: down 100–120 s"


def rgb(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


DARK_PAGE = "#12151a"
"""`--page` of the dark page (report.css)."""


@pytest.mark.parametrize("colour", sorted(drawing.COLOURS))
def test_every_mark_stands_out_from_a_light_page_and_from_a_dark_one(colour: str) -> None:
    """By 3 to 1, which WCAG 2.2, success criterion 1.4.11, asks of graphical objects."""
    assert contrast(rgb(colour), rgb("#ffffff")) >= 3
    assert contrast(rgb(lightened(colour)), rgb(DARK_PAGE)) >= 3


def test_every_colour_of_a_mark_is_one_that_a_dark_page_lightens() -> None:
    """Strokes and fills; words have the ink of the page."""
    known = drawing.COLOURS | {INK}
    for challenge in ("nashville", "cascade"):
        for kind in ("line", "rule", "point"):
            for part in marks(spec(challenge)["vconcat"][0], kind):
                own = {part["mark"].get(key) for key in ("color", "fill", "stroke")} - {None}
                named = set(part["encoding"].get("color", {}).get("scale", {}).get("range", []))
                assert own | named, part["mark"]
                assert own | named <= known
                assert part["mark"].get("opacity", 1) == 1


@pytest.mark.parametrize("challenge", [None, "nashville", "east-coast"])
def test_a_link_is_drawn_once_and_the_names_of_the_ends_lie_on_no_path(challenge: str | None) -> None:
    for one in spec(challenge)["vconcat"]:
        ways = next(it for it in marks(one, "line") if "path" in rows(it)[0])
        by_path: dict[str, list[tuple[float, float]]] = {}
        for row in rows(ways):
            by_path.setdefault(row["path"], []).append((row["x"], row["y"]))
        taken = {frozenset(pair) for way in by_path.values() for pair in itertools.pairwise(way)}
        others = next(it for it in marks(one, "rule") if "x2" in rows(it)[0] and "y2" in rows(it)[0])
        grey = {frozenset([(it["x"], it["y"]), (it["x2"], it["y2"])]) for it in rows(others)}
        assert len(grey | taken) == len(NETWORK.links)
        assert not grey & taken
        # Pixels from the lower left corner.
        scales = [ways["encoding"][axis]["scale"]["domain"] for axis in ("x", "y")]
        sizes = (one["width"], one["height"])

        def pixels(x: float, y: float, scales: Any = scales, sizes: Any = sizes) -> tuple[float, float]:
            first, second = (
                (it - low) / (high - low) * size
                for it, (low, high), size in zip((x, y), scales, sizes, strict=True)
            )
            return first, second

        for text in marks(one, "text"):
            mark = text["mark"]
            for row in rows(text):
                if row.get("node") not in ("Oklahoma City", "Washington DC"):
                    continue
                x, y = pixels(row["x"], row["y"])
                x, y = x + mark.get("dx", 0), y - mark.get("dy", 0)
                wide = LETTER_PX * len(row["node"])
                left = {"left": x, "right": x - wide}.get(mark.get("align", ""), x - wide / 2)
                low = {"top": y - FONT_PX, "bottom": y}.get(mark.get("baseline", ""), y - FONT_PX / 2)
                for way in by_path.values():
                    for (x1, y1), (x2, y2) in itertools.pairwise(pixels(*it) for it in way):
                        for step in range(1001):
                            at = (x1 + (x2 - x1) * step / 1000, y1 + (y2 - y1) * step / 1000)
                            assert not (left < at[0] < left + wide and low < at[1] < low + FONT_PX), row


def test_without_a_challenge_no_path_is_said_to_be_never_down() -> None:
    assert [it["title"].get("subtitle") or [] for it in spec(None)["vconcat"]] == [[], []]


@pytest.mark.parametrize("challenge", ["central", "cascade"])
def test_nodes_that_fail_one_by_one_are_crossed(challenge: str) -> None:
    (cross,) = [
        it for it in marks(spec(challenge)["vconcat"][0], "point") if it["mark"].get("shape") == "cross"
    ]
    assert {row["node"] for row in rows(cross)} == set(profiles.outages(challenge, NETWORK).nodes)


def test_a_kilometre_is_as_long_to_the_north_as_to_the_east() -> None:
    one = spec("nashville")["vconcat"][0]
    encoding = marks(one, "line")[1]["encoding"]
    km = [encoding[axis]["scale"]["domain"] for axis in ("x", "y")]
    assert (km[0][1] - km[0][0]) / one["width"] == pytest.approx(
        (km[1][1] - km[1][0]) / one["height"], rel=2e-3
    )


def test_no_name_lies_over_another_one() -> None:
    one = spec("nashville")["vconcat"][1]
    encoding = marks(one, "line")[1]["encoding"]
    low = [encoding[axis]["scale"]["domain"][0] for axis in ("x", "y")]
    high = [encoding[axis]["scale"]["domain"][1] for axis in ("x", "y")]
    named = []
    for part in marks(one, "text"):
        dx, dy = part["mark"].get("dx", 0), part["mark"].get("dy", 0)
        for row in rows(part):
            if "node" in row:
                x = (row["x"] - low[0]) / (high[0] - low[0]) * one["width"] + dx
                y = (high[1] - row["y"]) / (high[1] - low[1]) * one["height"] + dy
                wide = LETTER_PX * len(row["node"])
                left = {"left": x, "right": x - wide}.get(part["mark"].get("align", ""), x - wide / 2)
                named.append((row["node"], left, left + wide, y))
    assert {"Oklahoma City", "Washington DC", "Minneapolis"} <= {it[0] for it in named}
    for one_, other in itertools.combinations(named, 2):
        apart = one_[2] <= other[1] or other[2] <= one_[1] or abs(one_[3] - other[3]) >= FONT_PX
        assert apart, (one_, other)


def test_where_routing_converges_the_ways_taken_instead_are_drawn_and_said() -> None:
    first = spec("nashville", 5.0)["vconcat"][0]
    assert first["title"]["subtitle"][2:4] == [
        "path 2: down 60–80 s, 100–120 s",
        "– by other ways 65–85 s, 105–125 s",
    ]
    detours, between = [it for it in marks(first, "rule") if "when" in rows(it)[0]]
    said = {row["when"] for row in rows(detours)}
    assert "path 1: 25–45 s" in said, "over Louisville, while Nashville is down"
    every = "path 1: 105–125 s, path 2: 105–125 s, path 3: 105–125 s"
    assert every in said, "of the ways through Minneapolis all three take part"
    ways = next(it for it in marks(first, "line") if "path" in rows(it)[0])
    for row in rows(detours):
        assert ways["encoding"]["x"]["scale"]["domain"][0] <= row["x"], "what is taken is within the picture"
    # A path keeps its colour between the two lines, on paper of its own.
    assert detours["mark"]["strokeWidth"] > between["mark"]["strokeWidth"]
    assert between["mark"]["strokeWidth"] > max(ways["encoding"]["strokeWidth"]["scale"]["range"])
    assert between["mark"]["color"] == "white"
    assert rows(between) == rows(detours)
    order = [first["layer"].index(it) for it in (detours, between, ways)]
    assert order == sorted(order)
    assert "other ways" in [it["encoding"].get("shape", {}).get("scale", {}).get("domain", [""])[0]
                            for it in marks(first, "point")]  # fmt: skip
    still = spec("nashville")["vconcat"][0]
    assert not [it for it in marks(still, "rule") if "when" in rows(it)[0]]


def own(*circles: Circle) -> Challenge:
    """A challenge of these circles."""
    rings = [ring for it in circles for ring in it.rings()]
    return Challenge("own", lambda network: merged(network, [it.outages(network) for it in circles]), rings)


NASHVILLE, ST_LOUIS = Place(36.16, -86.78), Place(38.63, -90.2)


def test_circles_of_the_same_times_are_circles_of_their_own() -> None:
    both = own(*(Circle(middle, [Stage(20, 40, 100.0)]) for middle in (NASHVILLE, ST_LOUIS)))
    circles = marks(spec(both)["vconcat"][0], "line")[0]
    assert circles["encoding"]["detail"]["field"] == "ring"
    assert {row["ring"] for row in rows(circles)} == {0, 1}
    assert {row["when"] for row in rows(circles)} == {"20–40 s"}


def test_stages_that_come_as_far_are_one_circle_with_its_times() -> None:
    again = own(
        Circle(NASHVILLE, [Stage(20, 40, 0.0, 100.0), Stage(40, 50, 100.0, 0.0), Stage(60, 70, 100.0)])
    )
    one = spec(again)["vconcat"][0]
    assert {row["ring"] for row in rows(marks(one, "line")[0])} == {0}
    assert [row["when"] for part in marks(one, "text") for row in rows(part) if "when" in row] == [
        "20–50 s, 60–70 s"
    ]


def test_what_is_said_of_a_path_has_room_on_a_narrow_page() -> None:
    often = own(Circle(NASHVILLE, [Stage(at + 0.25, at + 6.5, 500.0) for at in range(20, 200, 10)]))
    said = spec(often, 0.01)["vconcat"][0]["title"]["subtitle"]
    assert max(map(len, said)) <= 65
    assert sum("down" in line for line in said) == 3
    assert sum("by other ways" in line for line in said) > 0
    joined = " ".join(said)
    assert all(f"{at}.2–{at + 6}.5 s" in joined for at in range(20, 200, 10))


def test_ways_that_follow_upon_each_other_are_said_as_one_time() -> None:
    first = drawing._said(
        "path 1", {"down": [], "detours": [{"from_s": 1, "to_s": 2}, {"from_s": 2, "to_s": 3}]}
    )
    assert first == ["path 1: never down", "– by other ways 1–3 s"]
    short = drawing._said("path 1", {"down": [(1.01, 1.02)]})
    assert short == ["path 1: down 1 s"]


def test_words_have_paper_around_their_letters_and_stand_above_the_lines() -> None:
    for challenge in ("nashville", "cascade"):
        one = spec(challenge, 5.0)["vconcat"][0]
        ways = next(it for it in marks(one, "line") if "path" in rows(it)[0])
        for words in marks(one, "text"):
            place = one["layer"].index(words)
            paper = one["layer"][place - 1]
            assert is_paper(paper)
            assert (rows(paper), paper["encoding"]) == (rows(words), words["encoding"])
            assert place > one["layer"].index(ways)


def test_a_path_has_no_spikes_where_it_turns_sharply() -> None:
    ways = next(it for it in marks(spec(None)["vconcat"][0], "line") if "path" in rows(it)[0])
    assert ways["mark"]["strokeJoin"] == "round"
