"""The study en50159: how many trials a cell has in the full run, that they are drawn, what nobody tries."""

import json
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from gauntlet.defences import data
from gauntlet.evidence.verdict import INVALID, NOT_NOTICED, SIGNALLED, UNDISTURBED
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
"""Trials that a cell has to have though two of its runs say nothing."""
TRIED = [it for it in data.default().protocols if it.tried_as]
NOT_FORGED = frozenset({"sctp", "sctp-tls", "restp", "restp-protected", "rasta", "rasta-tls"})
"""Over these the node makes no packet that a receiver would look at."""
PAGE = (Path(__file__).parents[2] / "docs" / "studies" / "en50159.md").read_text(encoding="utf-8")
TRANSPORTS = {
    "UDP": "udp", "TCP": "tcp-cubic", "TLS over TCP": "tls-cubic", "SCTP": "sctp",
    "TLS over SCTP": "tls-sctp", "QUIC": "quic-quinn-cubic",
}  # fmt: skip
ANY = ""
"""Of a harm: whichever it is."""
UNNOTICED: dict[str, list[tuple[str, str, str]]] = {
    "repetition, deletion, re-sequencing": [
        ("threats", "repetition", "repeated"),
        ("threats", "deletion", "missing"),
        ("threats", "re-sequencing", "out of order"),
    ],
    "corruption: one bit": [("threats", "corruption", "changed")],
    "two bits": [("threats", "corruption-two-bits", "changed")],
    "the checksum made right": [("threats", "corruption-repaired", "changed")],
    "insertion, masquerade, by who sees the path": [
        ("forged", "insertion", ANY),
        ("forged", "masquerade", ANY),
    ],
    "one packet by who does not": [
        ("forged", "insertion-unseen", ANY),
        ("forged", "masquerade-unseen", ANY),
    ],
    "delay of 2 s": [("threats", "delay", "late")],
    "late, where it was deleted, exchanged or damaged by a bit": [
        ("threats", act, "late") for act in ("deletion", "re-sequencing", "corruption")
    ],
}
"""By row of the page's table: experiment, act and harm of what it counts."""


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


@cache
def played() -> list[tuple[str, dict[str, Any]]]:
    """The rows of trials of the committed summary, each with its experiment."""
    summary = Summary.load(STUDY.summary)
    return [(name, row) for name in summary.experiments for row in summary.trials(name).to_pylist()]


def came_to(experiment: str, protocol: str, act: str, *, freshness: bool = False) -> list[dict[str, Any]]:
    """The rows of valid trials of a cell."""
    cell = experiment, protocol, act, freshness
    return [
        row
        for name, row in played()
        if (name, row["protocol"], row["threat"], bool(row["freshness"])) == cell
        and row["verdict"] != INVALID
    ]


def let_through(row: dict[str, Any], harm: str) -> bool:
    """Whether the transport told nobody in time of what did this harm."""
    if row["verdict"] == SIGNALLED:
        return bool(row["by"] != "transport" or row["accepted_before"])
    return row["verdict"] in NOT_NOTICED and harm in row["harms"]


def counted(rows: Iterable[dict[str, Any]]) -> int:
    return sum(row["distinct"] for row in rows)


def asked(flow: FlowSpec) -> tuple[bool, bool]:
    """Whether a flow's ends both show certificates, and whether it sends early data."""
    return bool(flow.options.get("client_auth")), bool(flow.options.get("early_data"))


def test_every_cell_has_a_thousand_trials_though_two_runs_say_nothing() -> None:
    fewest = {key: count for key, count in trials().items() if key[1] != NONE}
    assert len(fewest) == 292 + 128
    largest = max(sessions(spec) for experiment in STUDY.experiments for spec in runs(experiment.name))
    assert min(fewest.values()) - 2 * largest >= FEWEST


def test_every_cell_that_was_played_kept_a_thousand_trials() -> None:
    """Of each experiment for itself: what is drawn alike is not added up."""
    kept = Counter[tuple[str, str, str, bool]]()
    for name, row in played():
        if row["threat"] != NONE:
            kept[name, row["protocol"], row["threat"], bool(row["freshness"])] += row["distinct"]
    assert min(kept.values()) >= FEWEST
    assert f"Each cell keeps at least {min(kept.values()):,} trials." in PAGE


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
    there = {(row["protocol"], "both-sides" in name, "0rtt" in name) for name, row in played()}
    told = {protocol for protocol, _ in tried(data.default(), STUDY.summary)}
    assert told == {it.id for it in TRIED if (it.tried_as, it.both_sides, it.early_data) in there}


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


def _table(heading: str) -> list[list[str]]:
    """The cells of the page's table with this heading, line by line."""
    lines = iter(PAGE.splitlines())
    found = [next(line for line in lines if line.startswith(heading))]
    for line in lines:
        if not line.startswith("|"):
            break
        found.append(line)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found]


def test_the_page_counts_what_transports_let_through() -> None:
    (_, *columns), _, *rows = _table("| unnoticed |")
    assert columns == list(TRANSPORTS)
    assert [name for name, *_ in rows] == list(UNNOTICED)
    for name, *cells in rows:
        for column, said in zip(columns, cells, strict=True):
            for experiment, act, harm in UNNOTICED[name]:
                every = came_to(experiment, TRANSPORTS[column], act)
                through = counted(row for row in every if let_through(row, harm))
                words = "all" if through == counted(every) else str(through)
                # Of UDP, which sends nothing again, a number is no answer there.
                if column != "UDP" or not name.startswith("late"):
                    assert said == (words if every else "–"), (name, column, act)


def test_the_page_says_that_nobody_gave_an_alarm_where_nothing_happened() -> None:
    control = [row for name, row in played() if name == "control"]
    assert {row["verdict"] for row in control} == {UNDISTURBED}
    assert {row["distinct"] for row in control} == {100}
    assert f"in all 100 sessions of each of {len(control)} cells of `control`" in PAGE


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
    assert "41 stand for themselves" in PAGE and "one sample (two bits over UDP and TCP): 22." in PAGE


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
