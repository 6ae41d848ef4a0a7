"""When a session is said to have been there: held against the packets of its handshake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.certificate.conftest import Certificate, Judge
from tests.certificate.railsim import QUIET_TIMELINE, run_network, steady
from tests.certificate.test_real import RealRun


def last_back(run: RealRun) -> str:
    """The last tapped link on the way back: the answer comes by it."""
    link: str = run.record["paths"][0]["return"][-1]
    return link


def told(name: str, shift_s: float) -> RealRun:
    """A real run whose session is said to have been there so much later than it was."""
    run = RealRun(name)
    for key in ("transport_established_s", "established_s"):
        run.record["flows"][0][key] = run.record["flows"][0]["established_s"] + shift_s
    return run


def established(verdict: Certificate) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = [it for it in verdict.certificate["checks"] if it["name"] == "established"]
    return found


@pytest.mark.parametrize("name", ["cubic", "sctp"])
def test_it_is_there_when_the_answer_came(tmp_path: Path, name: str) -> None:
    run = RealRun(name)
    check = established(run.verdict(tmp_path))
    assert (check["answer"], check["link"]) == ("confirmed", last_back(run))
    late_s = run.record["flows"][0]["established_s"] - check["expected"]["earliest_s"]
    assert 0 <= late_s < 20e-6


@pytest.mark.parametrize("name", ["cubic", "sctp"])
@pytest.mark.parametrize("shift_s", [-0.05, -0.001, -0.0001])
def test_a_session_before_its_answer(tmp_path: Path, name: str, shift_s: float) -> None:
    """Set-up would be shorter than it was."""
    run = told(name, shift_s)
    failures = run.verdict(tmp_path).failures
    assert set(failures) == {("established", last_back(run))}
    assert "before the answer to its request passed" in failures["established", last_back(run)]


@pytest.mark.parametrize("name", ["cubic", "sctp"])
def test_a_session_long_after_its_answer(tmp_path: Path, name: str) -> None:
    """Throughput would be counted over less time than it took."""
    run = told(name, 0.002)
    failures = run.verdict(tmp_path).failures
    assert "2.0" in failures["established", last_back(run)]
    assert "after the answer to its request passed" in failures["established", last_back(run)]


def test_where_packets_are_damaged_a_later_answer_may_be_the_good_one(tmp_path: Path) -> None:
    run = told("cubic", 0.002)
    for entries in (run.plan["timeline"], run.record["timeline"]):
        entries[-1]["corrupt"] = 1e-9
    assert ("established", last_back(run)) not in run.verdict(tmp_path).failures


@pytest.mark.parametrize("stack", ["tcp", "quic-quinn"])
def test_nothing_is_received_before_the_session_is_there(tmp_path: Path, stack: str) -> None:
    run = told("cubic", 0.0)
    first_s = run.record["flows"][0]["first_received_s"]
    run.record["flows"][0]["established_s"] = first_s + 0.001
    run.plan["flows"][0]["stack"] = stack
    if stack != "tcp":
        # QUIC's answers are datagrams.
        run.packets["packet"][run.rows(last_back(run)), 9] = 17
    assert (
        "after its first byte was received" in run.verdict(tmp_path).failures["established", last_back(run)]
    )


def test_a_session_without_an_answer(tmp_path: Path) -> None:
    run = RealRun("cubic")
    run.drop(run.rows(last_back(run))[:1])
    assert "never came on" in run.verdict(tmp_path).failures["established", last_back(run)]


@pytest.mark.parametrize("stack", ["tls", "rasta-tls"])
def test_tls_needs_the_other_side_to_speak(tmp_path: Path, stack: str) -> None:
    """The receiver of these packets sends no data, so that there was no handshake of TLS."""
    run = RealRun("cubic")
    run.plan["flows"][0].update(stack=stack, stack_params={"congestion_control": "cubic"})
    failures = run.verdict(tmp_path).failures
    assert "the first data of the other side never came" in failures["established", last_back(run)]


UDP = 20
"""Where its header begins."""
HELLO_0, HELLO_1, CHANGE = {8: 22, 21: 2, 26: 0}, {8: 22, 21: 2, 26: 1}, {8: 20}
"""What is said back over DTLS, by places in the header: the receiver's messages 0 and 1, of the type of a
ServerHello, and the ChangeCipherSpec of 1.2."""


@pytest.mark.parametrize(
    ("params", "first", "second"),
    [
        ({}, HELLO_0, HELLO_1),
        ({"cookie": False}, HELLO_1, HELLO_0),
        ({"version": "1.2"}, HELLO_1, CHANGE),
    ],
)
def test_dtls_needs_the_answer_behind_a_request_for_a_cookie(
    tmp_path: Path, params: dict[str, Any], first: dict[int, int], second: dict[int, int]
) -> None:
    run = told("cubic", 0.0)
    run.plan["flows"][0].update(stack="dtls", stack_params=params)
    rows = run.rows(last_back(run))
    run.packets["packet"][rows, 9] = 17
    for row, said in zip(rows, [first, second], strict=False):
        for offset, value in said.items():
            run.packets["packet"][row, UDP + offset] = value
    failures = run.verdict(tmp_path).failures
    assert "before the answer to its request passed" in failures["established", last_back(run)]
    # With the second packet it may be there.
    at_s = (run.packets["time_ns"][rows[1]] + 1000) / 1e9
    run.record["flows"][0].update(established_s=at_s, transport_established_s=at_s)
    assert "before" not in run.verdict(tmp_path).failures.get(("established", last_back(run)), "")


@pytest.mark.parametrize("params", [{"fast_open": True}, {"early_data": True}])
def test_who_need_not_wait_is_not_checked(tmp_path: Path, params: dict[str, bool]) -> None:
    run = told("cubic", -0.04)
    run.plan["flows"][0]["stack_params"] = params
    check = established(run.verdict(tmp_path))
    assert (check["answer"], check["missing"]) == ("not checked", None)


def test_behind_a_session_before_no_answer_is_known_as_its_own(tmp_path: Path) -> None:
    run = RealRun("cubic")
    run.plan["flows"][0]["app_params"]["warm_up_s"] = 1.0
    check = established(run.verdict(tmp_path))
    assert (check["answer"], check["missing"]) == ("not checked", None)
    assert "a session before it had its answer" in check["sentence"]


def test_without_a_tap_on_the_way_back_it_is_not_checked_and_takes_trust(tmp_path: Path) -> None:
    run = RealRun("cubic")
    run.record["paths"][0]["return"] = []
    verdict = run.verdict(tmp_path)
    assert established(verdict)["missing"] == f"a tap on the last link to {run.record['flows'][0]['from']}"
    assert verdict.answer == "not checked"


def test_udp_has_no_session(judge: Judge) -> None:
    run = run_network(QUIET_TIMELINE, steady(1e6, 1000, 1.0))
    assert "established" not in {check["name"] for check in judge(run).certificate["checks"]}


def test_a_session_of_udp_is_no_session(tmp_path: Path) -> None:
    run = RealRun("cubic")
    run.plan["flows"][0]["stack"] = "udp"
    assert "UDP has none" in run.verdict(tmp_path).failures["established", None]


def test_the_answer_is_found_behind_many_other_packets(tmp_path: Path) -> None:
    """Packets of the same addresses and other ports stand before it."""
    run = RealRun("cubic")
    first = run.rows(last_back(run))[0]
    others = np.repeat(run.packets[first : first + 1], 600)
    others["packet"][:, 21] ^= 1
    run.packets = np.insert(run.packets, first, others)
    for tap in run.record["taps"]:
        tap["captured_packets"] += 600 if tap["link"] == last_back(run) else 0
    assert established(run.verdict(tmp_path))["answer"] == "confirmed"
