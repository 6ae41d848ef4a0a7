"""Runs of a pack are played again and compared; which ones, a seed draws."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from gauntlet.errors import UserError
from gauntlet.evidence_pack import verify
from gauntlet.evidence_pack.replay import drawn
from gauntlet.experiment.runspec import RunSpec
from tests.evidence_pack.forged import results

RUN = "small/tcp-cubic_freshness-off_threat-late_rep-002"


class _Engine:
    def describe(self) -> dict[str, str]:
        return {"kernel": "another"}


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What playing leaves: a copy of the results, which a test may change."""
    there = results(tmp_path / "played")

    def play(_: Any, out: Path, *, specs: Sequence[RunSpec], cached: bool, **__: Any) -> None:
        assert not cached, "what the cache has was not played again"
        for spec in specs:
            shutil.copytree(there / "runs" / spec.id, out / "runs" / spec.id)

    monkeypatch.setattr("gauntlet.campaign.play", play)
    monkeypatch.setattr("gauntlet.executor.engines.installed", _Engine)
    return there


def test_a_seed_draws_the_same_runs_everywhere() -> None:
    runs = [f"x/{n}" for n in range(40)]
    assert drawn(runs, 5, 7) == drawn(list(reversed(runs)), 5, 7)
    assert drawn(runs, 5, 7) != drawn(runs, 5, 8)
    assert len(drawn(runs, 100, 7)) == 40


def test_runs_that_come_out_the_same_are_said(pack: Path, played: Path) -> None:
    found = verify(pack, again=3, seed=7, runs=[RUN])
    assert found.holds
    assert len(found.replayed) in (3, 4)
    assert RUN in [it.run for it in found.replayed]
    assert all("the same bytes" in it.words for it in found.replayed)


def test_a_run_that_comes_out_differently_is_a_difference(pack: Path, played: Path) -> None:
    record = played / "runs" / RUN.partition("/")[2] / "record.json"
    record.write_bytes(record.read_bytes() + b" ")
    found = verify(pack, runs=[RUN])
    (difference,) = found.differences
    assert difference.startswith(f"Run {RUN} came out differently: record.json.")
    assert "another one than in the pack (kernel, kernel_sha256, guest_sha256)" in difference


def test_a_run_that_is_not_there_is_refused(pack: Path, played: Path) -> None:
    with pytest.raises(UserError, match="The pack has no run 'small/none'"):
        verify(pack, runs=["small/none"])


def test_tables_of_another_writer_are_the_same_only_with_the_same_values(pack: Path, played: Path) -> None:
    path = played / "runs" / RUN.partition("/")[2] / "safety.parquet"
    table = pq.read_table(path)
    pq.write_table(table, path, compression="none")
    (found,) = verify(pack, runs=[RUN]).replayed
    assert found.same
    assert "the same values; another version of the Parquet writer" in found.words
    later = pc.add(table.column("t_ns"), 1)
    place = table.column_names.index("t_ns")
    pq.write_table(table.set_column(place, table.schema.field("t_ns"), later), path)
    (found,) = verify(pack, runs=[RUN]).replayed
    assert not found.same
    path.unlink()
    (found,) = verify(pack, runs=[RUN]).replayed
    assert "came out differently: safety.parquet." in found.words
