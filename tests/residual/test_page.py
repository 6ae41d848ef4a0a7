"""docs/residual-error.md has what the commands on it print."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from gauntlet.cli import main
from gauntlet.residual.codes import CODES

PAGE = (Path(__file__).parents[2] / "docs" / "residual-error.md").read_text(encoding="utf-8")
LABELS = tuple(it.label for it in CODES.values())


def _rows(lines: list[str]) -> list[list[str]]:
    """Those about a code, cell by cell: of a table of a page, or of one of a terminal."""
    table = [re.split(r"  +|\s*\|\s*", line.strip("| ")) for line in lines]
    return [row for row in table if row[0] in LABELS]


@pytest.mark.parametrize(("chapter", "rows"), [("CRCs, exactly", 32), ("Checksums that add", 20)])
def test_a_table_of_the_page_is_what_its_command_prints(chapter: str, rows: int) -> None:
    part = PAGE.split(f"\n## {chapter}\n")[1].split("\n## ")[0]
    script, rest = part.split("```sh\n")[1].split("```", 1)
    gauntlet, *arguments = shlex.split(script.replace("\\\n", " "))
    assert gauntlet == "gauntlet"
    shown = _rows(rest.split("\n### ")[0].splitlines())
    done = CliRunner().invoke(main, arguments, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    printed = _rows(done.stdout.splitlines())
    width = len(shown[0])
    assert len(shown) == rows
    assert shown == [row for row in printed if len(row) == width]
