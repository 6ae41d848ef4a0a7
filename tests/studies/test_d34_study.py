"""What D3.4 is made of fits together: the quick part is a part, claims can be decided."""

import pytest

from gauntlet.studies import ledger, study
from gauntlet.studies.model import Experiment
from tests.studies.some_runs import some_runs

STUDY = study("d34")

EXPERIMENTS = pytest.mark.parametrize("experiment", STUDY.experiments, ids=lambda it: it.name)


@EXPERIMENTS
def test_the_quick_part_is_a_true_part_with_enough_repetitions_to_decide(experiment: Experiment) -> None:
    if experiment.quick is None:
        return
    runs = some_runs(experiment.file, experiment.quick.repetitions + 1)
    kept = [run for run in runs if experiment.quick.keeps(run.factors)]
    assert 0 < len(kept) < len(runs)
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
