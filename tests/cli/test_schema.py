"""`gauntlet schema` writes the schema, to standard output or to a file."""

import json
from pathlib import Path

from gauntlet.experiment.json_schema import experiment_schema

from .conftest import Gauntlet


def test_the_command_writes_it(gauntlet: Gauntlet, tmp_path: Path) -> None:
    assert json.loads(gauntlet("schema").stdout) == experiment_schema()
    assert gauntlet("schema", "--out", "own.json").stdout == ""
    assert json.loads((tmp_path / "own.json").read_text()) == experiment_schema()
