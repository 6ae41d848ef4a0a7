"""Packets that vanish by script: exactly those, for every transport, and the certificate knows of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gauntlet.certificate.certify import certify
from tests.guest.conftest import Play, run_plan, tcp_flow

FORWARD, BACK = "mid>east", "mid>west"

STACKS: dict[str, Mapping[str, Any]] = {
    "tcp": {"stack": "tcp", "stack_params": {"congestion_control": "cubic"}},
    "tfo": {"stack": "tcp", "stack_params": {"congestion_control": "cubic", "fast_open": True}},
    "mptcp": {"stack": "mptcp", "stack_params": {"congestion_control": "cubic"}},
    "sctp": {"stack": "sctp", "stack_params": {}},
    "restp": {"stack": "restp", "stack_params": {"profile": "file_arq"}},
    "restp-ip": {"stack": "restp", "stack_params": {"profile": "file_arq", "encapsulation": "ip"}},
}
INITIAL_RTO_S = {"sctp": 3.0}
"""SCTP's (RFC 9260, section 16); that of the others is a second (RFC 6298; docs/restp-spec.md, R-CM-4)."""
SYN_JITTER = {"restp": 0.125, "restp-ip": 0.125}
"""By which part of a timeout a SYN may be repeated sooner (R-CM-4)."""


def _drop(packet: str, link: str, nth: int = 1) -> dict[str, Any]:
    return {"flow": "f0", "packet": packet, "nth": nth, "link": link}


def _certificate(run: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The run's certificate; that it is trusted is part of every test here."""
    found = certify(run, folder)
    assert found["trusted"], [check["sentence"] for check in found["checks"] if not check["passed"]]
    return found


def _finished_s(record: Mapping[str, Any]) -> float:
    (flow,) = record["flows"]
    assert flow["outcome"] == "ok", flow
    return float(flow["finished_s"])


@pytest.mark.parametrize("name", STACKS)
def test_the_first_syn_or_its_answer_vanishes_and_costs_one_timeout(
    play: Play, tmp_path: Path, name: str
) -> None:
    flow = tcp_flow(20_000, **STACKS[name])
    scripts = {
        "none": [],
        "syn": [_drop("syn", FORWARD)],
        "syn-ack": [_drop("syn-ack", BACK)],
        "both": [_drop("syn", FORWARD), _drop("syn-ack", BACK)],
    }
    runs = [run_plan(id=key, flows=[flow], drops=drops) for key, drops in scripts.items()]
    records = play(*runs)
    usual_s = _finished_s(records["none"])
    rto_s = INITIAL_RTO_S.get(name, 1.0)
    for run in runs:
        record = records[run["id"]]
        dropped = [drop["dropped_packets"] for drop in record.get("drops", [])]
        assert dropped == [1] * len(run["drops"])
        certificate = _certificate(run, tmp_path / "out" / run["id"])
        scripted = [check for check in certificate["checks"] if check["name"] == "script"]
        assert len(scripted) == len(run["drops"])
        assert all("vanished in front of" in check["sentence"] for check in scripted)
        # One timeout, give or take the timers' ticks and ResTP's jitter; for both losses the second is as the
        # first or twice that.
        least, most = {"none": (0, 0), "both": (2, 3)}.get(run["id"], (1, 1))
        late_s = _finished_s(record) - usual_s
        least_s = least * rto_s * (1 - SYN_JITTER.get(name, 0.0)) - 0.05
        assert least_s <= late_s <= most * (rto_s + 0.2), (run["id"], late_s)


def test_a_later_syn_can_vanish_too(play: Play, tmp_path: Path) -> None:
    run = run_plan(flows=[tcp_flow(20_000)], drops=[_drop("syn", FORWARD), _drop("syn", FORWARD, nth=2)])
    record = play(run)["run"]
    assert [drop["dropped_packets"] for drop in record["drops"]] == [1, 1]
    first, second = (drop["at_s"] for drop in record["drops"])
    assert 0.95 < second - first < 1.1
    _certificate(run, tmp_path / "out" / "run")


def test_in_the_middle_of_a_tunnel(play: Play, tmp_path: Path) -> None:
    """On the railway network, packets cross the hop inside of GRE."""
    flow = tcp_flow(20_000) | {"from": "tc1", "to": "tsb1"}
    delay = [{"at_s": 0.0, "link": link, "delay_s": 0.02} for link in ("ra>rabc", "rabc>ra")]
    drops = [_drop("syn", "ra>rabc"), _drop("syn-ack", "rabc>ra")]
    run = run_plan(network={"preset": "rail-d34"}, timeline=delay, flows=[flow], drops=drops)
    record = play(run)["run"]
    assert [drop["dropped_packets"] for drop in record["drops"]] == [1, 1]
    assert _finished_s(record) > 0.5 + 2.0
    _certificate(run, tmp_path / "out" / "run")


def test_losses_by_chance_are_told_from_those_by_script(play: Play, tmp_path: Path) -> None:
    timeline = run_plan()["timeline"]
    lossy = [{**entry, "loss": 0.02} if entry["link"] == FORWARD else entry for entry in timeline]
    run = run_plan(timeline=lossy, flows=[tcp_flow(1_000_000)], drops=[_drop("syn", FORWARD)])
    record = play(run)["run"]
    assert record["drops"][0]["dropped_packets"] == 1
    certificate = _certificate(run, tmp_path / "out" / "run")
    (kept,) = [c for c in certificate["checks"] if (c["name"], c["link"]) == ("conservation", FORWARD)]
    assert kept["measured"]["scripted_packets"] == 1
    assert kept["measured"]["lost_packets"] == kept["expected"]["lost_packets"] > 0


def test_the_certificate_does_not_take_the_records_word(play: Play, tmp_path: Path) -> None:
    """A run without the drop is not trusted as one with it, nor the other way round."""
    plain, scripted = run_plan(id="plain", flows=[tcp_flow(20_000)]), run_plan(id="scripted")
    scripted |= {"flows": [tcp_flow(20_000)], "drops": [_drop("syn", FORWARD)]}
    play(plain, scripted)
    assert not certify({**plain, "drops": scripted["drops"]}, tmp_path / "out" / "plain")["trusted"]
    assert not certify({**scripted, "drops": []}, tmp_path / "out" / "scripted")["trusted"]
    folder = tmp_path / "out" / "scripted"
    record = json.loads((folder / "record.json").read_text())
    record["drops"][0]["dropped_packets"] = 2
    (folder / "record.json").write_text(json.dumps(record))
    assert not certify(scripted, folder)["trusted"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"drops": [_drop("syn", "client>west")]}, "the first on the way"),
        ({"drops": [_drop("syn", BACK)]}, "does not cross"),
        ({"drops": [{**_drop("syn", FORWARD), "flow": "f7"}]}, "no flow of this id"),
        ({"flows": [tcp_flow(stack="udp", stack_params={}, app="cbr", app_params={
            "rate_bps": 100_000, "message_size_bytes": 1000, "duration_s": 1.0})],
          "drops": [_drop("syn", FORWARD)]}, "no packets that a network can know as its SYN"),
    ],
)  # fmt: skip
def test_a_script_that_cannot_be_is_refused_in_a_sentence(
    play: Play, changes: dict[str, Any], sentence: str
) -> None:
    record = play(run_plan(**{"flows": [tcp_flow()], **changes}))["run"]
    assert record["outcome"] == "failed"
    assert sentence in record["reason"]
