"""Benches of a command link: what the programs of flight-links print becomes a row a condition and block."""

from typing import Any

import pyarrow as pa
import pytest

from gauntlet.benches import space_attacks, space_handshakes, space_memory, space_messages
from gauntlet.benches.contract import Bench
from gauntlet.benches.registry import BENCHES
from gauntlet.errors import RunError

MESSAGE = {
    "security": "quic-stream",
    "provider": "aws-lc",
    "cipher": "aes-256-gcm",
    "payload_octets": 1024,
    "gap_ms": 2000,
    "operation": "apply",
    "crypto_calls": 2,
    "upkeep_ns": 0,
    "datagrams": 1,
    "datagram_octets": 1070,
}

HANDSHAKE = {
    "security": "quic-stream",
    "provider": "aws-lc",
    "cipher": "aes-256-gcm",
    "group": "p-256",
    "signature": "ed25519",
    "mutual": False,
    "resumption": "none",
    "ground_octets": 1500,
    "space_octets": 2000,
    "ground_datagrams": 2,
    "space_datagrams": 2,
    "round_trips": 1,
    "early": False,
}


def messages(*samples: tuple[int, int, int | None], **changes: Any) -> pa.Table:
    """Samples as (block, all nanoseconds, those of the cipher)."""
    return pa.Table.from_pylist(
        [
            {**MESSAGE, "block": block, "order": 1, "total_ns": total, "crypto_ns": crypto, "system_ns": 5000}
            | changes
            for block, total, crypto in samples
        ]
    )


def test_a_block_of_messages_is_a_repetition() -> None:
    (first, second) = space_messages.table(
        messages((0, 10_000, 2000), (0, 30_000, 2000), (1, 40_000, 4000))
    ).to_pylist()
    assert (first["repetition"], first["samples"]) == (1, 2)
    assert (second["repetition"], second["samples"]) == (2, 1)
    assert first["message_mean_s"] == pytest.approx(20e-6)
    assert first["message_median_s"] == pytest.approx(20e-6)
    assert first["crypto_share"] == pytest.approx(0.1)
    assert (first["payload_bytes"], first["gap_s"], first["datagram_bytes"]) == (1024, 2.0, 1070)


def test_without_a_meter_in_the_cipher_there_is_no_share() -> None:
    (row,) = space_messages.table(messages((0, 10_000, None), security="restp")).to_pylist()
    assert row["crypto_share"] is None
    assert row["crypto_mean_s"] is None
    assert row["message_mean_s"] == pytest.approx(10e-6)


def test_a_handshake_has_a_client_and_a_server() -> None:
    samples = [
        {**HANDSHAKE, "block": 0, "order": place, "ground_cpu_ns": ground, "space_cpu_ns": 200_000}
        for place, ground in enumerate((100_000, 300_000))
    ]
    (row,) = space_handshakes.table(pa.Table.from_pylist(samples)).to_pylist()
    assert row["client_mean_s"] == pytest.approx(200e-6)
    assert row["handshake_mean_s"] == pytest.approx(400e-6)
    assert (row["certificates"], row["handshake_bytes"], row["samples"]) == ("server", 3500.0, 2)


def test_memory_that_was_not_measured_is_none() -> None:
    sample = {"security": "none", "provider": "-", "heap_peak": 3880, "heap_a_link": 112}
    rest = {"rss_peak": 4_000_000, "rss_a_further_link": 2000, "heap_peak_with_c": None, "block": 0}
    (row,) = space_memory.table(pa.Table.from_pylist([{**sample, **rest}])).to_pylist()
    assert row["heap_peak_bytes"] == 3880.0
    assert row["heap_peak_with_c_bytes"] is None


def test_an_attack_succeeds_or_fails() -> None:
    samples = [
        {"attack": "read", "security": security, "mutual": True, "resumption": "none", "block": 0}
        | {"outcome": outcome}
        for security, outcome in (("none", "succeeds"), ("sdls-gcm", "fails"))
    ]
    found = space_attacks.table(pa.Table.from_pylist(samples)).to_pylist()
    assert [row["succeeds"] for row in found] == [1.0, 0.0]


@pytest.mark.parametrize("bench", BENCHES.values(), ids=lambda it: it.name)
def test_what_a_first_look_measures_is_part_of_the_whole(bench: Bench) -> None:
    for name, values in bench.quick.factors.items():
        assert set(values) <= set(bench.full.factors[name])
    assert 3 <= bench.quick.repetitions <= bench.full.repetitions
    assert bench.labels.keys() <= bench.full.factors.keys()


def test_a_program_with_another_security_is_refused() -> None:
    table = space_messages.table(messages((0, 10_000, 2000), security="dtls"))
    with pytest.raises(RunError, match="security = dtls, which its plan does not have"):
        space_messages.BENCH.check(table)
