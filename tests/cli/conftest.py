"""Runs commands in this process, in an empty folder and with an empty cache."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gauntlet.cli import main

Gauntlet = Callable[..., Result]


@pytest.fixture
def gauntlet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gauntlet:
    """Call the command line with arguments; stdout and stderr are kept apart."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GAUNTLET_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GAUNTLET_KERNEL", raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments))

    return call


def refused(result: Result, code: int, *words: str) -> None:
    """The command ended with this exit code and one sentence on stderr that has these words."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.endswith((".\n", "?\n"))
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr
