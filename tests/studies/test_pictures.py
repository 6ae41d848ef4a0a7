"""The pictures on the pages of the studies are what the committed summaries draw."""

import math
import re
from pathlib import Path

import pytest
from scripts.study_pictures import IMAGES, PICTURES, Picture

from gauntlet.figures import save

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def of(picture: Picture) -> str:
    """What names it in a list of tests."""
    return picture.study


@pytest.mark.parametrize("picture", PICTURES, ids=of)
def test_a_picture_is_what_the_summary_draws(picture: Picture, tmp_path: Path) -> None:
    now = save.write(picture.spec(), tmp_path / "now.svg").read_text()
    kept = picture.file.read_text()
    renew = f"{picture.file.name} is of another summary: type `python scripts/study_pictures.py`"
    assert _NUMBER.split(now) == _NUMBER.split(kept), renew
    # Means differ between processors in their last digits.
    pairs = zip(_NUMBER.findall(now), _NUMBER.findall(kept), strict=True)
    assert all(math.isclose(float(a), float(b), rel_tol=1e-3, abs_tol=1e-2) for a, b in pairs), renew


@pytest.mark.parametrize("picture", PICTURES, ids=of)
def test_a_picture_stands_on_the_page_of_its_study(picture: Picture) -> None:
    page = (IMAGES.parent / "studies" / f"{picture.study}.md").read_text(encoding="utf-8")
    assert re.search(rf"!\[[^\]]+\]\(\.\./images/{picture.file.name}\)", page)
