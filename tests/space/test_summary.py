"""What the raw samples of the bench of a command link are made into."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gauntlet.errors import UserError
from gauntlet.space import programs, summary
from gauntlet.space.published import HANDSHAKES


def sample(**changes: Any) -> dict[str, Any]:
    """A sample of a message as `flight-bench messages` prints it."""
    return {
        "security": "sdls-gcm-aws-lc",
        "provider": "aws-lc",
        "cipher": "aes-256-gcm",
        "payload_octets": 1024,
        "gap_ms": 0,
        "block": 0,
        "order": 1,
        "operation": "apply",
        "total_ns": 2000,
        "crypto_ns": 500,
        "crypto_calls": 1,
        "system_ns": 4000,
        "upkeep_ns": 0,
        "datagrams": 1,
        "datagram_octets": 1100,
        **changes,
    }


def handshake(**changes: Any) -> dict[str, Any]:
    """A sample of a handshake as `flight-bench handshakes` prints it."""
    return {
        "security": "quic-stream",
        "provider": "aws-lc",
        "cipher": "aes-256-gcm",
        "group": "x25519",
        "signature": "ed25519",
        "mutual": True,
        "resumption": "none",
        "block": 0,
        "order": 1,
        "ground_cpu_ns": 300_000,
        "space_cpu_ns": 500_000,
        "ground_octets": 3000,
        "space_octets": 3000,
        "ground_datagrams": 4,
        "space_datagrams": 4,
        "round_trips": 1,
        "early": False,
        **changes,
    }


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows)


def blocks(totals: list[list[int]], **changes: Any) -> list[dict[str, Any]]:
    return [
        sample(block=block, total_ns=total, order=10 * block + place, **changes)
        for block, values in enumerate(totals)
        for place, total in enumerate(values)
    ]


def test_a_median_is_taken_in_each_block_and_its_interval_is_that_of_the_blocks() -> None:
    # One block was disturbed as a whole: a million samples in it would not make the interval narrower.
    (row,) = summary.messages(table(blocks([[1000, 1100, 90_000], [1200, 1200, 1200], [1000, 1000, 1000]])))
    assert row["n"] == 9
    assert row["median_us"] == pytest.approx(1.1)
    assert row["median_low_us"] < 1.0 and row["median_high_us"] > 1.2
    assert row["crypto_median_us"] == 0.5
    assert row["p99_us"] > 80


def test_what_has_no_meter_has_no_split() -> None:
    (row,) = summary.messages(table(blocks([[1000], [1000]], crypto_ns=None)))
    assert row["crypto_median_us"] is None and row["framing_median_us"] is None


def test_the_three_columns_are_published_cold_mean_and_warm_median() -> None:
    cold = blocks([[15_000, 25_000]] * 15, gap_ms=2000)
    warm = blocks([[600, 700, 800]] * 10)
    kinds = [
        handshake(block=block, mutual=mutual, order=block) for block in range(12) for mutual in (False, True)
    ]
    found = {row["what"]: row for row in summary.three_columns(table(cold + warm), table(kinds))}
    row = found["sdls-gcm-aws-lc (aws-lc) apply, 1024 octets"]
    assert (row["published_us"], row["method_again_us"], row["method_again_n"]) == (19.0, 20.0, 20)
    assert row["corrected_us"] == pytest.approx(0.7)
    row = found["QUIC handshake, x25519, both ends together"]
    assert (row["published_us"], row["method_again_us"], row["method_again_n"]) == (1195, 800.0, 10)
    assert found["QUIC handshake, p-521, both ends together"]["corrected_us"] is None


def test_a_handshake_is_worth_as_many_messages_as_cost_the_same() -> None:
    rows = [
        *blocks([[2000], [2000], [2000]]),
        *blocks([[1000], [1500], [500]], operation="process"),
    ]
    kinds = [handshake(block=block) for block in range(5)]
    (row,) = summary.break_even(table(rows), table(kinds))
    assert row["messages"] == pytest.approx(800_000 / 3000, abs=0.1)
    assert 800_000 / 3500 <= row["messages_low"] < row["messages"] < row["messages_high"] <= 800_000 / 2500


def test_the_total_of_p_256_is_the_sum_and_not_what_was_printed() -> None:
    assert next(row.total for row in HANDSHAKES if row.group == "p-256") == 1291


def test_a_program_that_is_not_built_is_named_with_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUNTLET_FLIGHT_PROGRAMS", str(tmp_path))
    with pytest.raises(UserError, match=r"flight-bench .*`cargo build --release -p flight-links"):
        programs.program(programs.BENCH)
