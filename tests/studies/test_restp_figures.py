"""Every figure and table of chapter 4 and appendix A.3 has its counterpart, and each draws."""

from collections.abc import Mapping
from typing import Any

import pytest

from gauntlet.studies import judging, ledger, study
from gauntlet.studies.model import Figure
from gauntlet.studies.summary import Summary
from tests.studies.whole import check_measured, summary

STUDY = study("restp")

OWN = (
    "page_time_with_setup_s",
    "rate_from_start_bps",
    "back_after_s",
    "outages_survived",
    "rate_after_outage_bps",
    "repeated_in_outages",
    "repeated_in_short_outage",
    "repeated_in_long_outage",
    "resumed_share",
    "rate_with_short_outage_bps",
    "rate_while_receiving_bps",
    "packets_received",
    "first_arrival_s",
    "delayed_packets",
    "last_delayed_s",
    "retransmission_ratio",
    "delay_mean_s",
    "voip_lost_ratio",
    "voip_late_ratio",
    "voip_delay_deviation_s",
    "voip_mos",
)
"""Numbers that the made-up summary of all studies does not have."""


def numbers(experiment: str, protocol: str, factors: Mapping[str, Any]) -> Mapping[str, float]:
    """One for all, so that ratios and differences are known."""
    return dict.fromkeys(OWN, 1.0)


@pytest.fixture(scope="module")
def made_up() -> Summary:
    return summary(STUDY, numbers)


@pytest.mark.parametrize("figure", STUDY.figures, ids=lambda figure: figure.key)
def test_a_figure_draws(figure: Figure, made_up: Summary) -> None:
    check_measured(figure.draw(made_up))


def test_every_figure_and_table_of_the_study_has_its_counterpart() -> None:
    keys = {figure.key for figure in STUDY.figures if not figure.beyond}
    chapter = {f"4.{n}" for n in (2, 3, 4, 5, 6, 8, 9, 10, 11, 13, 14)}
    tables = {f"table-4.{n}" for n in (3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 18)}
    assert keys == chapter | tables | {f"A.{n}" for n in range(3, 8)}


def test_every_experiment_file_is_part_of_the_study_and_drawn() -> None:
    files = {path.stem for path in (STUDY.ledger.parent / "experiments").glob("*.toml")}
    assert files == {experiment.name for experiment in STUDY.experiments}
    assert files == {name for figure in STUDY.figures for name in figure.experiments}


def test_the_ledger_covers_the_sections_that_are_done_again() -> None:
    claims = ledger.load(STUDY.ledger)
    assert len(claims) >= 30
    places = " ".join(claim.where for claim in claims)
    for place in ("4.1", "4.2.3", "4.3.2", "4.4.3", "4.5.3", "A.3.2", "A.3.3", "A.3.4"):
        assert place in places


def test_every_claim_can_be_decided_from_a_whole_run(made_up: Summary) -> None:
    """With three repetitions of everything no claim may say that what it needs was not run."""
    for judged in judging.judge(STUDY, made_up):
        parts = judged.decision.parts or (judged.decision,)
        assert all(part.value is not None for part in parts), judged.claim.id
