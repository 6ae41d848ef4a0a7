"""What a flow says that it handed over: held against its packets at the first tap, or said to be left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.certificate.conftest import Certificate, Judge
from tests.certificate.railsim import QUIET_TIMELINE, Claims, Run, run_network, steady
from tests.certificate.test_real import RealRun

FIRST, LINE, LAST = "sa>gw", "radio>core", "lan>srv"
COUNT = 200
CALM = steady(1e6, 1000, COUNT * 8000 / 1e6)


def told(run: Run, **changes: Any) -> Run:
    """The run with other claims than the honest ones."""
    run.claims = run.honest_claims()
    for name, value in changes.items():
        setattr(run.claims, name, value)
    return run


def lossy() -> Run:
    return run_network([*QUIET_TIMELINE, {"at_s": 0.0, "link": LINE, "loss": 0.1}], CALM)


def sent(verdict: Certificate, link: str | None) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = [it for it in verdict.certificate["checks"] if (it["name"], it["link"]) == ("sent", link)]
    return found


def test_an_honest_sender_is_confirmed_whatever_the_line_loses(judge: Judge) -> None:
    run = told(lossy())
    assert run.claims is not None
    assert len(run.claims.messages) < COUNT
    verdict = judge(run)
    assert sent(verdict, FIRST)["answer"] == "confirmed"
    assert sent(verdict, FIRST)["measured"]["carried_messages"] == COUNT
    assert verdict.answer == "confirmed"


def test_who_hides_what_was_lost_is_contradicted(judge: Judge) -> None:
    """Loss is one minus received over handed over: without the lost ones it would be 0."""
    run = told(lossy())
    assert run.claims is not None
    came = run.claims.messages.keys()
    run.claims.sent = {number: it for number, it in run.claims.sent.items() if number in came}
    verdict = judge(run)
    assert verdict.answer == "contradicted"
    assert set(verdict.failures) == {("sent", FIRST)}
    assert "handed over, but a packet on sa>gw carries the 200th" in verdict.failures["sent", FIRST]


@pytest.mark.parametrize(("dropped", "answer"), [(None, "contradicted"), (3, "confirmed")])
def test_what_never_left_must_be_what_the_sender_dropped(
    judge: Judge, dropped: int | None, answer: str
) -> None:
    run = told(lossy(), sender_dropped=dropped)
    assert run.claims is not None
    run.claims.sent |= {COUNT + further: (972, 10_000_000) for further in range(3)}
    verdict = judge(run)
    assert verdict.answer == answer
    if dropped is None:
        assert f"carry only {COUNT}" in verdict.failures["sent", FIRST]


def test_what_entered_the_network_was_not_dropped_by_the_sender(judge: Judge) -> None:
    """Losses of the line would look like the sender's own."""
    failures = judge(told(lossy(), sender_dropped=5)).failures
    assert "5 of them dropped by the sender, but the packets on sa>gw carry 200" in failures["sent", FIRST]


@pytest.mark.parametrize("further", [-1, 1])
def test_the_total_is_that_of_the_rows(judge: Judge, further: int) -> None:
    failures = judge(told(lossy(), further_sent=further)).failures
    assert f"claims {COUNT + further} messages handed over, but has {COUNT} rows" in failures["sent", None]


def test_no_more_is_received_than_was_handed_over(judge: Judge) -> None:
    run = told(run_network(QUIET_TIMELINE, CALM), further_messages=1)
    assert "claims 201 messages received of 200" in judge(run).failures["sent", None]


def test_a_message_is_not_handed_over_after_its_packet_passed(judge: Judge) -> None:
    """Its delay would be a millisecond too short."""
    run = told(lossy())
    assert run.claims is not None
    size, at_ns = run.claims.sent[7]
    run.claims.sent[7] = size, at_ns + 1_000_000
    failures = judge(run).failures
    assert "1 message of f0 passed sa>gw before being handed over: message 7" in failures["sent", FIRST]
    assert "1 ms after" in failures["sent", FIRST]


def test_without_a_first_tap_it_is_not_checked_and_takes_trust(judge: Judge) -> None:
    run = told(run_network(QUIET_TIMELINE, CALM))
    for link in (FIRST, "gw>radio", LINE, LAST):
        del run.taps[link]
        run.counters.pop(link, None)
    verdict = judge(run)
    assert "a tap on the first link from cli" in verdict.missing
    assert verdict.answer == "not checked"


@pytest.mark.parametrize("stack", ["quic-quinn", "restp", "mptcp", "tls"])
def test_where_packets_do_not_tell_it_is_said_and_takes_no_trust(judge: Judge, stack: str) -> None:
    run = told(run_network(QUIET_TIMELINE, CALM))
    run.plan["flows"][0]["stack"] = stack
    verdict = judge(run)
    check = sent(verdict, None)
    assert (check["answer"], check["missing"]) == ("not checked", None)
    assert "That f0 handed over 200 messages, and when, was not held against packets" in check["sentence"]


def test_what_an_attacker_with_keys_adds_is_not_held_against_the_application(judge: Judge) -> None:
    run = told(run_network(QUIET_TIMELINE, CALM))
    run.plan["flows"][0].setdefault("app_params", {})["threat"] = {"kind": "masquerade", "message": 3}
    check = sent(judge(run), None)
    assert (check["answer"], check["missing"]) == ("not checked", None)
    assert "stands between application and transport" in check["sentence"]


def test_damage_before_the_first_tap_leaves_nothing_to_hold_it_against(judge: Judge) -> None:
    run = told(run_network(QUIET_TIMELINE, CALM))
    run.plan["timeline"] = [*run.plan["timeline"], {"at_s": 0.0, "link": FIRST, "corrupt": 0.01}]
    assert "may have been damaged" in sent(judge(run), None)["sentence"]


@pytest.mark.parametrize("name", ["cubic", "sctp"])
@pytest.mark.parametrize(("further", "sentence"), [(-1000, "carry {}."), (1000, "carry only {}.")])
def test_bytes_of_a_stream_are_those_of_its_packets(
    tmp_path: Path, name: str, further: int, sentence: str
) -> None:
    real = RealRun(name)
    flow = real.record["flows"][0]
    carried = f"{flow['sent_bytes']:,}"
    flow["sent_bytes"] += further
    failures = real.verdict(tmp_path).failures
    assert set(failures) == {("sent", "sa>rasa")}
    assert failures["sent", "sa>rasa"].endswith(sentence.format(carried))


@pytest.mark.parametrize("name", ["cubic", "sctp"])
def test_messages_of_a_stream_are_as_many_as_their_bytes_make(tmp_path: Path, name: str) -> None:
    """Rows and total agree, and both leave the last messages out: nothing would be lost."""
    real = RealRun(name)
    real.messages = real.messages.slice(0, real.messages.num_rows - 5)
    flow = real.record["flows"][0]
    flow["sent_messages"] = flow["received_messages"] = real.messages.num_rows
    assert "handed over, but" in real.verdict(tmp_path).failures["sent", "sa>rasa"]


@pytest.mark.parametrize("name", ["cubic", "sctp"])
@pytest.mark.parametrize(("messages", "contradicted"), [(0, False), (1, True)])
def test_a_flow_that_was_broken_off_may_have_handed_over_a_part_of_a_message(
    tmp_path: Path, name: str, messages: int, contradicted: bool
) -> None:
    """The transport took the beginning of a message and then no more until the limit: it does not count. A
    whole message that is not counted would hide a loss.
    """
    real = RealRun(name)
    flow = real.record["flows"][0]
    flow["outcome"], flow["finished_s"] = "failed", None
    flow["sent_bytes"] = (flow["sent_messages"] + messages) * flow["message_size_bytes"] + 500
    failures = real.verdict(tmp_path).failures
    assert (("sent", "sa>rasa") in failures) == contradicted


@pytest.mark.parametrize("name", ["cubic", "sctp"])
def test_messages_of_a_stream_are_not_handed_over_late(tmp_path: Path, name: str) -> None:
    real = RealRun(name)
    handed = real.messages["sent_ns"].to_pylist()
    handed[50] += 2_000_000_000
    place = real.messages.schema.get_field_index("sent_ns")
    real.messages = real.messages.set_column(place, "sent_ns", pa.array(handed, pa.int64()))
    assert "message 50" in real.verdict(tmp_path).failures["sent", "sa>rasa"]


@pytest.mark.parametrize("rows", [True, False])
def test_messages_without_bytes_are_no_claim_of_nothing(judge: Judge, rows: bool) -> None:
    """Loss and delay are computed from messages: no bytes must not keep them from being looked at."""
    run = told(lossy(), received_bytes=0)
    assert run.claims is not None
    lost = next(number for number in range(COUNT) if number not in run.claims.messages)
    run.claims.messages[lost] = (972, 19_000_000_000)
    if not rows:
        run.plan["record"]["messages"] = False
        run.claims = Claims(0, {}, further_messages=COUNT, further_sent=COUNT)
    failures = judge(run).failures
    if rows:
        assert "which the captured packets never carried" in failures["instants", LAST]
    else:
        assert "claims 200 messages of 1,448 bytes received, but 0 bytes" in failures["bytes", LAST]
