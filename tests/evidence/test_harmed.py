"""What became of messages is told trial by trial, of those that did not come as they should."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from gauntlet.cli import main
from gauntlet.errors import UserError
from gauntlet.evidence import harmed
from tests.evidence_pack import forged

LATE = "tcp-cubic_freshness-off_threat-late_rep-001"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of an experiment over UDP and TCP, with a delay and with damage."""
    return forged.results(tmp_path_factory.mktemp("logs"))


def test_only_messages_that_something_happened_to_are_told(results: Path) -> None:
    found = {it.run: it for it in harmed(results)}
    assert not any("threat-none" in run for run in found)
    late = found[LATE]
    assert (late.threat, late.verdict) == ("late", "delivered late unnoticed")
    assert [it.number for it in late.messages] == [2, 3]
    assert {it.fates for it in late.messages} == {("late",)}
    assert all(it.signalled_s is None for it in late.messages)


def test_results_without_a_valid_trial_are_refused(results: Path, tmp_path: Path) -> None:
    shutil.copytree(results, tmp_path / "none")
    for run in (tmp_path / "none" / "runs").iterdir():
        shutil.rmtree(run)
    with pytest.raises(UserError, match="no valid trial of safety messages"):
        list(harmed(tmp_path / "none"))


def test_the_command_counts_messages_from_one(results: Path) -> None:
    said = CliRunner().invoke(main, ["evidence", "fates", str(results)])
    assert said.exit_code == 0
    lines = said.stdout.splitlines()
    at = lines.index(f"{LATE}, flow 0: delivered late unnoticed")
    assert lines[at + 1].startswith("  message 3, sent at ")
    assert lines[at + 1].endswith("; nobody told")
    data = json.loads(CliRunner().invoke(main, ["evidence", "fates", str(results), "--json"]).stdout)
    (trial,) = [it for it in data if it["run"] == LATE]
    assert [it["message"] for it in trial["messages"]] == [3, 4]
    assert "number" not in trial["messages"][0]
