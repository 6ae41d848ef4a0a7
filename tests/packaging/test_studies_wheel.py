"""Published studies come from the checkout, else from the wheel gauntlet-net-studies."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gauntlet import studies
from gauntlet.errors import UserError
from gauntlet.studies import folders
from gauntlet.studies.summary import Summary
from tests.cli.conftest import Gauntlet, gauntlet

ROOT = Path(__file__).parents[2]
__all__ = ["gauntlet"]

PACKAGE = ROOT / "packaging/gauntlet-net-studies/src/gauntlet_studies"


@pytest.fixture
def no_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Gauntlet as it is when installed: without studies beside it, and without what was found before."""
    monkeypatch.setattr(folders, "_CHECKOUT", tmp_path / "nowhere")
    monkeypatch.delitem(sys.modules, "gauntlet_studies", raising=False)
    for found in (folders.known, studies.studies):
        found.cache_clear()
    yield
    for found in (folders.known, studies.studies):
        found.cache_clear()


def test_a_source_checkout_has_its_own() -> None:
    assert folders.root() == ROOT / "studies"
    assert Summary.load(studies.study("d34").summary).runs > 0


@pytest.mark.usefixtures("no_checkout")
def test_the_wheels_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    shutil.copytree(PACKAGE, site / "gauntlet_studies")
    shutil.copytree(ROOT / "studies" / "d34", site / "gauntlet_studies" / "d34")
    monkeypatch.syspath_prepend(str(site))
    assert folders.known() == {"d34": site / "gauntlet_studies" / "d34"}


@pytest.mark.usefixtures("no_checkout")
def test_without_either_the_sentence_names_the_wheel(gauntlet: Gauntlet) -> None:
    assert "`pip install gauntlet-net-studies`" in gauntlet("reproduce").stdout
    with pytest.raises(UserError, match="`pip install gauntlet-net-studies`"):
        studies.study("d34")
