"""DTLS in the guest: threats to messages come to what its records promise, a lost handshake comes again, and
the same seed gives the same bytes.
"""

from pathlib import Path
from typing import Any

import pytest

from gauntlet.evidence import Trial
from gauntlet.evidence.verdict import DROPPED, LATE, PREVENTED, UNDETECTED, UNDISTURBED
from tests.guest.conftest import Play, played_trials, run_plan, tcp_flow

THREATS = """
experiment = { name = "dtls", repetitions = 1 }
scenario = { name = "constant", rate = "2Mbit/s", delay = "20ms" }
workload = { app = "safety", kind = "position-report", interval = "1s", bound = "500ms", duration = "6s" }
threat = [
    { name = "gone", kind = "deletion", message = 3, attacker = "random-fault" },
    { name = "again", kind = "repetition", message = 3, attacker = "on-path" },
    { name = "changed", kind = "corruption", message = 3, checksums = "repair" },
    { name = "late", kind = "delay", message = 6, by = "1s" },
    { name = "order", kind = "re-sequencing", message = 3 },
    { name = "forged", kind = "masquerade", message = 3 },
    { name = "inside", kind = "masquerade", message = 3, attacker = "in-path-with-keys" },
]

[matrix]
protocols = ["dtls", "dtls-12"]
client_auth = [false, true]
freshness = [false]
threat = ["none", "gone", "again", "changed", "late", "order", "forged", "inside"]
"""

ANSWERS = {
    "none": UNDISTURBED,
    # Nothing is sent again, and nobody is told of a gap.
    "gone": DROPPED,
    "changed": DROPPED,
    # A number is taken once; a copy, and what does not open, is dropped.
    "again": PREVENTED,
    "forged": PREVENTED,
    # A record opens however late it is, and whatever came before it.
    "late": LATE,
    "order": UNDETECTED,
    "inside": UNDETECTED,
}


@pytest.fixture(scope="module")
def threatened(tmp_path_factory: pytest.TempPathFactory) -> list[Trial]:
    return played_trials(THREATS, tmp_path_factory.mktemp("dtls"))


def test_threats_come_to_what_records_promise(threatened: list[Trial]) -> None:
    found: dict[str, set[str]] = {}
    for trial in threatened:
        found.setdefault(trial.threat, set()).add(trial.verdict.verdict)
    assert found == {threat: {verdict} for threat, verdict in ANSWERS.items()}
    assert len(threatened) == 4 * len(ANSWERS)


def _run(seed: int, *loss: tuple[float, float], **params: Any) -> dict[str, Any]:
    """Ten messages towards the server, whose link loses so much from so many seconds on."""
    flow = tcp_flow(
        stack="dtls",
        stack_params=params,
        app="periodic",
        app_params={"message_size_bytes": 160, "interval_s": 1.0, "duration_s": 10.0},
    )
    record = {"messages": True, "socket_interval_s": None, "packets": "full", "taps": None}
    run = run_plan(seed=seed, flows=[flow], record=record)
    lossy = [{"at_s": at_s, "link": "mid>east", "delay_s": 0.025, "loss": share} for at_s, share in loss]
    run["timeline"] = [*(entry for entry in run["timeline"] if entry["link"] != "mid>east"), *lossy]
    return run


@pytest.mark.parametrize("params", [{}, {"version": "1.2", "client_auth": True}])
def test_the_same_seed_gives_the_same_packets(params: dict[str, Any], play: Play, tmp_path: Path) -> None:
    """Keys, certificates, signatures and the instants of repetitions too: packets are compared whole."""
    packets = []
    for seed in (1, 2, 1):
        (told,) = play(_run(seed, (0.0, 0.1), **params))["run"]["flows"]
        assert told["outcome"] == "ok", told["reason"]
        packets.append((tmp_path / "out" / "run" / "packets.bin").read_bytes())
    assert packets[0] == packets[2]
    assert packets[0] != packets[1]


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_a_handshake_that_is_lost_comes_again_after_its_timer(version: str, play: Play) -> None:
    run = _run(1, (0.0, 1.0), (1.2, 0.0), version=version, initial_timer_s=1.0)
    (told,) = play(run)["run"]["flows"]
    assert told["outcome"] == "ok", told["reason"]
    # A second, a quarter more or less by chance, after the flow's start at 0.5 s; then two round trips.
    assert 1.25 < told["established_s"] < 1.9
    assert told["received_messages"] == 10


NARROW = {
    "nodes": [{"name": name} for name in ("client", "west", "east", "server")],
    "links": [
        {"a": "client", "b": "west"},
        {"a": "west", "b": "east", "mtu_bytes": 1280},
        {"a": "east", "b": "server"},
    ],
    "addresses": [
        {"node": "client", "link": "west", "address": "10.0.1.1/24"},
        {"node": "west", "link": "client", "address": "10.0.1.2/24"},
        {"node": "west", "link": "east", "address": "10.0.3.1/24"},
        {"node": "east", "link": "west", "address": "10.0.3.2/24"},
        {"node": "east", "link": "server", "address": "10.0.2.2/24"},
        {"node": "server", "link": "east", "address": "10.0.2.1/24"},
    ],
    "routes": [
        {"node": "client", "to": "default", "via": "10.0.1.2"},
        {"node": "west", "to": "default", "via": "10.0.3.2"},
        {"node": "east", "to": "default", "via": "10.0.3.1"},
        {"node": "server", "to": "default", "via": "10.0.2.2"},
    ],
}
"""Neither host's own link tells that the one between the routers takes less."""


@pytest.mark.parametrize(("version", "received", "timer_s"), [("1.2", 9, 0.0), ("1.3", 10, 0.75)])
def test_a_router_that_reports_a_datagram_as_too_long_costs_that_one(
    version: str, received: int, timer_s: float, play: Play
) -> None:
    """The kernel cuts the ones after it; the report is read once and keeps nobody awake. With 1.2 it is the
    first message, with 1.3 ClientHello, which comes again after its timer.
    """
    source = {"message_size_bytes": 1400, "interval_s": 1.0, "duration_s": 10.0}
    flow = tcp_flow(stack="dtls", stack_params={"version": version}, app="periodic", app_params=source)
    (told,) = play(run_plan(network=NARROW, timeline=[], flows=[flow]))["run"]["flows"]
    assert told["outcome"] == "ok", told["reason"]
    assert (told["sent_messages"], told["received_messages"]) == (10, received)
    assert timer_s <= told["established_s"] - 0.5 < timer_s + 0.5


def test_nobody_is_served_whose_authority_is_not_trusted(play: Play) -> None:
    (told,) = play(_run(1, (0.0, 0.0), fault="wrong_ca"))["run"]["flows"]
    assert told["outcome"] == "failed"
    assert "signed by an authority that is not trusted here" in told["reason"]
    assert told["received_messages"] == 0
