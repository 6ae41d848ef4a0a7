"""A results folder to load, in which one run failed and another one is not trusted."""

from pathlib import Path

import pytest

from tests.report import factory


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up results (`tests.report.factory`)."""
    place = tmp_path_factory.mktemp("notebook")
    return factory.doubtful(place / "results", place / "scratch")
