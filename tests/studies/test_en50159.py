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
from gauntlet.defences.compare import FORGED
from gauntlet.errors import UserError
from gauntlet.evidence.verdict import (
    DROPPED,
    INVALID,
    LATE,
    NOT_NOTICED,
    PREVENTED,
    SIGNALLED,
    UNDETECTED,
    UNDISTURBED,
)
from gauntlet.experiment import expand, load_experiment
from gauntlet.experiment.load import parse_experiment
from gauntlet.experiment.plans import plan_run
from gauntlet.experiment.runspec import FlowSpec, RunSpec
from gauntlet.experiment.schema import MAX_REPETITIONS
from gauntlet.experiment.threats import NONE
from gauntlet.metrics.numbers import number
from gauntlet.studies import ledger, studies
from gauntlet.studies.model import Experiment
from gauntlet.studies.rules.counted import interval
from gauntlet.studies.summary import Summary
from gauntlet.studies.tried import acts_of, cells, tried
from tests.studies.some_runs import some_runs

STUDY = studies()["en50159"]
FEWEST = 1000
"""Trials that a cell has to have though two of its runs say nothing."""
TRIED = [it for it in data.default().protocols if it.tried_as]
NOT_FORGED = frozenset({"sctp", "sctp-tls", "restp", "restp-no-crc", "rasta"})
"""Over these the node makes no packet that gets far enough."""
DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "studies" / "en50159.md").read_text(encoding="utf-8")
ON_PAPER = (DOCS / "en50159.md").read_text(encoding="utf-8")
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
    """Of each condition the first repetition; the others differ in what is drawn."""
    return some_runs(STUDY.experiment(experiment).file, 1)


def every_run(experiment: str, protocol: str) -> list[RunSpec]:
    """All repetitions over one protocol."""
    return some_runs(STUDY.experiment(experiment).file, MAX_REPETITIONS, [protocol])


def sessions(spec: RunSpec) -> int:
    return sum(flow.app == "safety" for flow in spec.flows)


@cache
def trials() -> Counter[tuple[str, str, bool, bool, bool]]:
    """By protocol, act, freshness check, whether both ends show certificates, and whether it is the first
    flight that is meant.
    """
    found: Counter[tuple[str, str, bool, bool, bool]] = Counter()
    for experiment in STUDY.experiments:
        repetitions = load_experiment(experiment.file).about.repetitions
        for spec in runs(experiment.name):
            key = str(spec.factors["protocol"]), spec.link.threat, bool(spec.factors["freshness"])
            found[*key, *({asked(flow) for flow in spec.flows}.pop())] += repetitions * sessions(spec)
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
    assert len(fewest) == 292 + 128 + 18 + 8
    assert f"on or off): {len(fewest)} of them." in PAGE
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
        made = threat.id not in FORGED or protocol.id not in NOT_FORGED
        key = str(protocol.tried_as), threat.id, freshness, protocol.both_sides, protocol.early_data
        count = trials()[key]
        assert count >= FEWEST if made else count == 0, (threat.id, freshness)


@pytest.mark.parametrize("protocol", TRIED, ids=lambda it: it.id)
def test_what_is_not_forged_on_the_way_is_said_of_a_protocol_and_on_the_page(protocol: data.Protocol) -> None:
    """And it is what the node cannot do, not what nobody wrote down."""
    assert bool(protocol.not_forged) == (protocol.id in NOT_FORGED)
    text = f"""
        experiment = {{ name = "forged" }}
        scenario = {{ name = "constant" }}
        workload.app = "safety"
        workload.kind = "movement-authority"
        workload.interval = "1s"
        workload.bound = "500ms"
        workload.duration = "6s"
        threat = [{{ name = "it", kind = "insertion", attacker = "on-path", message = 3 }}]
        matrix = {{ protocols = ["{protocol.tried_as}"], threat = ["it"] }}
    """
    parsed = parse_experiment(text, "forged.toml", Path(), repetitions=1)
    if not protocol.not_forged:
        (spec,) = expand(parsed)
        assert plan_run(spec)["in_path"]
        return
    with pytest.raises(UserError, match="the node cannot make a packet"):
        expand(parsed)
    _, _, *rows = _table("| not tried |")
    where = f"insertion and masquerade on the way over {protocol.name}"
    assert [why for what, _, why in rows if what == where] == [
        f"{protocol.not_forged}; tried in the sender's place"
    ]


def test_acts_that_stand_beside_the_cells_are_those_that_are_played() -> None:
    played = {act for _, act, *_ in trials()} - {NONE}
    assert {act for threat in data.default().threats for act in acts_of(threat.id)} == played


def test_of_early_data_the_first_message_is_meant_and_when_it_goes_is_drawn() -> None:
    starts, numbers = [], set()
    for spec in every_run("quic-0rtt", "quic-quinn-cubic"):
        if (spec.link.threat, spec.factors["freshness"]) != ("deletion", False):
            continue
        plan = plan_run(spec)
        starts += [flow["start_s"] for flow in plan["flows"]]
        numbers |= {rule["match"]["nth"] for rule in plan["in_path"][0]["rules"]}
    assert len(set(starts)) == len(starts) == 1050
    assert numbers == {1}
    assert "of `quic-0rtt` the first message is always meant" in PAGE


def test_trials_of_a_cell_are_drawn_apart() -> None:
    """When a session begins and which message is meant differ from trial to trial."""
    cell = [
        spec
        for spec in every_run("threats", "udp")
        if (spec.link.threat, spec.factors["freshness"]) == ("deletion", False)
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
    told = {protocol for protocol, _ in tried(cells(data.default(), STUDY.summary))}
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


def _table(heading: str, page: str = PAGE) -> list[list[str]]:
    """The cells of a page's table with this heading, line by line."""
    lines = iter(page.splitlines())
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
    for name, *said_of in rows:
        for column, said in zip(columns, said_of, strict=True):
            for experiment, act, harm in UNNOTICED[name]:
                every = came_to(experiment, TRANSPORTS[column], act)
                through = counted(row for row in every if let_through(row, harm))
                words = "all" if through == counted(every) else str(through)
                # Of UDP, which sends nothing again, a number is no answer there.
                if column != "UDP" or not name.startswith("late"):
                    assert said == (words if every else "–"), (name, column, act)


Where = tuple[str, str, str]
"""Experiment, protocol and act."""
RASTA, RASTA_TLS = ("threats", "rasta"), ("both-sides", "rasta-tls")
NO_CRC = ("restp-no-crc", "restp-file-no-crc")
SCTP_TLS: Where = ("threats", "tls-sctp", "corruption-repaired")
COUNTS: list[tuple[str, list[tuple[Where, dict[str, Any]]]]] = [
    ("Of one of the 20 the application's check of form told, so over TCP `gauntlet assess` counts {}",
     [(("threats", "tcp-cubic", "corruption-two-bits"), {"verdict": UNDETECTED})]),
    ("In records of TLS, with other draws, {} and {} had passed TCP's sum, of RaSTA over TLS {},",
     [((name, protocol, "corruption-two-bits"), {"by": "transport"})
      for name, protocol in (("both-sides", "tls-cubic"), ("threats", "tls-cubic"), RASTA_TLS)]),
    ("{} of 1,050 messages of TLS over SCTP were missing and {} late, nobody told",
     [(SCTP_TLS, {"verdict": DROPPED}), (SCTP_TLS, {"verdict": LATE})]),
    ("T_max told of 2 s in {} of 1,050 trials", [((*RASTA_TLS, "delay"), {"by": "transport"})]),
    ("(0 of {} unnoticed; 0 of {} in `threats`",
     [(("rasta-delay", "rasta", "delay"), {"by": "transport"}), ((*RASTA, "delay"), {"by": "transport"})]),
    ("and of 1 s (0 of {})", [(("rasta-delay", "rasta", "delay-short"), {"by": "transport"})]),
    ("was acted on unnoticed in {} of 1,050 trials, as over SCTP and ResTP with CRC",
     [(("forged-as-sender", "rasta", "masquerade-as-sender"), {"verdict": UNDETECTED})]),
    ("ended it over TLS in {} of 1,050 trials, and over RaSTA over TLS in {};",
     [(("threats", "tls-cubic", "corruption-repaired"), {"by": "transport"}),
      ((*RASTA_TLS, "corruption-repaired"), {"by": "transport"})]),
    ("{} of 1,050 were acted on unnoticed, and {} more only the application's check of form found",
     [((*NO_CRC, "corruption-two-bits"), {"verdict": UNDETECTED}),
      ((*NO_CRC, "corruption-two-bits"), {"by": "application"})]),
    ("where the sum was made right {}, and {} more (of {} ResTP told, and {} came right all the same)",
     [((*NO_CRC, "corruption-repaired"), of)
      for of in (
          {"verdict": UNDETECTED}, {"by": "application"}, {"by": "transport"}, {"verdict": PREVENTED}
      )]),
]  # fmt: skip
"""By the page's words: what is counted, without freshness check."""


@pytest.mark.parametrize(("words", "counts"), COUNTS, ids=[words for words, _ in COUNTS])
def test_the_page_has_the_counts_of_the_summary(
    words: str, counts: list[tuple[Where, dict[str, Any]]]
) -> None:
    numbers = [
        counted(row for row in came_to(*where) if all(row[key] == it for key, it in of.items()))
        for where, of in counts
    ]
    assert words.format(*(f"{number:,}" for number in numbers)) in PAGE


def test_the_page_has_the_interval_of_two_bits() -> None:
    rows = came_to("threats", "tcp-cubic", "corruption-two-bits")
    passed = counted(row for row in rows if let_through(row, "changed"))
    low, high = interval(passed, 1050, 0.05)
    share = 100 * passed / 1050
    assert f"It was {passed} ({share:.1f} % [{100 * low:.2f} to {100 * high:.2f}])" in PAGE


def test_the_page_says_how_much_changed_content_the_senders_freshness_check_leaves() -> None:
    left = {
        counted(row for row in came_to("as-sender", protocol, "corruption-as-sender", freshness=True)
                if row["verdict"] == UNDETECTED)
        for protocol in ("tls-cubic", "tls-sctp", "quic-quinn-cubic", "restp-protected")
    }  # fmt: skip
    assert [f"of which {count} of 1,050 remain" in PAGE for count in left] == [True]


@pytest.mark.parametrize(
    ("words", "where"),
    [
        ("T_max told of 2 s in 1,050 of 1,050 trials, after {} s", [(*RASTA_TLS, "delay")]),
        (
            "there the gap told after {} s, as for a lost one",
            [
                (*RASTA, "delay"),
                (*RASTA, "deletion"),
                ("rasta-delay", "rasta", "delay"),
                ("rasta-delay", "rasta", "delay-short"),
            ],
        ),
        (
            "it told loss, exchange and damage after {} to {} s and made them good",
            [(*RASTA, act) for act in ("deletion", "re-sequencing", "corruption", "corruption-repaired")],
        ),
    ],
)
def test_the_page_has_the_times_of_the_summary(words: str, where: list[Where]) -> None:
    told = {f"{row['told_after_s']:.1f}" for it in where for row in came_to(*it)}
    assert words.format(*sorted(told)) in PAGE


def test_the_page_says_that_nobody_gave_an_alarm_where_nothing_happened() -> None:
    control = [row for name, row in played() if name == "control"]
    assert {row["verdict"] for row in control} == {UNDISTURBED}
    assert {row["distinct"] for row in control} == {100}
    assert f"in all 100 sessions of each of {len(control)} cells of `control`" in PAGE


def test_the_page_says_that_nobody_gave_an_alarm_in_a_thousand_sessions_either() -> None:
    nothing: dict[str, list[dict[str, Any]]] = {}
    for name, row in played():
        if row["threat"] == NONE and name != "control":
            nothing.setdefault(name, []).append(row)
    every = [row for rows in nothing.values() for row in rows]
    assert {row["verdict"] for row in every} == {UNDISTURBED}
    assert {row["trials"] for row in every} == {1050}
    assert {number(100 * interval(0, row["distinct"], 0.05)[1]) for row in every} == {"0.285"}
    assert "so at most 0.285 % end in one" in PAGE
    own = {"dtls", "quic-0rtt", "restp-no-crc"}
    one, both = (nothing.pop(name) for name in ("control-thousand", "control-thousand-both-sides"))
    assert {row["freshness"] for row in one + both} == {1}
    assert f"in 1,050 sessions of each of {len(one)} transports" in PAGE
    assert f"in as many of each of {len(both)} with certificates at both ends: nobody gave an alarm" in PAGE
    assert nothing.keys() == own
    assert all({row["freshness"] for row in rows} == {0, 1} for rows in nothing.values())


ENDED = {
    "TLS over TCP, damage": ("availability", "tls-cubic", "corruption-repaired"),
    "TLS over TCP, both ends, damage": ("availability-both-sides", "tls-cubic", "corruption-repaired"),
    "TLS over TCP, masquerade": ("availability-forged", "tls-cubic", "masquerade"),
    "TLS over SCTP, damage": ("availability", "tls-sctp", "corruption-repaired"),
    "RaSTA over TLS, both ends, damage": ("availability-both-sides", "rasta-tls", "corruption-repaired"),
    "RaSTA over TLS, both ends, delay": ("availability-both-sides", "rasta-tls", "delay"),
    "RaSTA over UDP, delay": ("availability", "rasta", "delay"),
}
"""By row of the page's table of stops: its cell."""


def test_the_page_says_how_many_sessions_ended_and_for_how_long() -> None:
    _, _, *rows = _table("| of 1,050 |")
    assert [name for name, *_ in rows] == list(ENDED)
    for name, stopped, again, middle_s, longest_s in rows:
        cell = came_to(*ENDED[name], freshness=True)
        assert counted(cell) == 1050
        (most, *_) = sorted(cell, key=lambda row: -row["stopped"])
        times = [row["recovered_within_s"] for row in cell if row["recovered"]]
        assert [stopped, again, middle_s, longest_s] == [
            f"{sum(row['stopped'] for row in cell):,}",
            f"{sum(row['recovered'] for row in cell):,}",
            f"{most['recovered_after_s']:.2f} s",
            f"{max(times):.2f} s",
        ], name


def test_no_session_of_another_cell_ended() -> None:
    others = {
        (name, row["protocol"], row["threat"])
        for name, row in played()
        if name.startswith("availability") and row["stopped"]
    }
    assert others == set(ENDED.values())


def test_the_page_says_how_many_runs_are_trusted() -> None:
    manifest = json.loads((STUDY.home / "summary" / "manifest.json").read_text())["experiments"]
    planned, trusted = (sum(it[key] for it in manifest.values()) for key in ("planned", "trusted"))
    every = sum(row["trials"] for _, row in played())
    left_out = sum(row["trials"] for _, row in played() if row["verdict"] == INVALID)
    assert f"{trusted:,} of {planned:,} runs are trusted" in PAGE
    assert f"--full           # all: {planned:,} runs, {every:,} sessions" in PAGE
    assert (planned, left_out) == (trusted, 0)
    assert f"all runs are trusted, with all {every:,} sessions" in PAGE


def test_the_page_says_how_large_a_first_look_is() -> None:
    looked = [
        spec
        for it in STUDY.experiments
        if it.quick is not None
        for spec in some_runs(it.file, it.quick.repetitions)
        if it.quick.keeps(spec.factors)
    ]
    assert all(it.quick is not None for it in STUDY.experiments)
    size = f"{len(looked)} runs, {sum(map(sessions, looked)):,} sessions"
    assert f"# a first look, five minutes on two cores: {size}" in PAGE


DTLS = [(f"dtls{ends}", f"dtls{version}") for ends in ("", "-both-sides") for version in ("", "-12")]
EARLY = [("quic-0rtt", "quic-quinn-cubic")]
DAMAGED = ["corruption", "corruption-two-bits", "corruption-repaired"]
ALIKE = [
    ("DTLS", DTLS, [
        ["repetition"], ["deletion"], ["insertion", "masquerade"], ["re-sequencing"], DAMAGED, ["delay"],
        ["masquerade-as-sender"],
    ]),
    ("QUIC with 0-RTT", EARLY, [
        ["repetition"], ["repetition-afterwards"], ["deletion", "re-sequencing", *DAMAGED],
        ["insertion", "masquerade"], ["delay"],
    ]),
]  # fmt: skip
"""By chapter: where it was played, and the acts of each row of the table."""


@pytest.mark.parametrize(("chapter", "where", "acts"), ALIKE, ids=[chapter for chapter, *_ in ALIKE])
def test_the_table_of_a_chapter_has_what_all_trials_of_a_cell_came_to(
    chapter: str, where: list[tuple[str, str]], acts: list[list[str]]
) -> None:
    heading = {"DTLS": "| | without", "QUIC with 0-RTT": "| over quinn |"}[chapter]
    _, _, *rows = _table(heading, ON_PAPER.split(f"\n## {chapter}\n")[1])
    for (name, *said, _), those in zip(rows, acts, strict=True):
        assert name.startswith(those[0].split("-")[0]) or those[0] == "re-sequencing"
        for freshness, act, (experiment, protocol) in product((False, True), those, where):
            cell = came_to(experiment, protocol, act, freshness=freshness)
            if act.endswith("-as-sender") and experiment == "dtls-both-sides":
                assert not cell
                continue
            (only,) = cell
            assert only["trials"] == 1050
            words = "signalled" if only["verdict"] == SIGNALLED else only["verdict"]
            assert said[freshness].startswith(words), (name, act, protocol)


def test_when_the_freshness_check_told_over_dtls_and_of_a_first_flight() -> None:
    told = [
        row
        for where in DTLS
        for act in ("deletion", "re-sequencing", *DAMAGED, "delay")
        for row in came_to(*where, act, freshness=True)
    ]
    assert {f"{row['told_after_s']:.2f}" for row in told} == {"0.52"}
    assert all(row["told_in_time"] == row["trials"] for row in told)
    assert "The check told after 0.52 s and in time" in ON_PAPER
    (forged, _) = (row for where in DTLS for row in came_to(*where, "masquerade-as-sender", freshness=True))
    assert forged["accepted_before"]
    left = {
        counted(row for row in came_to("dtls", version, "corruption-as-sender", freshness=True)
                if row["verdict"] == UNDETECTED)
        for version in ("dtls", "dtls-12")
    }  # fmt: skip
    assert [f"of changed content {count} of 1,050 went unnoticed" in ON_PAPER for count in left] == [True]
    (late,) = came_to(*EARLY[0], "delay", freshness=True)
    assert late["told_in_time"] == 0
    assert f"signalled after {late['told_after_s']:.2f} s, never in time" in ON_PAPER


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
    seen_before = {it.id for it in claims if "recovered" in it.canonical}
    assert len(seen_before) == 3
    left = Counter(
        verdicts[it.id]["verdict"]
        for it in claims
        if it.id not in put_together | again | guesses | seen_before
    )
    assert left == {"reproduced": 41, "not reproduced": 22}
    assert "41 stand for themselves" in PAGE and "one sample (two bits over UDP and TCP): 22." in PAGE


@pytest.mark.parametrize("protocol", ["tls-cubic", "quic-quinn-cubic"])
def test_of_what_is_sealed_insertion_and_masquerade_are_one_act(protocol: str) -> None:
    acts = {
        act: [
            {**rule, "id": ""}
            for spec in runs("forged")
            if (spec.factors["protocol"], spec.link.threat) == (protocol, act)
            for rule in plan_run(spec)["in_path"][0]["rules"]
        ]
        for act in ("insertion", "masquerade")
    }
    assert len(acts["insertion"]) == 50
    assert acts["insertion"] == acts["masquerade"]
