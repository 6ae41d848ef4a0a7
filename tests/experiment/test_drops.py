"""[link] drop: which packets vanish where, and that nothing else changes."""

from pathlib import Path

import pytest

from gauntlet.engine import guest
from gauntlet.errors import UserError
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import parse_experiment
from gauntlet.experiment.plan_schema import check_plan
from gauntlet.experiment.plans import plan_run

EXPERIMENT = """
[experiment]
name = "drops"
repetitions = 1
[scenario]
name = "{scenario}"
{link}
[matrix]
protocols = ["tcp-cubic", "restp-web"]
{matrix}
[workload]
app = "bulk"
size = "20kB"
direction = "{direction}"
"""


def _runs(
    scenario: str = "constant", link: str = "", matrix: str = "", direction: str = "up"
) -> list[dict[str, object]]:
    text = EXPERIMENT.format(scenario=scenario, link=link, matrix=matrix, direction=direction)
    runs = [plan_run(spec) for spec in expand(parse_experiment(text, "drops.toml", Path()))]
    check_plan(guest.plan(runs))
    return runs


@pytest.mark.parametrize(
    ("scenario", "direction", "links"),
    [
        ("constant", "up", ["mid>east", "mid>west"]),
        ("constant", "down", ["mid>west", "mid>east"]),
        ("hsr", "up", ["ra>rabc", "rabc>ra"]),
    ],
)
def test_both_vanish_each_on_its_own_way(scenario: str, direction: str, links: list[str]) -> None:
    for run in _runs(scenario, '[link]\ndrop = "both"', direction=direction):
        assert run["drops"] == [
            {"flow": "f0", "packet": "syn", "nth": 1, "link": links[0]},
            {"flow": "f0", "packet": "syn-ack", "nth": 1, "link": links[1]},
        ]


def test_as_an_axis_it_leaves_seeds_and_plans_alone() -> None:
    plain = _runs()
    varied = _runs(matrix='drop = ["none", "first-syn", "first-syn-ack"]')
    assert all("drops" not in run for run in plain)
    kinds = [[drop["packet"] for drop in run.get("drops", [])] for run in varied]  # type: ignore[attr-defined]
    assert kinds == [[], ["syn"], ["syn-ack"]] * 2
    assert {run["seed"] for run in varied} == {run["seed"] for run in plain}


def test_another_value_is_refused() -> None:
    with pytest.raises(UserError, match=r"\[link\] drop: 'every-syn' is not known"):
        _runs(link='[link]\ndrop = "every-syn"')
