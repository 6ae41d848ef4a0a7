"""The files beside experiments/drive-test.toml are those that the commands of the guide make."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from gauntlet.cli import main
from gauntlet.experiment import expand, load_experiment
from gauntlet.scenario import read_trace

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "experiments" / "drive-test"
COMMANDS = re.findall(
    r"^\$ gauntlet (scenario .*experiments/drive-test/.*)$",
    (ROOT / "docs" / "guide" / "scenarios.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files, made anew."""
    folder = tmp_path_factory.mktemp("made")
    assert len(COMMANDS) == 3
    for command in COMMANDS:
        words = [word.replace("experiments/drive-test", str(folder)) for word in shlex.split(command)]
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, result.output
    return folder


def test_the_log_and_its_import_are_the_committed_ones(made: Path) -> None:
    assert (made / "log.csv").read_text() == (FILES / "log.csv").read_text()
    assert read_trace(made / "link.csv").table.equals(read_trace(FILES / "link.csv").table)


def test_the_model_is_the_committed_one_up_to_rounding(made: Path) -> None:
    again, kept = (tomllib.loads((folder / "model.toml").read_text()) for folder in (made, FILES))
    assert again.keys() == kept.keys()
    for name, own in kept.items():
        if not isinstance(own, dict) or "transitions" not in own:
            assert again[name] == own
            continue
        for key in ("values", "transitions"):
            for one, other in zip(again[name][key], own[key], strict=True):
                assert one == pytest.approx(other, rel=1e-6)


def test_the_experiment_rides_both() -> None:
    experiment = load_experiment(ROOT / "experiments" / "drive-test.toml", repetitions=2)
    assert {Path(str(spec.scenario.path)).name for spec in expand(experiment)} == {"link.csv", "model.toml"}
