"""The guide's own study (docs/guide/own-study.md), typed in as it stands there: data only, and it decides."""

import json
import re
from pathlib import Path

import pytest

from tests.guest.conftest import ROOT, gauntlet

GUIDE = ROOT / "docs" / "guide" / "own-study.md"
_FILE = re.compile(r"Save this as `([^`\n]+)`[^\n]*\n\n```\w+\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The folder that the guide's reader has made."""
    for place, text in _FILE.findall(GUIDE.read_text(encoding="utf-8")):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text, encoding="utf-8")
    return tmp_path / "bbr"


def test_a_first_look_at_the_guides_study_decides_what_it_can(study: Path) -> None:
    assert not list(study.rglob("*.py"))
    answer = gauntlet("reproduce", "./bbr", "--json", cwd=study.parent)
    assert (answer.code, answer.err) == (0, "")
    told = json.loads(answer.out)
    assert told["experiments"]["loss"]["trusted"] == 12
    verdicts = {claim["id"]: claim for claim in told["claims"]}
    assert {name: it["verdict"] for name, it in verdicts.items()} == {
        "cubic-tenth": "undecided",
        "bbr-meets-the-limit": "reproduced",
    }
    assert 0.9 < verdicts["bbr-meets-the-limit"]["value"] < 1.1
    page = Path(study.parent / told["page"]).read_text(encoding="utf-8")
    assert "A slower line" in page
