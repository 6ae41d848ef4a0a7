"""A results folder to load, in which one run failed and another one is not trusted."""

from pathlib import Path

import pytest

from tests.report import factory

FAILED = "tcp-bbr_delay-25ms_loss-1pct_rep-002"
UNTRUSTED = "tcp-cubic_delay-25ms_loss-0pct_rep-003"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up results (`tests.report.factory`)."""
    place = tmp_path_factory.mktemp("notebook")
    campaign = factory.Campaign(
        protocols=("tcp-cubic", "tcp-bbr"),
        delays_s=(0.025,),
        duration_s=5.0,
        failed=frozenset({FAILED}),
        untrusted=frozenset({UNTRUSTED}),
    )
    return factory.build(place / "results", place / "scratch", campaign)
