"""Records that are not whole: a sentence that says what is missing, and never trust."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gauntlet.certificate import certify
from gauntlet.certificate.headers import link_local, pair_code, pair_codes
from gauntlet.errors import RunError
from tests.certificate.conftest import Certificate, Judge
from tests.certificate.railsim import QUIET_TIMELINE, Run, ip_packet, run_network, steady


@pytest.fixture
def run() -> Run:
    return run_network(QUIET_TIMELINE, steady(1e6, 1000, 2.0))


def changed_record(run: Run, folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    record = run.write(folder)
    content = json.loads((record / "record.json").read_text())
    change(content)
    (record / "record.json").write_text(json.dumps(content))
    return record


def test_no_record(run: Run, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"record\.json cannot be read"):
        certify(run.plan, tmp_path)


def test_a_record_that_is_no_json(run: Run, tmp_path: Path) -> None:
    record = run.write(tmp_path)
    (record / "record.json").write_text("{")
    with pytest.raises(RunError, match="is not valid JSON"):
        certify(run.plan, record)


def test_a_record_of_another_format(run: Run, tmp_path: Path) -> None:
    record = changed_record(run, tmp_path, lambda content: content.update(version=2))
    with pytest.raises(RunError, match="not a record of version 1"):
        certify(run.plan, record)


def test_a_record_that_lacks_a_key(run: Run, tmp_path: Path) -> None:
    record = changed_record(run, tmp_path, lambda content: content.pop("taps"))
    with pytest.raises(RunError, match="lacks the key 'taps'"):
        certify(run.plan, record)


def test_the_record_of_another_run(run: Run, tmp_path: Path) -> None:
    record = changed_record(run, tmp_path, lambda content: content.update(seed=99))
    assert "with seed 99" in Certificate(certify(run.plan, record)).failures["identity", None]


def test_a_run_that_kept_no_packets(run: Run, tmp_path: Path) -> None:
    run.plan["record"]["packets"] = "none"
    verdict = Certificate(certify(run.plan, run.write(tmp_path)))
    assert "nothing could be checked" in verdict.undecided
    assert "captured packets" in verdict.missing
    assert verdict.failures == {}
    assert verdict.answer == "not checked"
    assert verdict.certificate["trusted"] is False


def test_a_record_without_its_packets(run: Run, tmp_path: Path) -> None:
    record = run.write(tmp_path)
    (record / "packets.bin").unlink()
    verdict = Certificate(certify(run.plan, record))
    assert "has no packets.bin" in verdict.undecided
    assert "packets.bin" in verdict.missing
    assert verdict.answer == "not checked"


def test_a_capture_that_is_cut_off(run: Run, tmp_path: Path) -> None:
    record = run.write(tmp_path)
    content = (record / "packets.bin").read_bytes()
    (record / "packets.bin").write_bytes(content[:-100])
    sentence = Certificate(certify(run.plan, record)).failures["capture", None]
    assert "ends in the middle of a packet (28 bytes too many)" in sentence
    assert "but packets.bin holds" in sentence


def test_a_capture_of_unknown_taps(run: Run, tmp_path: Path) -> None:
    record = changed_record(run, tmp_path, lambda content: content["taps"].pop())
    assert (
        "taps that the record does not list"
        in Certificate(certify(run.plan, record)).failures["capture", None]
    )


def test_stamps_that_run_backwards(judge: Judge, run: Run) -> None:
    run.taps["radio>core"].reverse()
    assert "not in order of time" in judge(run).failures["capture", None]


def test_a_run_without_any_traffic(judge: Judge) -> None:
    verdict = judge(run_network(QUIET_TIMELINE, lambda _: []))
    assert verdict.failures == {}
    assert "nothing to check where no packet came" in verdict.undecided
    rate = verdict.impairment("gw>radio", "rate")
    assert (rate["answer"], rate["why"], rate["missing"]) == ("not checked", "no packet came to it", None)


def test_packets_of_programs_are_timed_but_may_get_lost(run: Run, tmp_path: Path) -> None:
    def forget(content: dict[str, Any]) -> None:
        content["flows"] = []
        content["paths"][0]["flow"] = "cli-srv"

    run.taps["lan>srv"].pop(50)
    late = run.taps["radio>core"][70]
    run.taps["radio>core"][70] = replace(late, time_ns=late.time_ns + 50_000)
    verdict = Certificate(certify(run.plan, changed_record(run, tmp_path, forget)))
    assert "Lost packets of cli-srv could not be noticed" in verdict.undecided
    assert set(verdict.failures) == {("delay", "radio>core"), ("delay", "lan>srv")}


def test_a_certificate_is_plain_json(judge: Judge, run: Run) -> None:
    certificate = judge(run).certificate
    assert json.loads(json.dumps(certificate, allow_nan=False)) == certificate
    assert set(certificate) == {
        "format",
        "version",
        "run",
        "verdict",
        "trusted",
        "impairments",
        "checks",
        "undecided",
    }
    assert {check["passed"] for check in certificate["checks"]} == {True}


@pytest.mark.parametrize("ends", [("10.0.1.1", "10.0.2.1"), ("fd00:1::1", "fd00:2::1")])
def test_addresses_in_packets_and_as_text_have_one_code(ends: tuple[str, str]) -> None:
    packet = np.frombuffer(ip_packet(*ends, 7, 200)[:88], np.uint8)[None, :]
    assert int(pair_codes(packet)[0]) == pair_code(*ends)
    assert pair_code(*ends) != pair_code(*reversed(ends))


@pytest.mark.parametrize(
    ("destination", "local"),
    [("224.0.0.1", True), ("10.0.0.1", False), ("ff02::1", True), ("fe80::1", True), ("fd00::1", False)],
)
def test_link_local_packets(destination: str, local: bool) -> None:
    source = "10.0.0.2" if "." in destination else "fd00::2"
    packet = np.frombuffer(ip_packet(source, destination, 7, 200)[:88], np.uint8)[None, :]
    assert bool(link_local(packet)[0]) is local
