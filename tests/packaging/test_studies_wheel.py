"""Committed summaries come from the checkout, else from the wheel gauntlet-net-studies."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gauntlet import studies
from gauntlet.errors import UserError
from gauntlet.studies.model import Study
from gauntlet.studies.summary import Summary

PACKAGE = Path(__file__).parents[2] / "packaging/gauntlet-net-studies/src/gauntlet_studies"


@pytest.fixture
def installed(tmp_path: Path) -> Study:
    """The study D3.4 as an installed Gauntlet has it: without a summary beside it."""
    return replace(studies.study("d34"), home=tmp_path / "home")


def test_a_source_checkout_has_its_own() -> None:
    study = studies.study("d34")
    assert study.summary == study.home / "summary"
    assert Summary.load(study.summary).runs > 0


def test_the_wheels_is_found(installed: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    shutil.copytree(PACKAGE, site / "gauntlet_studies")
    shutil.copytree(studies.study("d34").summary, site / "gauntlet_studies" / "d34")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "gauntlet_studies", raising=False)
    assert installed.summary == site / "gauntlet_studies" / "d34"
    assert Summary.load(installed.summary).runs == Summary.load(studies.study("d34").summary).runs


def test_without_either_the_sentence_names_the_wheel(installed: Study) -> None:
    with pytest.raises(UserError, match="`pip install gauntlet-net-studies`"):
        Summary.load(installed.summary)
