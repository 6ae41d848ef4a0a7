"""Pages: the generated ones have the published shape, and lists of one's own are read or refused."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from gauntlet.errors import UserError
from gauntlet.experiment import pages
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import parse_experiment
from gauntlet.experiment.plans import plan_run

INITIAL_WINDOW_BYTES = 10 * 1448
"""What a server sends before the first acknowledgement (RFC 6928)."""


def sizes(name: str) -> list[int]:
    return [file.size_bytes for file in pages.generated(name)]


def round_trips(name: str) -> int:
    """Over a new TCP connection for each file: one to open it, then those in which its window doubles."""
    return sum(1 + max(1, math.ceil(math.log2(size / INITIAL_WINDOW_BYTES + 1))) for size in sizes(name))


def test_the_kepler_page_has_the_published_shape() -> None:
    kepler = sizes("kepler")
    assert sum(kepler) == 1_000_000
    assert kepler[0] == 17_000
    assert sum(size < 1_000 for size in kepler) == 26
    assert kepler.count(125_000) == 3
    assert len(kepler) == 66


def test_the_newspaper_page_has_the_published_shape() -> None:
    newspaper = sizes("newspaper")
    assert sum(newspaper) == 5_000_000
    assert newspaper[0] == 580_000
    assert min(newspaper) >= 1_000
    assert 300_000 < max(newspaper[1:]) < 500_000
    assert len(newspaper) == 139


@pytest.mark.parametrize(("name", "at_25_ms_s", "at_150_ms_s"), [("kepler", 10, 50), ("newspaper", 38, 135)])
def test_round_trips_explain_what_delay_adds_in_the_study(
    name: str, at_25_ms_s: float, at_150_ms_s: float
) -> None:
    explained_s = round_trips(name) * 2 * (0.150 - 0.025)
    assert explained_s == pytest.approx(at_150_ms_s - at_25_ms_s, rel=0.03)


@pytest.mark.parametrize("name", pages.RECIPES)
def test_a_generated_page_is_always_the_same(name: str) -> None:
    assert pages.generated(name) == pages.generated(name)
    names = [file.name for file in pages.generated(name)]
    assert len(set(names)) == len(names)


def test_lists_in_toml_and_csv_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        '[[object]]\nname = "index.htm"\nsize_bytes = 17\n[[object]]\nname = "b c"\nsize_bytes = 0\n'
    )
    (tmp_path / "a.csv").write_text("name,size_bytes\nindex.htm,17\nb c,0\n")
    expected = (pages.PageObject("index.htm", 17), pages.PageObject("b c", 0))
    assert pages.load("a.toml", tmp_path) == pages.load("a.csv", tmp_path) == expected


def har_entry(url: str, status: int = 200, **sizes: int) -> dict[str, Any]:
    content = {"size": sizes.pop("content")} if "content" in sizes else {}
    return {"request": {"url": url}, "response": {"status": status, "content": content, **sizes}}


def har(folder: Path, *entries: dict[str, Any]) -> str:
    (folder / "page.har").write_text(json.dumps({"log": {"entries": entries}}))
    return "page.har"


def test_a_har_file_gives_what_crossed_the_line(tmp_path: Path) -> None:
    name = har(
        tmp_path,
        har_entry("https://a.example/", content=9000, bodySize=3000, _transferSize=3200),
        har_entry("https://a.example/img/logo.png?v=3", content=700, bodySize=-1, _transferSize=800),
        har_entry("data:image/png;base64,AA", content=1),
        har_entry("https://b.example/x.css", content=500, bodySize=0),
        har_entry("https://b.example/moved", status=301, content=0, bodySize=0),
    )
    assert [(file.name, file.size_bytes) for file in pages.load(name, tmp_path)] == [
        ("a.example", 3000),
        ("logo.png", 800),
        ("x.css", 500),
        ("moved", 0),
    ]


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([har_entry("https://a.example/", bodySize=-1)], r"entry 1 \(https://a.example/\) has no size"),
        ([har_entry("https://a.example/", status=0, content=3)], "was not answered"),
        ([har_entry("data:,x", content=3)], "the list is empty"),
    ],
)
def test_a_har_file_that_cannot_be_used_is_refused(
    entries: list[dict[str, Any]], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=sentence):
        pages.load(har(tmp_path, *entries), tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.har", "{}", "not an HTTP archive"),
        ("a.toml", "[[object]]\nname = 3", "entry 1"),
        ("a.toml", "x", "not valid TOML"),
        ("a.csv", "size,name\n", "the first line must be"),
        ("a.csv", "name,size_bytes\nx,1.5\n", r"entry 1 \(x\)"),
        ("a.csv", "name,size_bytes\nx,-1\n", r"entry 1 \(x\)"),
        ("a.csv", "name,size_bytes\n", "the list is empty"),
    ],
)
def test_a_list_that_is_written_wrongly_is_refused(
    name: str, text: str, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=sentence):
        pages.load(name, tmp_path)


def test_an_unknown_page_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="choose kepler or newspaper"):
        pages.load("kepller", tmp_path)
    with pytest.raises(UserError, match="there is no such file"):
        pages.load("mine.csv", tmp_path)


def experiment(folder: Path, workload: str, protocols: str = '"tcp-cubic"') -> list[dict[str, Any]]:
    text = (
        f'[experiment]\nname = "x"\nrepetitions = 1\n[scenario]\nname = "constant"\n'
        f'[matrix]\nprotocols = [{protocols}]\n[workload]\napp = "page"\n{workload}\n'
    )
    return [plan_run(spec) for spec in expand(parse_experiment(text, "x.toml", folder))]


def test_a_page_goes_to_the_train_unless_it_is_said_otherwise(tmp_path: Path) -> None:
    (run,) = experiment(tmp_path, 'page = "kepler"\nhttp = "1.1"\nconnections = 2')
    (flow,) = run["flows"]
    assert (flow["from"], flow["to"]) == ("server", "client")
    params = flow["app_params"]
    assert (params["http"], params["connections"], params["size_bytes"]) == ("1.1", 2, 1_000_000)
    assert params["objects"][0] == {"object": "index.htm", "size_bytes": 17_000}
    (run,) = experiment(tmp_path, 'page = "kepler"\nhttp = "2"\ndirection = "up"')
    assert run["flows"][0]["from"] == "client"


def test_a_list_of_ones_own_is_looked_for_beside_the_experiment(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("name,size_bytes\nindex,5\nb,6\n")
    (run,) = experiment(tmp_path, 'page = "mine.csv"\nhttp = "2"')
    assert run["flows"][0]["app_params"]["size_bytes"] == 11


@pytest.mark.parametrize(
    ("workload", "protocols", "sentence"),
    [
        ('page = "kepler"\nhttp = "3"', '"tcp-cubic"', "needs a QUIC protocol"),
        ('page = "kepler"\nhttp = "2"', '"quic-quinn-bbr"', "needs a protocol over TCP, SCTP or TLS"),
        ('page = "kepler"\nhttp = "3"', '"quic-s2n-bbr"', "cannot be carried by quic-s2n-bbr"),
        ('page = "kepler"\nhttp = "2"', '"udp"', "cannot be carried by udp"),
        ('page = "kepler"\nhttp = "3"', '"quic-quinn-datagram"', "needs a reliable protocol"),
        ('page = "kepler"', '"tcp-cubic"', "needs the key 'http'"),
        ('page = "kepler"\nhttp = "2"\nconnections = 2', '"tcp-cubic"', "'connections' belongs to"),
        ('page = "kepler"\nhttp = "1.1"\nconnections = 7', '"tcp-cubic"', "connections"),
        ('page = "fixed"\nhttp = "2"', '"tcp-cubic"', "there is no page 'fixed'"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    workload: str, protocols: str, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=sentence):
        experiment(tmp_path, workload, protocols)


def test_a_page_of_another_application_is_refused() -> None:
    text = (
        '[experiment]\nname = "x"\n[scenario]\nname = "constant"\n[matrix]\nprotocols = ["tcp-cubic"]\n'
        '[workload]\napp = "web"\npage = "kepler"\n'
    )
    with pytest.raises(UserError, match="has no page 'kepler'; choose drawn or fixed"):
        expand(parse_experiment(text, "x.toml", Path()))
