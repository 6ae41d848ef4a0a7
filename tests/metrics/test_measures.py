"""Measures of a run that lie beside its record: tables are the same with them, stale ones are not used."""

from pathlib import Path

import pyarrow as pa
import pytest

from gauntlet.metrics import measures
from gauntlet.metrics.kpis import throughput
from gauntlet.metrics.tables import current, finalize
from gauntlet.results import layout, parquet
from gauntlet.results.reader import Results, Run
from tests.report import factory

SMALL = factory.Campaign(
    protocols=("tcp-bbr", "udp"), delays_s=(0.025,), losses=(0.0, 0.01), repetitions=2, duration_s=6
)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    failed = frozenset({factory.places(SMALL)[0].run})
    made = factory.Campaign(**vars(SMALL) | {"failed": failed})
    return factory.build(tmp_path / "r", tmp_path / "s", made)


def tables_of(results: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(layout.tables_folder(results).iterdir())}


def keep_all(results: Path) -> list[Run]:
    runs = [run for run in Results.open(results).runs() if run.ok]
    for run in runs:
        measures.keep(Run.packed(run.folder, run.plan))
    return runs


def test_tables_of_kept_measures_are_those_of_the_records(results: Path) -> None:
    before = tables_of(results)
    for run in keep_all(results):
        (run.folder / layout.MESSAGES).write_bytes(b"not looked at")
    finalize(results)
    assert tables_of(results) == before


def test_measures_do_not_say_whose_run_they_are(results: Path, tmp_path: Path) -> None:
    run = keep_all(results)[0]
    kept = (run.folder / layout.MEASURES).read_bytes()
    moved = run.folder.rename(tmp_path / "another-name")
    measures.keep(Run.packed(moved, {**run.plan, "id": "run"}))
    assert (moved / layout.MEASURES).read_bytes() == kept


def test_tables_of_other_code_are_made_again(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tables_of(results)
    with monkeypatch.context() as other:
        other.setattr(measures, "made_with", lambda: "of another day")
        other.setattr(throughput, "NS_PER_S", 1)
        finalize(results)
        assert tables_of(current(results).folder) != before
    assert tables_of(current(results).folder) == before


def test_measures_of_other_code_are_made_again(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tables_of(results)
    with monkeypatch.context() as other:
        other.setattr(measures, "made_with", lambda: "of another day")
        other.setattr(throughput, "NS_PER_S", 1)
        keep_all(results)
    finalize(results)
    assert tables_of(results) == before


def test_damaged_measures_are_made_again(results: Path) -> None:
    before = tables_of(results)
    for run in keep_all(results):
        file = run.folder / layout.MEASURES
        file.write_bytes(file.read_bytes()[:-200])
    finalize(results)
    assert tables_of(results) == before


def test_a_table_in_parts_has_the_bytes_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS_PER_GROUP", 1000)
    table = pa.table(
        {
            "run": [f"run-{place // 300}" for place in range(3500)],
            "n": list(range(3500)),
            "x": [place / 7 for place in range(3500)],
        }
    )
    parquet.write(table, tmp_path / "whole")
    with parquet.Writer(tmp_path / "parts", otherwise=table) as writer:
        for start in range(0, 3500, 170):
            writer.write(table.slice(start, 170))
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes()
    assert parquet.read(tmp_path / "parts", "the parts").equals(table)
