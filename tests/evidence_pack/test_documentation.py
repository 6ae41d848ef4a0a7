"""docs/formats/evidence-pack.md names the files of a run that a pack has, and no others."""

import re
from pathlib import Path

from gauntlet.evidence_pack import layout

PAGE = Path(__file__).parents[2] / "docs" / "formats" / "evidence-pack.md"


def test_the_format_names_the_files_of_a_run() -> None:
    line = next(
        it for it in PAGE.read_text(encoding="utf-8").splitlines() if it.startswith("| `experiments/NAME/`")
    )
    of_run = line.partition("of each run ")[2]
    assert re.findall(r"`([a-z_]+\.[a-z]+)`", of_run) == list(layout.RUN_FILES)
