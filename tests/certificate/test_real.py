"""Captures of the real kernel: trusted as they are, and not once anything in them is changed."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gauntlet.certificate import certify
from gauntlet.certificate.capture import record_dtype
from tests.certificate.conftest import Certificate

DATA = Path(__file__).parent / "data"
SHAPED, DELAYED, PLAIN = "rasa>ra", "ra>rabc", "sb>tsb1"
LAST = PLAIN


class RealRun:
    """A real run that can be spoiled before it is certified."""

    def __init__(self, name: str) -> None:
        self.plan = json.loads((DATA / name / "plan-run.json").read_text())
        self.record = json.loads((DATA / name / "record.json").read_text())
        packets = lzma.decompress((DATA / name / "packets.bin.xz").read_bytes())
        self.packets = np.frombuffer(packets, record_dtype(112)).copy()
        self.messages = pa.ipc.open_file(
            pa.BufferReader((DATA / name / "messages.arrow").read_bytes())
        ).read_all()

    def rows(self, link: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Where the packets of a tap are."""
        (number,) = [tap["tap"] for tap in self.record["taps"] if tap["link"] == link]
        return np.flatnonzero(self.packets["tap"] == number)

    def drop(self, rows: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        """Take packets out of the capture, and out of the counts of their taps."""
        for tap in self.record["taps"]:
            tap["captured_packets"] -= int((self.packets["tap"][rows] == tap["tap"]).sum())
        self.packets = np.delete(self.packets, rows)

    def counters(self, link: str) -> dict[str, Any]:
        """The counters of a link."""
        found: dict[str, Any]
        (found,) = [entry for entry in self.record["links"] if entry["link"] == link]
        return found

    def planned(self, link: str, key: str) -> list[dict[str, Any]]:
        """The plan's changes of one key of a link."""
        return [entry for entry in self.plan["timeline"] if entry["link"] == link and key in entry]

    def ask(self, link: str, key: str, change: Callable[[Any], Any]) -> None:
        """Ask for something else than was played, in the plan and in the record of it."""
        for entries in (self.plan["timeline"], self.record["timeline"]):
            for entry in entries:
                if entry["link"] == link and key in entry:
                    entry[key] = change(entry[key])

    def receive(self, number: int, earlier_ns: int) -> None:
        """Have a message received so much earlier."""
        received = self.messages["received_ns"].to_pylist()
        received[number] -= earlier_ns
        place = self.messages.schema.get_field_index("received_ns")
        self.messages = self.messages.set_column(place, "received_ns", pa.array(received, pa.int64()))

    def verdict(self, folder: Path) -> Certificate:
        """The certificate of what is left."""
        (folder / "record.json").write_text(json.dumps(self.record))
        (folder / "packets.bin").write_bytes(self.packets.tobytes())
        schema = self.messages.schema
        with pa.OSFile(str(folder / "messages.arrow"), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            writer.write_table(self.messages)
        return Certificate(certify(self.plan, folder))


@pytest.fixture(params=["cubic", "sctp"])
def run(request: pytest.FixtureRequest) -> RealRun:
    return RealRun(request.param)


def test_real_runs_are_trusted(run: RealRun, tmp_path: Path) -> None:
    verdict = run.verdict(tmp_path)
    assert verdict.failures == {}
    assert verdict.answer == "confirmed"
    assert verdict.check("pace", SHAPED)["measured"]["waited_packets"] > 100
    assert verdict.check("delay", DELAYED)["measured"]["packets"] > 300
    assert verdict.check("loss", DELAYED)["measured"]["lost_packets"] > 0
    claims = verdict.check("bytes", LAST)
    assert claims["measured"]["claimed_bytes"] == claims["expected"]["carried_bytes"] >= 300_000


def test_real_packets_wait_for_those_before_them_when_the_delay_falls(tmp_path: Path) -> None:
    verdict = RealRun("cubic").verdict(tmp_path)
    assert verdict.check("delay", DELAYED)["measured"]["waited_for_order_packets"] > 0


def test_real_queues_overflow(tmp_path: Path) -> None:
    verdict = RealRun("cubic").verdict(tmp_path)
    assert verdict.check("drops", SHAPED)["measured"]["dropped_packets"] > 0


@pytest.mark.parametrize(
    ("factor", "words"),
    [(0.98, "faster than asked"), (1.02, "slower than asked"), (0.999, "faster than asked")],
)
def test_another_rate_than_asked(run: RealRun, tmp_path: Path, factor: float, words: str) -> None:
    run.ask(SHAPED, "rate_bps", lambda rate: rate * factor)
    failures = run.verdict(tmp_path).failures
    assert any(words in failures.get((name, SHAPED), "") for name in ("rate", "pace"))


@pytest.mark.parametrize("error_s", [20e-6, -20e-6])
def test_another_delay_than_asked(run: RealRun, tmp_path: Path, error_s: float) -> None:
    run.ask(DELAYED, "delay_s", lambda delay: delay + error_s)
    assert set(run.verdict(tmp_path).failures) == {("delay", DELAYED)}


def test_another_queue_than_asked(tmp_path: Path) -> None:
    run = RealRun("cubic")
    run.ask(SHAPED, "queue_limit_bytes", lambda limit: limit - 1500)
    assert "above its limit" in run.verdict(tmp_path).failures["queue", SHAPED]


def test_a_longer_queue_than_asked(tmp_path: Path) -> None:
    run = RealRun("cubic")
    run.ask(SHAPED, "queue_limit_bytes", lambda limit: limit + 1500)
    assert "although the queue had room" in run.verdict(tmp_path).failures["drops", SHAPED]


def test_a_packet_too_early(run: RealRun, tmp_path: Path) -> None:
    run.packets["time_ns"][run.rows(DELAYED)[200]] -= 50_000
    assert ("delay", DELAYED) in run.verdict(tmp_path).failures


def test_a_lost_packet_that_is_not_counted(run: RealRun, tmp_path: Path) -> None:
    run.counters(DELAYED)["dropped_packets"] -= 1
    assert set(run.verdict(tmp_path).failures) == {("conservation", DELAYED)}


def test_a_packet_lost_where_nothing_may_be_lost(run: RealRun, tmp_path: Path) -> None:
    run.drop(run.rows(PLAIN)[100:101])
    assert {("loss", PLAIN), ("conservation", PLAIN)} <= set(run.verdict(tmp_path).failures)


def test_losses_that_were_not_asked_for(run: RealRun, tmp_path: Path) -> None:
    run.ask(DELAYED, "loss", lambda _: 0.0)
    assert "although no loss was asked for" in run.verdict(tmp_path).failures["loss", DELAYED]


def test_a_change_that_came_at_another_time(run: RealRun, tmp_path: Path) -> None:
    for entry in (e for e in run.record["timeline"] if e["link"] == DELAYED and e["at_s"] > 1):
        entry["at_s"] += 0.05
    failures = run.verdict(tmp_path).failures
    assert {("timeline", DELAYED), ("delay", DELAYED)} <= set(failures)


def test_swapped_packets(run: RealRun, tmp_path: Path) -> None:
    first, second = run.rows(DELAYED)[100:102]
    for column in ("packet", "length", "captured"):
        run.packets[column][[first, second]] = run.packets[column][[second, first]]
    assert ("order", DELAYED) in run.verdict(tmp_path).failures


def test_a_changed_payload(run: RealRun, tmp_path: Path) -> None:
    run.packets["packet"][run.rows(DELAYED)[100], 24 + 21] ^= 1
    assert {("origin", DELAYED), ("origin", "rabc>rb")} <= set(run.verdict(tmp_path).failures)


def test_a_byte_more_than_arrived(run: RealRun, tmp_path: Path) -> None:
    run.record["flows"][0]["received_bytes"] += 1
    assert set(run.verdict(tmp_path).failures) == {("bytes", LAST), ("instants", LAST)}


@pytest.mark.parametrize("earlier_ns", [1_000_000, 10_000])
@pytest.mark.parametrize("number", [0, 100, -1])
def test_a_message_received_too_early(run: RealRun, tmp_path: Path, number: int, earlier_ns: int) -> None:
    run.receive(number, earlier_ns)
    failures = run.verdict(tmp_path).failures
    assert set(failures) == {("instants", LAST)}
    assert "1 instant of f0" in failures["instants", LAST]


def test_messages_behind_a_lost_byte_wait_for_it(run: RealRun, tmp_path: Path) -> None:
    """Without the packet that brought a byte of the middle, nothing behind it can have been read."""
    rows = run.rows(LAST)
    run.drop(rows[len(rows) // 2 : len(rows) // 2 + 1])
    sentence = run.verdict(tmp_path).failures["instants", LAST]
    assert "which the captured packets never carried" in sentence


def test_no_messages_in_the_record(run: RealRun, tmp_path: Path) -> None:
    run.messages = run.messages.slice(0, 0)
    verdict = run.verdict(tmp_path)
    assert verdict.failures == {}
    assert verdict.missing == {"messages.arrow"}
    assert verdict.answer == "not checked"
