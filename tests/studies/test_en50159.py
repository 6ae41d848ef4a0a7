"""The study en50159: how many trials a cell has in the full run, that they are drawn, what nobody tries."""

import json
from collections import Counter
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from gauntlet.defences import data
from gauntlet.experiment import expand, load_experiment
from gauntlet.experiment.plans import plan_run
from gauntlet.experiment.runspec import FlowSpec, RunSpec
from gauntlet.experiment.threats import NONE
from gauntlet.studies import ledger, studies
from gauntlet.studies.model import Experiment
from gauntlet.studies.summary import Summary
from gauntlet.studies.tried import acts_of, tried

STUDY = studies()["en50159"]
FEWEST = 1000
"""Trials that a cell has to have when one of its runs says nothing."""
TRIED = [it for it in data.default().protocols if it.tried_as]
NOT_FORGED = frozenset({"sctp", "sctp-tls", "restp", "restp-protected", "rasta", "rasta-tls"})
"""Over these the node makes no packet that a receiver would look at."""


@cache
def runs(experiment: str) -> list[RunSpec]:
    return expand(load_experiment(STUDY.experiment(experiment).file))


def sessions(spec: RunSpec) -> int:
    return sum(flow.app == "safety" for flow in spec.flows)


@cache
def trials() -> Counter[tuple[str, str, bool, bool, bool]]:
    """By protocol, act, freshness check, whether both ends show certificates, and whether it is the first
    flight that is meant.
    """
    found: Counter[tuple[str, str, bool, bool, bool]] = Counter()
    for experiment in STUDY.experiments:
        for spec in runs(experiment.name):
            key = str(spec.factors["protocol"]), spec.link.threat, bool(spec.factors["freshness"])
            found[*key, *({asked(flow) for flow in spec.flows}.pop())] += sessions(spec)
    return found


def asked(flow: FlowSpec) -> tuple[bool, bool]:
    """Whether a flow's ends both show certificates, and whether it sends early data."""
    return bool(flow.options.get("client_auth")), bool(flow.options.get("early_data"))


def test_every_cell_has_a_thousand_trials_though_a_run_says_nothing() -> None:
    fewest = {key: count for key, count in trials().items() if key[1] != NONE}
    assert len(fewest) == 292 + 128
    assert min(fewest.values()) - 25 >= FEWEST


@pytest.mark.parametrize("protocol", TRIED, ids=lambda it: it.id)
def test_a_protocol_that_is_tried_has_every_threat_that_can_be_made(protocol: data.Protocol) -> None:
    for threat, freshness in product(data.default().threats, (False, True)):
        made = threat.id not in ("insertion", "masquerade") or protocol.id not in NOT_FORGED
        key = str(protocol.tried_as), threat.id, freshness, protocol.both_sides, protocol.early_data
        count = trials()[key]
        assert count >= FEWEST if made else count == 0, (threat.id, freshness)


def test_acts_that_stand_beside_the_cells_are_those_that_are_played() -> None:
    played = {act for _, act, *_ in trials()} - {NONE}
    assert {act for threat in data.default().threats for act in acts_of(threat.id)} == played


def test_trials_of_a_cell_are_drawn_apart() -> None:
    """When a session begins and which message is meant differ from trial to trial."""
    cell = [
        spec
        for spec in runs("threats")
        if (spec.factors["protocol"], spec.link.threat, spec.factors["freshness"])
        == ("udp", "deletion", False)
    ]
    drawn, numbers = [], Counter[int]()
    for spec in cell:
        plan = plan_run(spec)
        (node,) = plan["in_path"]
        for flow, rule in zip(plan["flows"], node["rules"], strict=True):
            number = rule["match"]["message"]["number"]
            drawn.append((flow["start_s"], number))
            numbers[number] += 1
    assert len(set(drawn)) == len(drawn) == 1050
    assert set(numbers) == {2, 3, 4}
    assert min(numbers.values()) > 300


@pytest.mark.parametrize("experiment", STUDY.experiments, ids=lambda it: it.name)
def test_an_experiment_is_told_by_its_name_from_those_of_other_rows(experiment: Experiment) -> None:
    """A summary's trials have no column for certificates and early data: `tried` goes by these names."""
    said = "both-sides" in experiment.name, "0rtt" in experiment.name
    assert {asked(flow) for spec in runs(experiment.name) for flow in spec.flows} == {said}


def test_beside_a_cell_stand_trials_that_were_played_and_no_others() -> None:
    summary = Summary.load(STUDY.summary)
    played = set()
    for name in summary.experiments:
        rows = summary.trials(name).to_pylist()
        played |= {(row["protocol"], "both-sides" in name, "0rtt" in name) for row in rows}
    told = {protocol for protocol, _ in tried(data.default(), STUDY.summary)}
    assert told == {it.id for it in TRIED if (it.tried_as, it.both_sides, it.early_data) in played}


def test_a_claim_on_a_transport_is_read_without_what_the_application_checks() -> None:
    for claim in ledger.load(STUDY.ledger):
        if claim.id.startswith("table-7-") and "unnoticed" in claim.canonical:
            assert '"noticed_by": "transport"' in claim.canonical, claim.id
            assert '"freshness": false' in claim.canonical, claim.id


def _measured(decide: dict[str, Any]) -> set[str]:
    """What a rule measures, whatever its bounds."""
    if decide["kind"] == "all":
        return set().union(*map(_measured, decide["parts"]))
    return {json.dumps({key: it for key, it in decide.items() if key not in ("at_least", "at_most")})}


def test_the_page_says_how_many_findings_the_claims_are() -> None:
    """Claims that put others together, that are the same trials, and that hang on one guess a trial."""
    verdicts = json.loads((STUDY.home / "summary" / "verdicts.json").read_text())["claims"]
    claims = [it for it in ledger.load(STUDY.ledger) if verdicts[it.id]["kind"] == "measured"]
    rules: dict[str, dict[str, Any]] = {it.id: json.loads(it.canonical)[1] for it in claims}
    alone = {what for it in claims if rules[it.id]["kind"] != "all" for what in _measured(rules[it.id])}
    alone |= {
        what
        for it in ledger.load(STUDY.ledger)
        if verdicts[it.id]["kind"] == "unavoidable" and json.loads(it.canonical)[1]["kind"] == "unnoticed"
        for what in _measured(json.loads(it.canonical)[1])
    }
    # Another bound on the same trials is another question.
    put_together = {
        it.id
        for it in claims
        if rules[it.id]["kind"] == "all" and _measured(rules[it.id]) <= alone and it.id != "sums-alike"
    }
    again = {"table-7-tcp-tls-masquerade", "table-7-quic-masquerade", "table-7-udp-corruption-two-bits"}
    guesses = {it.id for it in claims if it.id.endswith("-unseen") and "-udp-" not in it.id}
    left = Counter(verdicts[it.id]["verdict"] for it in claims if it.id not in put_together | again | guesses)
    assert left == {"reproduced": 41, "not reproduced": 22}
    text = (Path(__file__).parents[2] / "docs" / "studies" / "en50159.md").read_text()
    assert "41 stand for themselves" in text and "one sample (two bits over UDP and TCP): 22." in text


@pytest.mark.parametrize("protocol", ["tls-cubic", "quic-quinn-cubic"])
def test_of_what_is_sealed_insertion_and_masquerade_are_one_act(protocol: str) -> None:
    acts = {
        act: [
            {**rule, "id": ""}
            for spec in runs("forged")
            if (spec.factors["protocol"], spec.link.threat) == (protocol, act)
            and spec.factors["repetition"] == 1
            for rule in plan_run(spec)["in_path"][0]["rules"]
        ]
        for act in ("insertion", "masquerade")
    }
    assert len(acts["insertion"]) == 50
    assert acts["insertion"] == acts["masquerade"]
