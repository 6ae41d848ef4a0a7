"""What D3.4 is made of fits together: examples are runs, the quick part is a part, claims can be decided."""

from functools import cache
from pathlib import Path

import pytest

from gauntlet.experiment import expand, load_experiment
from gauntlet.experiment.runspec import RunSpec
from gauntlet.studies import ledger, study
from gauntlet.studies.model import Experiment

STUDY = study("d34")

EXPERIMENTS = pytest.mark.parametrize("experiment", STUDY.experiments, ids=lambda it: it.name)


@cache
def _runs_of(file: Path) -> tuple[RunSpec, ...]:
    return tuple(expand(load_experiment(file)))


def _runs(experiment: Experiment) -> tuple[RunSpec, ...]:
    return _runs_of(experiment.file)


@EXPERIMENTS
def test_examples_are_runs_of_the_experiment(experiment: Experiment) -> None:
    assert set(experiment.examples) <= {run.id for run in _runs(experiment)}


@EXPERIMENTS
def test_the_quick_part_is_a_true_part_with_enough_repetitions_to_decide(experiment: Experiment) -> None:
    if experiment.quick is None:
        return
    kept = [run for run in _runs(experiment) if experiment.quick.keeps(run.factors)]
    assert 0 < len(kept) < len(_runs(experiment))
    assert {run.factors["repetition"] for run in kept} == {1, 2, 3}
    for name, values in experiment.quick.keep.items():
        assert {run.factors[name] for run in kept} == set(values)


@pytest.mark.parametrize("claim", ledger.load(STUDY.ledger), ids=lambda claim: claim.id)
def test_a_claims_rule_asks_for_what_there_is(claim: ledger.Claim) -> None:
    claim.rule.check(STUDY)


def test_the_ledger_covers_the_whole_study() -> None:
    claims = ledger.load(STUDY.ledger)
    assert len(claims) >= 36
    places = " ".join(claim.where for claim in claims)
    for place in ("4.1", "4.2", "4.3", "6.1", "6.2.1", "6.2.2", "6.2.3", "6.2.4", "6.2.5", "6.3.1", "6.3.2"):
        assert place in places
    for place in ("6.3.3", "6.4.1", "6.4.4", "6.5", "6.6.1.1", "6.6.1.2", "Table 8", "Table 9", "appendix"):
        assert place in places
