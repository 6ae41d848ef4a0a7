"""Samples as `flight-bench` prints them, for tests of what is made of them."""

from typing import Any

import pyarrow as pa

Row = dict[str, Any]


def sample(**changes: Any) -> Row:
    """A sample of a message."""
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


def handshake(**changes: Any) -> Row:
    """A sample of a handshake."""
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


def memory(**changes: Any) -> Row:
    """What one security takes of memory."""
    return {
        "security": "none",
        "provider": "-",
        "heap_peak": 4000,
        "heap_peak_with_c": None,
        "rss_peak": 3_000_000,
        **changes,
    }


def table(rows: list[Row]) -> pa.Table:
    """Rows as a table."""
    return pa.Table.from_pylist(rows)


def blocks(totals: list[list[int]], **changes: Any) -> list[Row]:
    """Samples of a cell: a list of times for each block."""
    return [
        sample(block=block, total_ns=total, order=10 * block + place, **changes)
        for block, values in enumerate(totals)
        for place, total in enumerate(values)
    ]
