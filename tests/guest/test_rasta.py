"""RaSTA in the guest, over UDP, over two channels and within TLS: messages arrive, threats to them come to
what its supervision promises, and what it tells its user is in verdicts and records.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gauntlet.evidence import Trial, cells
from gauntlet.evidence.verdict import LATE, PREVENTED, SIGNALLED, UNDETECTED, UNDISTURBED
from tests.guest.conftest import Play, played_trials, run_plan, tcp_flow

UDP, TLS = "rasta", "rasta-tls"

THREATS = """
experiment = { name = "rasta", repetitions = 1 }
scenario = { name = "constant", rate = "2Mbit/s", delay = "20ms" }
workload = { app = "safety", kind = "position-report", interval = "1s", bound = "500ms", duration = "6s" }
threat = [
    { name = "gone", kind = "deletion", message = 3, attacker = "random-fault" },
    { name = "again", kind = "repetition", message = 3, attacker = "on-path" },
    { name = "order", kind = "re-sequencing", message = 3 },
    { name = "changed", kind = "corruption", message = 3, checksums = "repair" },
    { name = "late", kind = "delay", message = 3, by = "1s" },
    { name = "later", kind = "delay", message = 3, by = "3s" },
]

[matrix]
protocols = ["rasta", "rasta-tls"]
freshness = [false]
threat = ["none", "gone", "again", "order", "changed", "late", "later"]
"""

ANSWERS = {
    **{("none", protocol): UNDISTURBED for protocol in (UDP, TLS)},
    # What is missing, the next heartbeat shows: it comes again within the bound, and the user is told.
    ("gone", UDP): SIGNALLED,
    ("order", UDP): SIGNALLED,
    ("changed", UDP): SIGNALLED,
    ("late", UDP): SIGNALLED,
    # TCP repairs below RaSTA, which hears of nothing; a changed record ends the session of TLS.
    ("gone", TLS): PREVENTED,
    ("changed", TLS): SIGNALLED,
    # A second is within T_max, so that RaSTA takes it, whatever the application's bound is; three are not.
    ("late", TLS): LATE,
    **{("again", protocol): PREVENTED for protocol in (UDP, TLS)},
    **{("later", protocol): SIGNALLED for protocol in (UDP, TLS)},
}

WEAK = """
experiment = { name = "weak", repetitions = 1 }
scenario = { name = "constant", rate = "20Mbit/s", delay = "20ms" }
threat = [{ name = "changed", kind = "corruption", message = "drawn", checksums = "repair" }]

[workload]
app = "safety"
kind = "position-report"
interval = "1s"
bound = "500ms"
duration = "6s"
sessions = 8

[matrix]
protocols = ["rasta"]
safety_code = ["md4-half", "none"]
freshness = [true]
threat = ["changed"]
"""

CHANNELS = """
experiment = { name = "channels", repetitions = 1 }
scenario = { name = "constant", rate = "2Mbit/s", delay = "20ms" }
link = { network = "wire-dual" }
workload = { app = "safety", kind = "position-report", interval = "1s", bound = "500ms", duration = "6s" }
threat = [
    { name = "gone", kind = "deletion", message = 3, attacker = "random-fault" },
]

[matrix]
protocols = ["rasta"]
homes = [2]
n_diagnosis = [5, 200]
threat = ["none", "gone"]
"""


@pytest.fixture(scope="module")
def threatened(tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, str], Trial]:
    """A trial of each threat, by threat and protocol."""
    found = played_trials(THREATS, tmp_path_factory.mktemp("rasta"))
    return {(trial.threat, trial.factors["protocol"]): trial for trial in found}


def test_threats_come_to_what_rasta_promises(threatened: Mapping[tuple[str, str], Trial]) -> None:
    found = {place: trial.verdict.verdict for place, trial in threatened.items()}
    # Within TLS a message that waits for the next one is sent again by TCP meanwhile.
    assert found.pop(("order", TLS)) == PREVENTED
    assert found == ANSWERS


def test_what_rasta_tells_is_the_signal(threatened: Mapping[tuple[str, str], Trial]) -> None:
    changed = threatened["changed", UDP].verdict
    assert (changed.by, changed.harms, changed.accepted_before) == ("transport", (), False)
    assert changed.signal == (
        "RaSTA lacks a message and asked for it again (safety_code 1, sequence_number 1)"
    )
    # The heartbeat follows T_h after the message, on the same way.
    assert changed.delay_s == pytest.approx(0.3, abs=0.03)
    gone = threatened["gone", UDP].verdict
    # The frame of the heartbeat waits for the one before it for T_seq.
    assert gone.delay_s == pytest.approx(0.4, abs=0.03)
    assert gone.signal == "RaSTA lacks a message and asked for it again (sequence_number 1)"
    ended = threatened["later", TLS].verdict
    assert ended.by == "transport"
    assert ended.signal is not None and ended.signal.startswith("timed out: RaSTA ended the connection")


def test_what_rasta_counts_is_in_the_record(threatened: Mapping[tuple[str, str], Trial]) -> None:
    def counts(threat: str) -> Any:
        return threatened[threat, UDP].run.record["flows"][0].get("counts", {})

    assert counts("none") == {}
    assert counts("again") == {"frames_repeated": 1}
    assert counts("gone")["frames_given_up"] == counts("gone")["retransmissions_requested"] == 1
    assert counts("changed")["errors_safety_code"] == 1
    assert "frames_given_up" not in counts("changed")


def test_who_leaves_the_safety_code_out_is_found_out(tmp_path: Path) -> None:
    """Weak on purpose: what is changed passes UDP's sum, which was made right, and RaSTA has nothing else."""
    code, none = cells(played_trials(WEAK, tmp_path))
    assert (code.factors["safety_code"], none.factors["safety_code"]) == ("md4-half", "none")
    assert dict(code.verdicts) == {SIGNALLED: 8}
    assert dict(code.by) == {"transport": 8}
    assert code.bound == 3 / 8
    # Where the bit falls into a field that the application checks, that one tells.
    assert none.verdicts[UNDETECTED] > 4
    assert set(none.by) <= {"application"}
    assert none.bound is None


def test_over_two_channels_nobody_misses_what_one_of_them_loses(tmp_path: Path) -> None:
    found = {
        (trial.threat, trial.factors["n_diagnosis"]): trial for trial in played_trials(CHANNELS, tmp_path)
    }
    counts = {place: trial.run.record["flows"][0]["counts"] for place, trial in found.items()}
    assert {found["none", window].verdict.verdict for window in (5, 200)} == {UNDISTURBED}
    assert found["gone", 200].verdict.verdict == PREVENTED
    assert counts["gone", 200]["frames_repeated"] == counts["none", 200]["frames_repeated"] - 1
    # Who looks at the channels more often is told that one of them loses.
    told = found["gone", 5].verdict
    assert (told.verdict, told.by, told.harms) == (SIGNALLED, "transport", ())
    assert told.signal == "RaSTA's diagnosis of channel 1: 1 of 5 frames did not come"
    assert counts["gone", 5]["channel_1_missed"] == 1
    assert "channel_1_missed" not in counts["none", 5]


def _periodic(name: str, stack: str, seed: int = 1, **params: Any) -> dict[str, Any]:
    source = {"message_size_bytes": 200, "interval_s": 0.5, "duration_s": 10}
    flow = tcp_flow(stack=stack, stack_params=params, app="periodic", app_params=source)
    record = {"messages": True, "socket_interval_s": None, "packets": "full", "taps": None}
    return run_plan(id=name, flows=[flow], seed=seed, record=record)


@pytest.mark.parametrize(("stack", "params"), [(UDP, {}), (TLS, {"congestion_control": "cubic"})])
def test_periodic_messages_arrive_over_one_session_and_over_many(
    stack: str, params: dict[str, Any], play: Play
) -> None:
    kept, fresh = _periodic("kept", stack, **params), _periodic("fresh", stack, **params)
    fresh["flows"][0]["app_params"]["connection"] = "fresh"
    records = play(kept, fresh)
    for name in ("kept", "fresh"):
        (told,) = records[name]["flows"]
        assert told["outcome"] == "ok", told["reason"]
        assert told["sent_messages"] == told["received_messages"] == 20
    # One round trip of RaSTA, after those of TCP and TLS 1.3.
    opened_s = records["kept"]["flows"][0]["established_s"] - 0.5
    assert opened_s == pytest.approx(0.05 if stack == UDP else 0.15, abs=0.01)


def test_numbers_follow_from_the_seed(play: Play, tmp_path: Path) -> None:
    def packets(name: str, seed: int) -> bytes:
        play(_periodic(name, UDP, seed))
        return (tmp_path / "out" / name / "packets.bin").read_bytes()

    one = packets("one", 1)
    assert packets("again", 1) == one
    assert packets("other", 2) != one
