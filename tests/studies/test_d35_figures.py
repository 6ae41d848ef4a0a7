"""Every figure and table of D3.5 has its counterpart, and each draws from a small made-up summary."""

import pytest

from gauntlet.studies import study
from gauntlet.studies.model import Figure
from gauntlet.studies.summary import Summary
from tests.studies.whole import check_panels, summary

STUDY = study("d35")


@pytest.fixture(scope="module")
def made_up() -> Summary:
    return summary(STUDY)


@pytest.mark.parametrize("figure", STUDY.figures, ids=lambda figure: figure.key)
def test_a_figure_draws(figure: Figure, made_up: Summary) -> None:
    check_panels(figure.draw(made_up))


def test_titles_are_unique() -> None:
    titles = [figure.title for figure in STUDY.figures]
    assert len(set(titles)) == len(titles)


def test_every_experiment_of_streams_and_messages_is_drawn() -> None:
    mine = {it.name for it in STUDY.experiments if it.name.startswith(("streams", "messages"))}
    assert mine <= {name for figure in STUDY.figures for name in figure.experiments}
