"""`gauntlet geography`: what people and machines read, and what is refused."""

import json
from pathlib import Path

import pytest

from .conftest import Gauntlet, refused

CITIES = ("Oklahoma City", "Washington DC")
PAIR = ("paths", "os3e", "Seattle", "Atlanta")


def test_networks_are_listed_and_shown(gauntlet: Gauntlet) -> None:
    assert "nobel-eu" in gauntlet("geography", "show").stdout
    listed = json.loads(gauntlet("geography", "show", "--json").stdout)
    assert [it["network"] for it in listed] == ["us-fibre", "os3e", "nobel-eu"]
    shown = gauntlet("geography", "show", "os3e").stdout
    assert "34 nodes, 41 links" in shown
    assert "HotSDN" in shown
    data = json.loads(gauntlet("geography", "show", "os3e", "--json").stdout)
    assert (data["node_count"], len(data["nodes"]), len(data["links"])) == (34, 34, 41)
    assert data["nodes"][0] == {"node": "Albuquerque", "latitude": 35.08, "longitude": -106.65}


def test_the_diversity_of_a_network_is_computed_on_request(gauntlet: Gauntlet) -> None:
    data = json.loads(gauntlet("geography", "show", "nobel-eu", "--diversity", "--json").stdout)
    assert 0 < data["geodiversity"] < 1
    said = gauntlet("geography", "show", "nobel-eu", "--diversity").stdout
    assert f"Total graph geodiversity: {data['geodiversity']:.3f}" in said


def test_paths_are_found_with_what_a_challenge_does_to_each(gauntlet: Gauntlet) -> None:
    command = ("geography", "paths", "us-fibre", *CITIES, "--challenge", "nashville")
    data = json.loads(gauntlet(*command, "--json").stdout)
    assert (data["network"], data["method"], data["wanted"]) == ("US fibre", "iwpsp", 3)
    first = data["paths"][0]
    assert (first["nodes"][0], first["nodes"][-1]) == CITIES
    assert first["hops"] == len(first["nodes"]) - 1
    assert first["down"] == [{"from_s": it, "to_s": it + 20} for it in (60, 100)]
    assert "detours" not in first
    converging = json.loads(gauntlet(*command, "--converges-after", "5s", "--json").stdout)["paths"]
    assert [(it["from_s"], it["to_s"]) for it in converging[0]["detours"]] == [(65, 85), (105, 125)]
    assert converging[2]["detours"] == [], "never down"
    said = " ".join(gauntlet(*command, "--converges-after", "5s").stdout.split())
    for way in converging[0]["detours"]:
        assert f"{way['from_s']:.1f}–{way['to_s']:.1f} s: {' – '.join(way['nodes'])}" in said
    assert data["paths"][2]["down"] == [], "around by the north"
    shown = gauntlet(*command).stdout
    assert "60.0–80.0 s, 100.0–120.0 s" in shown
    assert "never" in shown
    assert " – ".join(first["nodes"]) in shown.replace("\n", " ")


def test_a_heuristic_that_finds_fewer_says_so(gauntlet: Gauntlet) -> None:
    shown = gauntlet("geography", "paths", "us-fibre", *CITIES, "--count", "4", "--apart-km", "400")
    assert shown.exit_code == 0
    said = "The heuristic iwpsp finds 1 of 4 paths; ask for fewer, for less distance, or take --method exact."
    assert said in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "us-fiber"), "did you mean 'us-fibre'"),
        (("show", "--diversity"), "name it"),
        (("paths", "os3e", "Seattle", "Atlantis"), "did you mean 'Atlanta'"),
        (("paths", "os3e", "Seattle", "seattle"), "both ends are 'Seattle'"),
        ((*PAIR, "--skew", "10"), "has no unit"),
        ((*PAIR, "--apart-km", "-1"), "distance of paths is -1"),
        ((*PAIR, "--challenge", "x"), "no challenge 'x'"),
        ((*PAIR, "--converges-after", "5s"), "add --challenge"),
        ((*PAIR, "--method", "disjoint", "--count", "4"), "node-disjoint"),
        ((*PAIR, "--count", "0"), "'--count': 0"),
        (("compare", "os3e", "--count", "0"), "'--count': 0"),
        ((*PAIR, "--method", "disjoint", "--apart-km", "1"), "keep no distance"),
        ((*PAIR, "--method", "exact", "--stretch-hops", "0", "--count", "9"), "no 9 paths"),
    ],
)
def test_what_cannot_be_is_one_sentence(gauntlet: Gauntlet, arguments: tuple[str, ...], words: str) -> None:
    refused(gauntlet("geography", *arguments), 2, words)


def test_heuristics_are_held_against_the_exact_search(gauntlet: Gauntlet) -> None:
    command = ("geography", "compare", "nobel-eu", "--stretch-hops", "2")
    data = json.loads(gauntlet(*command, "--json").stdout)
    assert [(it["method"], it["pairs"]) for it in data] == [("iwpsp", 378), ("mlw", 378)]
    for it in data:
        assert 0 < it["found"] <= it["there"] < 378
        assert it["longer"] >= 0
    shown = gauntlet(*command).stdout
    assert all(str(it["found"]) in shown for it in data)


def test_a_challenge_of_ones_own_is_a_file(gauntlet: Gauntlet, tmp_path: Path) -> None:
    own = tmp_path / "flood.toml"
    own.write_text(
        '[[circle]]\nmiddle = "Nashville"\nstage = [{ from = "1s", to = "2s", radius = "500km" }]\n'
    )
    command = ("geography", "paths", "us-fibre", *CITIES, "--challenge", str(own), "--json")
    found = json.loads(gauntlet(*command).stdout)["paths"]
    assert found[0]["down"] == [{"from_s": 1, "to_s": 2}]
    assert "can help" not in gauntlet(*command[:-1]).stdout
    own.write_text(own.read_text().replace("Nashville", "Washington DC"))
    assert "takes Washington DC itself, an end of the paths, at 1.0–2.0 s" in gauntlet(*command[:-1]).stdout


def test_paths_are_drawn_into_a_file(gauntlet: Gauntlet, tmp_path: Path) -> None:
    command = ("geography", "paths", "us-fibre", *CITIES, "--challenge", "nashville", "--out")
    gauntlet(*command, str(tmp_path / "map.svg"))
    drawn = (tmp_path / "map.svg").read_text()
    for words in ("Minneapolis", "path 3: never down", "100–120 s"):
        assert words in drawn
    assert "largest" not in drawn
    refused(gauntlet(*command, str(tmp_path / "map.html")), 2, ".svg, .png, .pdf")


def test_a_circle_that_grows_is_said_to_be_drawn_at_its_largest(gauntlet: Gauntlet, tmp_path: Path) -> None:
    stage = '{ from = "3s", to = "7s", radius = "20km", last_radius = "350km" }'
    (tmp_path / "own.toml").write_text(f'[[circle]]\nmiddle = "Nashville"\nstage = [{stage}]\n')
    command = ("geography", "paths", "us-fibre", *CITIES, "--challenge", str(tmp_path / "own.toml"))
    gauntlet(*command, "--out", str(tmp_path / "map.svg"))
    drawn = (tmp_path / "map.svg").read_text()
    assert "challenge own, circles that grow or shrink at their largest" in drawn
