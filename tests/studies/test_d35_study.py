"""What D3.5 is made of fits together, and the numbers that only it asks for are right."""

import math
from collections.abc import Mapping
from typing import Any

import pytest
from studies.d35.plugin import throughput_with_setup_bps

from gauntlet.advice.serves import of_class
from gauntlet.advice.tables import tables
from gauntlet.studies import ledger, study
from gauntlet.studies.advised import FromSummary
from gauntlet.studies.model import Experiment
from tests.metrics.flows import flow
from tests.studies.some_runs import some_runs
from tests.studies.whole import summary

STUDY = study("d35")
assert STUDY.advice is not None
CLASSES = STUDY.advice.classes

EXPERIMENTS = pytest.mark.parametrize("experiment", STUDY.experiments, ids=lambda it: it.name)
SIGNALLING = CLASSES[0]


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


def test_every_experiment_file_is_part_of_the_study() -> None:
    files = {path.stem for path in (STUDY.ledger.parent / "experiments").glob("*.toml")}
    assert files == {experiment.name for experiment in STUDY.experiments}


@pytest.mark.parametrize("claim", ledger.load(STUDY.ledger), ids=lambda claim: claim.id)
def test_a_claims_rule_asks_for_what_there_is(claim: ledger.Claim) -> None:
    claim.rule.check(STUDY)


def test_the_ledger_covers_the_whole_study() -> None:
    claims = ledger.load(STUDY.ledger)
    assert len(claims) >= 35
    places = " ".join(claim.where for claim in claims)
    for place in (
        "6.1",
        "6.2.1",
        "6.2.2",
        "6.2.3",
        "6.2.4",
        "6.3.1",
        "6.3.2",
        "6.3.3",
        "chapter 8",
        "Table 11",
    ):
        assert place in places


def test_set_up_counts_in_the_throughput_of_the_study() -> None:
    """1 MB from 0.5 s on, the last byte at 4.5 s: 2 Mbit/s, however long the handshake took."""
    one: dict[str, Any] = {"size_bytes": 10**6, "transfer_bytes": 10**6, "duration_s": None}
    done = flow([1.5], [4.5], start_s=0.5, established_s=1.5, **one)
    assert throughput_with_setup_bps(done) == pytest.approx(2e6)


def test_a_transport_that_is_late_in_one_condition_does_not_serve_signalling() -> None:
    def numbers(experiment: str, protocol: str, factors: Mapping[str, Any]) -> Mapping[str, float]:
        late = protocol == "tls-sctp" and factors["channel_delay_s"] == 0.15 and factors["loss"] == 0.01
        return {"message_delay_s": 0.3 if late else 0.2, "message_delay_with_setup_s": 0.4}

    found = of_class(FromSummary(STUDY, summary(STUDY, numbers)), SIGNALLING)
    assert "tls-sctp" not in found.always
    assert found.without_loss == ("tls-sctp",)
    assert set(found.always) == set(SIGNALLING.candidates) - {"tls-sctp"}


def test_a_transport_that_delivers_nothing_keeps_no_limit_however_quick_its_survivors_are() -> None:
    """In one repetition of one condition no message of TLS over SCTP arrived: it serves nobody there."""

    def numbers(experiment: str, protocol: str, factors: Mapping[str, Any]) -> Mapping[str, Any]:
        quick = {"message_delay_s": 0.1, "message_delay_with_setup_s": 0.2}
        usual = {"message_delay_s": 0.2, "message_delay_with_setup_s": 0.4}
        if protocol != "tls-sctp":
            return usual
        place = (factors["channel_delay_s"], factors["loss"], factors["repetition"])
        dead = {"message_delay_s": None, "message_delay_with_setup_s": None, "outcome": "failed"}
        return dead if place == (0.025, 0.01, 3) else quick

    found = of_class(FromSummary(STUDY, summary(STUDY, numbers)), SIGNALLING)
    assert "tls-sctp" not in found.always
    worst = [it for it in found.findings if it.protocol == "tls-sctp" and not it.kept]
    assert {it.worst for it in worst} == {math.inf}
    rows = [row for table in tables([found], "D3.5") for row in table.rows]
    assert any("nothing arrived" in row for row in rows)
