"""Safety messages in the guest: what each threat comes to over each transport, with and without the
application's freshness check. Answers are known from what the transports promise.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gauntlet.evidence import Trial, cells, fates
from gauntlet.evidence.verdict import DROPPED, LATE, PREVENTED, SIGNALLED, UNDETECTED, UNDISTURBED
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import parse_experiment
from gauntlet.experiment.plans import plan_run
from tests.guest.conftest import EXPERIMENTS, Play, played_trials

UDP, TCP, TLS, QUIC = "udp", "tcp-cubic", "tls-cubic", "quic-quinn-cubic"

Answers = Mapping[tuple[str, str], tuple[str, str]]
"""By threat and protocol: the verdict without the freshness check, and with it."""

READY: Answers = {
    **{("none", protocol): (UNDISTURBED, UNDISTURBED) for protocol in (UDP, TCP, TLS, QUIC)},
    # Nothing in a transport says how old a message is; over UDP it is also behind its successors.
    **{("late", protocol): (LATE, SIGNALLED) for protocol in (TCP, TLS, QUIC)},
    ("late", UDP): (UNDETECTED, SIGNALLED),
    # UDP is weak on purpose here: it has no numbers, and without freshness nobody else has.
    ("again", UDP): (UNDETECTED, SIGNALLED),
    **{("again", protocol): (PREVENTED, PREVENTED) for protocol in (TCP, TLS, QUIC)},
    # A repaired checksum tells nothing. TLS breaks the session, QUIC drops the packet and sends again.
    ("changed", TLS): (SIGNALLED, SIGNALLED),
    ("changed", QUIC): (PREVENTED, PREVENTED),
    # With freshness the genuine message is what betrays the forged one, too late.
    ("forged", UDP): (UNDETECTED, SIGNALLED),
    ("forged", TCP): (UNDETECTED, SIGNALLED),
    ("forged", TLS): (SIGNALLED, SIGNALLED),
    ("forged", QUIC): (PREVENTED, PREVENTED),
}

MORE = """
experiment = { name = "more", repetitions = 1 }
scenario = { name = "constant", rate = "2Mbit/s", delay = "20ms" }
workload = { app = "safety", kind = "position-report", interval = "1s", bound = "500ms", duration = "6s" }
threat = [
    { name = "gone", kind = "deletion", message = 3, attacker = "random-fault" },
    { name = "order", kind = "re-sequencing", message = 3 },
    { name = "fault", kind = "corruption", message = 3, attacker = "random-fault", bits = 3, burst = 32 },
    { name = "foreign", kind = "insertion", message = 3, attacker = "on-path" },
    { name = "off", kind = "masquerade", attacker = "off-path", at = "4.5s" },
]

[matrix]
protocols = ["udp", "tcp-cubic"]
freshness = [false, true]
threat = ["gone", "order", "fault", "foreign", "off"]
"""

MORE_ANSWERS: Answers = {
    ("gone", UDP): (DROPPED, SIGNALLED),
    ("gone", TCP): (PREVENTED, PREVENTED),
    ("order", UDP): (UNDETECTED, SIGNALLED),
    ("order", TCP): (PREVENTED, PREVENTED),
    # The kernel drops what its checksum shows; TCP sends again.
    ("fault", UDP): (DROPPED, SIGNALLED),
    ("fault", TCP): (PREVENTED, PREVENTED),
    # Identities are always checked.
    ("foreign", UDP): (SIGNALLED, SIGNALLED),
    ("foreign", TCP): (SIGNALLED, SIGNALLED),
    # TCP takes nothing whose numbers are not those of the connection, which who sees nothing does not know.
    ("off", UDP): (UNDETECTED, SIGNALLED),
    ("off", TCP): (PREVENTED, PREVENTED),
}

OTHERS = """
experiment = { name = "others", repetitions = 1 }
scenario = { name = "constant", rate = "2Mbit/s", delay = "20ms" }
workload = { app = "safety", kind = "movement-authority", interval = "1s", bound = "2s", duration = "6s" }
threat = [
    { name = "gone", kind = "deletion", message = 3, attacker = "random-fault" },
    { name = "again", kind = "repetition", message = 3, attacker = "on-path" },
]

[matrix]
protocols = ["sctp", "tls-sctp", "quic-s2n-cubic", "restp-file", "restp-protected", "restp-datagram"]
freshness = [false]
threat = ["none", "gone", "again"]
"""

KEYS = """
experiment = { name = "keys", repetitions = 1 }
scenario = { name = "constant", rate = "2Mbit/s", delay = "20ms" }
workload = { app = "safety", kind = "position-report", interval = "1s", bound = "500ms", duration = "6s" }
threat = [
    { name = "again", kind = "repetition", message = 3, attacker = "in-path-with-keys" },
    { name = "gone", kind = "deletion", message = 3, attacker = "in-path-with-keys" },
    { name = "foreign", kind = "insertion", message = 3, attacker = "in-path-with-keys" },
    { name = "order", kind = "re-sequencing", message = 3, attacker = "in-path-with-keys" },
    { name = "changed", kind = "corruption", message = 3, bits = 8, attacker = "in-path-with-keys" },
    { name = "late", kind = "delay", message = 3, by = "700ms", attacker = "in-path-with-keys" },
    { name = "forged", kind = "masquerade", message = 3, attacker = "in-path-with-keys" },
]

[matrix]
protocols = ["tls-cubic", "quic-quinn-cubic", "restp-protected"]
freshness = [false, true]
threat = ["again", "gone", "foreign", "order", "changed", "late", "forged"]
"""

KEYS_ANSWERS = {
    # No transport tells what its keys' owner does; identities are always checked, the rest by freshness.
    "again": (UNDETECTED, SIGNALLED),
    "gone": (DROPPED, SIGNALLED),
    "foreign": (SIGNALLED, SIGNALLED),
    "order": (UNDETECTED, SIGNALLED),
    "late": (LATE, SIGNALLED),
    "forged": (UNDETECTED, SIGNALLED),
}


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> list[Trial]:
    """The ready experiment with one repetition."""
    return played_trials((EXPERIMENTS / "safety.toml").read_text(), tmp_path_factory.mktemp("safety"))


def _answers(found: list[Trial]) -> dict[tuple[str, str], tuple[str, str]]:
    verdicts = {
        (trial.threat, trial.factors["protocol"], bool(trial.factors["freshness"])): trial.verdict.verdict
        for trial in found
    }
    places = dict.fromkeys((threat, protocol) for threat, protocol, _ in verdicts)
    return {place: (verdicts[(*place, False)], verdicts[(*place, True)]) for place in places}


def test_the_ready_experiment_has_the_answers_that_transports_promise(ready: list[Trial]) -> None:
    found = _answers(ready)
    # Where the bit falls decides whether a receiver sees it: in a field, or in what it must believe.
    drawn = {place: found.pop(place) for place in [("changed", UDP), ("changed", TCP)]}
    assert all(set(verdicts) <= {UNDETECTED, SIGNALLED} for verdicts in drawn.values())
    assert found == READY


def test_who_told_and_when(ready: list[Trial]) -> None:
    by = {
        (trial.threat, trial.factors["protocol"]): trial.verdict
        for trial in ready
        if trial.factors["freshness"]
    }
    broken = by["changed", TLS]
    assert (broken.by, broken.signal) == ("transport", "receiving failed: cannot decrypt peer's message")
    assert broken.delay_s == pytest.approx(0.02, abs=1e-3)
    # The copy comes two seconds and a way later.
    assert by["again", UDP].delay_s == pytest.approx(2.02, abs=1e-3)
    # Message 3 was to come 1.5 s after message 2 at the latest.
    for protocol in (UDP, TCP, TLS, QUIC):
        assert by["late", protocol].signal == "timeout"
        assert by["late", protocol].delay_s == pytest.approx(0.52, abs=1e-3)
    assert by["forged", UDP].accepted_before and not by["again", UDP].accepted_before


def test_each_message_of_a_run_has_its_fate(ready: list[Trial]) -> None:
    weak = next(trial for trial in ready if trial.run.id == "udp_freshness-off_threat-again_rep-001")
    found = fates(weak.course)
    assert [fate.fates for fate in found] == [("repeated",) if n == 2 else ("once",) for n in range(10)]
    assert [fate.sent_s for fate in found] == pytest.approx([1.0 + n for n in range(10)], abs=1e-3)
    assert found[2].by is None
    strong = next(trial for trial in ready if trial.run.id == "udp_freshness-on_threat-again_rep-001")
    assert (fates(strong.course)[2].by, fates(strong.course)[1].by) == ("application", None)


def test_a_cell_without_an_unnoticed_trial_is_bounded(ready: list[Trial]) -> None:
    found = {
        (cell.factors["threat"], cell.factors["protocol"], cell.factors["freshness"]): cell
        for cell in cells(ready)
    }
    assert all(cell.trials == 1 for cell in found.values())
    assert (found["again", UDP, 0].bound, found["again", UDP, 1].bound) == (None, 1.0)


def test_further_threats_over_udp_and_tcp(tmp_path: Path) -> None:
    assert _answers(played_trials(MORE, tmp_path)) == MORE_ANSWERS


def test_other_transports_carry_safety_messages_and_lose_none(tmp_path: Path) -> None:
    found = {
        (trial.threat, trial.factors["protocol"]): trial.verdict.verdict
        for trial in played_trials(OTHERS, tmp_path)
    }
    assert found.pop(("gone", "restp-datagram")) == DROPPED
    assert found.pop(("again", "restp-datagram")) == UNDETECTED
    assert {verdict for (threat, _), verdict in found.items() if threat == "none"} == {UNDISTURBED}
    assert {verdict for (threat, _), verdict in found.items() if threat != "none"} == {PREVENTED}


def test_an_attacker_with_keys_gets_past_every_transport(tmp_path: Path) -> None:
    played = played_trials(KEYS, tmp_path)
    found = _answers(played)
    sealed = (TLS, QUIC, "restp-protected")
    # Eight bits of 160 bytes: they may fall into fields that the application checks.
    changed = [found.pop(("changed", protocol)) for protocol in sealed]
    assert all(set(verdicts) <= {UNDETECTED, SIGNALLED} for verdicts in changed)
    assert found == {
        (threat, protocol): KEYS_ANSWERS[threat] for threat in KEYS_ANSWERS for protocol in sealed
    }
    assert {trial.verdict.by for trial in played} == {None, "application"}
    # Nobody's failure: the transport brought all that it was given.
    assert {trial.run.record["flows"][0]["outcome"] for trial in played} == {"ok"}


def test_the_same_seed_gives_the_same_bytes(play: Play, tmp_path: Path) -> None:
    text = (EXPERIMENTS / "safety.toml").read_text()
    specs = {spec.id: spec for spec in expand(parse_experiment(text, "safety.toml", EXPERIMENTS))}
    run: dict[str, Any] = plan_run(specs["udp_freshness-on_threat-changed_rep-002"])
    files = ("safety.arrow", "in_path.arrow", "messages.arrow")
    found = []
    for _ in range(2):
        play(run)
        found.append([(tmp_path / "out" / run["id"] / name).read_bytes() for name in files])
    assert found[0] == found[1]


REOPENED = """
experiment = { name = "reopened", repetitions = 1 }
scenario = { name = "constant", rate = "2Mbit/s", delay = "20ms" }
threat = [
    { name = "gone", kind = "deletion", message = 3, attacker = "random-fault" },
    { name = "changed", kind = "corruption", message = 3, checksums = "repair" },
]

[workload]
app = "safety"
kind = "movement-authority"
interval = "1s"
bound = "500ms"
duration = "8s"
reopen_after = "1s"

[matrix]
protocols = ["tcp-cubic", "tls-cubic", "tls-sctp", "quic-quinn-cubic", "rasta-tls"]
freshness = [true]
threat = ["none", "gone", "changed"]
"""


def test_a_session_that_damage_broke_is_opened_again_and_the_time_until_a_fresh_message_is_known(
    tmp_path: Path,
) -> None:
    played = {(trial.threat, trial.factors["protocol"]): trial for trial in played_trials(REOPENED, tmp_path)}
    broken = {("changed", protocol) for protocol in (TLS, "tls-sctp", "rasta-tls")}
    assert {place for place, trial in played.items() if trial.stop is not None} == broken
    for trial in played.values():
        assert trial.run.record["flows"][0]["outcome"] == "ok"
    times = {protocol: played[threat, protocol].recovery_s for threat, protocol in broken}
    # On its way for 20 ms, told of for 20 ms, a second, two round trips of set-up and the message's own way.
    assert times[TLS] == pytest.approx(0.04 + 1 + 0.08 + 0.02, abs=0.03)
    # TCP and QUIC mend it, and no session ends: nothing is recovered from.
    assert {played["gone", protocol].recovery_s for protocol in (TCP, TLS, QUIC)} == {None}
    (cell,) = cells([played["changed", TLS]])
    assert (cell.stops, cell.recoveries_s) == (1, [times[TLS]])
