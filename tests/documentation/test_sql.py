"""The SQL of the guide, each statement executed over results."""

from pathlib import Path

import duckdb
import pytest

import gauntlet
from tests.report import factory
from tests.report.factory import FAILED, UNTRUSTED

from .snippets import blocks

STATEMENTS = [block for block in blocks("sql") if block.document.name == "sql.md"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of TCP CUBIC and BBR where the page has them."""
    place = tmp_path_factory.mktemp("sql")
    factory.doubtful(place / "results" / "first", place / "scratch")
    return place


def test_every_statement_of_the_page_says_something(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    database = duckdb.connect()
    assert len(STATEMENTS) > 6
    answers = {block.name: database.execute(block.text).fetchall() for block in STATEMENTS}
    shown = [answers[block.name] for block in STATEMENTS if block.text.startswith("SELECT")]
    assert all(shown)
    assert [row[:4] for row in shown[0]] == [
        ("tcp-bbr", 0.0, 3, 3),
        ("tcp-bbr", 0.01, 2, 2),
        ("tcp-cubic", 0.0, 2, 2),
        ("tcp-cubic", 0.01, 3, 3),
    ]
    assert [(row[0], row[1]) for row in shown[1]] == [(0.0, 2), (0.01, 2)]
    assert {row[0] for row in shown[4]} == {UNTRUSTED, FAILED}


def test_its_views_are_what_the_api_loads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    database = duckdb.connect()
    for block in STATEMENTS[:2]:
        database.execute(block.text)
    flows = gauntlet.load("results/first").flows.arrow
    runs = database.execute("SELECT run, flow, loss, throughput_bps FROM flows ORDER BY run").fetchall()
    expected = [
        tuple(row.values()) for row in flows.select(["run", "flow", "loss", "throughput_bps"]).to_pylist()
    ]
    assert runs == sorted(expected, key=lambda row: row[0])
    assert FAILED in {row[0] for row in runs}
