"""A pack of a real experiment, which no test writes into."""

from pathlib import Path

import pytest

from gauntlet.evidence_pack import build
from tests.evidence_pack import forged


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its results."""
    return forged.results(tmp_path_factory.mktemp("logs"))


@pytest.fixture(scope="session")
def pack(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their pack."""
    return build([results], tmp_path_factory.mktemp("pack") / "small.zip").pack
