"""Every figure and table of D3.4 has its counterpart, and each draws from a small made-up summary."""

from collections.abc import Mapping
from typing import Any

import pytest

from gauntlet.studies import ledger, study
from gauntlet.studies.model import Figure
from gauntlet.studies.summary import Summary
from tests.studies.whole import check_panels, summary

STUDY = study("d34")


def of_calls(experiment: str, protocol: str, factors: Mapping[str, Any]) -> Mapping[str, float]:
    """Numbers that the made-up summary of all studies does not have."""
    return {"voip_mos": 4.0, "video_quality": 3.5} if experiment.startswith("calls-") else {}


@pytest.fixture(scope="module")
def made_up() -> Summary:
    return summary(STUDY, of_calls)


def test_every_figure_of_the_results_has_its_counterpart() -> None:
    keys = [figure.key for figure in STUDY.figures if not figure.beyond]
    assert keys == [*("11", "12", "13"), *map(str, range(15, 44)), "table-8", "table-9"]


def test_keys_and_titles_are_unique() -> None:
    for words in ([it.key for it in STUDY.figures], [it.title for it in STUDY.figures]):
        assert len(set(words)) == len(words)


@pytest.mark.parametrize("figure", STUDY.figures, ids=lambda figure: figure.key)
def test_a_figure_draws(figure: Figure, made_up: Summary) -> None:
    check_panels(figure.draw(made_up))


def test_figures_and_claims_name_experiments_and_figures_that_exist() -> None:
    experiments = {experiment.name for experiment in STUDY.experiments}
    figures = {figure.key for figure in STUDY.figures}
    for figure in STUDY.figures:
        assert set(figure.experiments) <= experiments, figure.key
    for claim in ledger.load(STUDY.ledger):
        assert set(claim.experiments(STUDY)) <= experiments, claim.id
        assert set(claim.figures) <= figures, claim.id


def test_every_experiment_file_is_part_of_the_study_and_used() -> None:
    files = {path.stem for path in (STUDY.ledger.parent / "experiments").glob("*.toml")}
    assert files == {experiment.name for experiment in STUDY.experiments}
    assert files == {name for figure in STUDY.figures for name in figure.experiments}
