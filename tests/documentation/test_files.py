"""Files that the documents show are files that the program takes: experiments, lines, traces, pages, claims.

A block that is only a part of a file says so behind its language ("toml fragment"); it is completed here.
"""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from gauntlet.advice import classes, services
from gauntlet.experiment import challenge_file, expand, pages, parse_experiment
from gauntlet.experiment.schema import ExperimentFile
from gauntlet.geography import packaged
from gauntlet.scenario import load_scenario, read_trace
from gauntlet.scenario.linefile import LineFile, WifiPlan
from gauntlet.studies import causes, ledger
from gauntlet.studies.figures import load_figures
from gauntlet.studies.load import load
from gauntlet.studies.model import Study

from .snippets import ROOT, Block, blocks

FRAGMENT = "fragment"
REST = MappingProxyType(
    {
        "experiment": '[experiment]\nname = "x"\n',
        "scenario": '[scenario]\nname = "constant"\n',
        "matrix": '[matrix]\nprotocols = ["tcp-cubic"]\n',
        "workload": '[workload]\napp = "bulk"\nsize = "1MB"\n',
    }
)
"""The sections of an experiment that a fragment may lack."""


def play_experiment(block: Block, folder: Path) -> None:
    """Multiply an experiment out; what it names beside itself is in `folder`."""
    given = set(tomllib.loads(block.text))
    if "flow" in given:
        given.add("workload")
    if "network" in given:
        given.add("scenario")
    text = block.text + "".join(section for name, section in REST.items() if name not in given)
    runs = expand(parse_experiment(text, block.name, folder, repetitions=1))
    assert runs


def read_line(block: Block, folder: Path) -> None:
    """Load a line as a scenario."""
    (folder / "own.toml").write_text(block.text, encoding="utf-8")
    assert load_scenario(str(folder / "own.toml")).line is not None


def read_fitted(block: Block, folder: Path) -> None:
    """Draw a link from a model."""
    (folder / "own-model.toml").write_text(block.text, encoding="utf-8")
    assert load_scenario(str(folder / "own-model.toml"), seed=1).kind == "fitted"


def read_page(block: Block, folder: Path) -> None:
    """Read a list of files."""
    (folder / "own.toml").write_text(block.text, encoding="utf-8")
    assert pages.load("own.toml", folder)


def read_ledger(block: Block, folder: Path) -> None:
    """Read claims."""
    (folder / "claims.toml").write_text(block.text, encoding="utf-8")
    assert ledger.load(folder / "claims.toml")


def read_study(block: Block, folder: Path) -> None:
    """Read a study whose experiments are there."""
    (folder / "experiments").mkdir()
    for experiment in tomllib.loads(block.text)["experiment"]:
        (folder / "experiments" / f"{experiment['name']}.toml").touch()
    (folder / "study.toml").write_text(block.text, encoding="utf-8")
    assert load(folder, trust_plugin=False).experiments


def read_classes(block: Block, folder: Path) -> None:
    """Read classes of service, a study's or a report's."""
    file = folder / "classes.toml"
    file.write_text(block.text, encoding="utf-8")
    if "channel_delays_s" in tomllib.loads(block.text):
        assert classes.load(file).classes
    else:
        assert services.load(file).services


def read_causes(block: Block, folder: Path) -> None:
    """Read why claims are not reproduced."""
    (folder / "causes.toml").write_text(block.text, encoding="utf-8")
    assert causes.load(folder)


def read_figures(block: Block, folder: Path) -> None:
    """Read figures of a study without experiments."""
    (folder / "figures.toml").write_text(block.text, encoding="utf-8")
    assert load_figures(Study(folder, "x", "X", "Nobody.", (), ()))


def read_challenge(block: Block, folder: Path) -> None:
    (folder / "own.toml").write_text(block.text, encoding="utf-8")
    network = packaged.load("nobel-eu")
    assert challenge_file.challenge("own.toml", folder, network).outages(network).links


WHOLE: Mapping[str, Callable[[Block, Path], None]] = MappingProxyType(
    {
        "study": read_study,
        "experiment": play_experiment,
        "line": read_line,
        "calibrated": read_fitted,
        "object": read_page,
        "claim": read_ledger,
        "class": read_classes,
        "cause": read_causes,
        "figure": read_figures,
        "circle": read_challenge,
    }
)
"""Who reads a whole file, by a key that all such files have."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with what examples name beside themselves."""
    (tmp_path / "own-stack").symlink_to(ROOT / "experiments" / "own-stack")
    for block in blocks("csv"):
        (tmp_path / "tunnel.csv").write_text(block.text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("block", blocks("toml"), ids=lambda block: block.name)
def test_toml_is_taken(block: Block, folder: Path) -> None:
    given: dict[str, Any] = tomllib.loads(block.text)
    if block.mark != FRAGMENT:
        read = next((read for key, read in WHOLE.items() if key in given), None)
        assert read is not None, "no whole file; write ```toml fragment"
        read(block, folder)
    elif set(given) <= set(ExperimentFile.model_fields):
        play_experiment(block, folder)
    else:
        assert set(given) == {"wifi"} <= set(LineFile.model_fields)
        WifiPlan.model_validate(given["wifi"])


@pytest.mark.parametrize("block", blocks("csv"), ids=lambda block: block.name)
def test_a_trace_is_taken(block: Block, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(block.text, encoding="utf-8")
    assert read_trace(tmp_path / "own.csv").table.num_rows > 0
