"""Early data of QUIC in the guest: the first message goes in the first flight of a session that resumes
another one, and a receiver that takes tickets more than once has it twice of who repeats that flight.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from gauntlet import campaign
from gauntlet.evidence import Trial, trials
from gauntlet.evidence.verdict import LATE, PREVENTED, SIGNALLED, UNDETECTED, UNDISTURBED
from gauntlet.experiment import expand, parse_experiment

EXPERIMENT = """
experiment = { name = "early", repetitions = 1 }
scenario = { name = "constant", rate = "20Mbit/s", delay = "20ms" }
threat = [
    { name = "gone", kind = "deletion", message = "first" },
    { name = "late", kind = "delay", message = "first", by = "2s" },
    { name = "within", kind = "repetition", message = "first", by = "1.5s" },
    { name = "after", kind = "repetition", message = "first", by = "10s" },
]

[workload]
app = "safety"
kind = "movement-authority"
interval = "1s"
bound = "500ms"
duration = "6s"
start = "2s"
warm_up = "1s"
resumption = true
early_data = true

[matrix]
protocols = ["quic-quinn-cubic"]
freshness = [false, true]
threat = ["none", "gone", "late", "within", "after"]
"""

Answers = dict[str, tuple[str, str]]
"""By threat: the verdict without the freshness check, and with it."""

ANSWERS: Answers = {
    "none": (UNDISTURBED, UNDISTURBED),
    "gone": (PREVENTED, PREVENTED),
    "late": (LATE, SIGNALLED),
    # Packets of a session that is open belong to it, and each of its numbers is taken once.
    "within": (PREVENTED, PREVENTED),
    # rustls takes a ticket once.
    "after": (PREVENTED, PREVENTED),
}


def _played(folder: Path, fault: str | None = None) -> dict[str, tuple[Trial, Trial]]:
    """By threat: the trial without freshness check and that with it, all trusted; `fault` of the stack."""
    experiment = parse_experiment(EXPERIMENT, "early.toml", folder)
    wrong = {} if fault is None else {"fault": fault}
    specs = [
        replace(spec, flows=tuple(replace(flow, options={**flow.options, **wrong}) for flow in spec.flows))
        for spec in expand(experiment)
    ]
    campaign.play(experiment, folder / "results", specs=specs)
    found = {(it.threat, bool(it.factors["freshness"])): it for it in trials(folder / "results")}
    assert [it.run.id for it in found.values() if not it.run.trusted] == []
    return {threat: (found[threat, False], found[threat, True]) for threat in ANSWERS}


def _answers(played: dict[str, tuple[Trial, Trial]]) -> Answers:
    return {threat: (one.verdict.verdict, other.verdict.verdict) for threat, (one, other) in played.items()}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Trial, Trial]]:
    return _played(tmp_path_factory.mktemp("early"))


def test_the_first_message_does_not_wait_for_the_handshake(played: dict[str, tuple[Trial, Trial]]) -> None:
    run = played["none"][0].run
    (flow,) = run.record["flows"]
    assert flow["established_s"] == pytest.approx(2.0, abs=1e-4)
    before = flow["warm_up"]
    assert before["started_s"] == pytest.approx(1.0, abs=1e-4)
    # The answer of a handshake takes a round trip.
    assert before["established_s"] - before["started_s"] == pytest.approx(0.04, abs=5e-3)
    assert before["finished_s"] < 1.2
    messages = run.messages()
    assert messages is not None
    (first, *_) = messages.to_pylist()
    # With a handshake before it, it would come after 60 ms.
    assert (first["received_ns"] - first["sent_ns"]) / 1e9 == pytest.approx(0.02, abs=2e-3)


def test_threats_to_early_data_come_to_what_tickets_that_are_good_once_promise(
    played: dict[str, tuple[Trial, Trial]],
) -> None:
    assert _answers(played) == ANSWERS


def test_who_takes_a_ticket_again_takes_the_first_flight_again(tmp_path: Path) -> None:
    """Weak on purpose: nothing but the application's numbers is left."""
    found = _played(tmp_path, fault="tickets_kept")
    assert _answers(found) == ANSWERS | {"after": (UNDETECTED, SIGNALLED)}
    taken, refused = found["after"]
    assert taken.verdict.harms == ("repeated",)
    assert (refused.verdict.by, refused.verdict.signal) == ("application", "repeated")
    assert not refused.verdict.accepted_before
    # The flight comes ten seconds and a way after it first did.
    assert refused.verdict.delay_s == pytest.approx(10.02, abs=5e-3)
