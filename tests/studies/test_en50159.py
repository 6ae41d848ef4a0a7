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
from gauntlet.experiment.runspec import RunSpec
from gauntlet.experiment.threats import NONE
from gauntlet.studies import ledger, studies
from gauntlet.studies.tried import acts_of

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
def trials() -> Counter[tuple[str, str, bool, bool]]:
    """By protocol, act, freshness check, and whether both ends show certificates."""
    found: Counter[tuple[str, str, bool, bool]] = Counter()
    for experiment in STUDY.experiments:
        for spec in runs(experiment.name):
            key = str(spec.factors["protocol"]), spec.link.threat, bool(spec.factors["freshness"])
            found[*key, "both-sides" in experiment.name] += sessions(spec)
    return found


def test_every_cell_has_a_thousand_trials_though_a_run_says_nothing() -> None:
    fewest = {key: count for key, count in trials().items() if key[1] != NONE}
    assert len(fewest) == 292
    assert min(fewest.values()) - 25 >= FEWEST


@pytest.mark.parametrize("protocol", TRIED, ids=lambda it: it.id)
def test_a_protocol_that_is_tried_has_every_threat_that_can_be_made(protocol: data.Protocol) -> None:
    for threat, freshness in product(data.default().threats, (False, True)):
        made = threat.id not in ("insertion", "masquerade") or protocol.id not in NOT_FORGED
        count = trials()[str(protocol.tried_as), threat.id, freshness, protocol.both_sides]
        assert count >= FEWEST if made else count == 0, (threat.id, freshness)


def test_acts_that_stand_beside_the_cells_are_those_that_are_played() -> None:
    played = {act for _, act, _, _ in trials()} - {NONE}
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


TO_COME = ("dtls", "dtls-both-sides", "quic-0rtt")
"""Experiments in the study's folder that are no part of it as long as they are not registered."""


@pytest.mark.parametrize("name", TO_COME)
def test_a_cell_of_an_experiment_to_come_has_a_thousand_trials_too(name: str) -> None:
    assert name not in {it.name for it in STUDY.experiments}
    found: Counter[tuple[Any, ...]] = Counter()
    for spec in expand(load_experiment(STUDY.home / "experiments" / f"{name}.toml")):
        found[spec.factors["protocol"], spec.link.threat, spec.factors["freshness"]] += sessions(spec)
        assert all(bool(flow.options.get("client_auth")) == ("both-sides" in name) for flow in spec.flows)
    assert min(found.values()) - 25 >= FEWEST
    acts = {act.removesuffix("-afterwards") for _, act, _ in found} - {NONE}
    threats = {it.id for it in data.default().threats}
    assert threats <= acts <= {act for threat in threats for act in acts_of(threat)}


def test_early_data_are_not_tried() -> None:
    """A session's first flight carries data only where it resumes another one; in what is registered each
    flow has one."""
    assert data.default().protocol("quic-0rtt").tried_as is None
    assert not any(flow.options.get("early_data") for spec in runs("threats") for flow in spec.flows)


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
