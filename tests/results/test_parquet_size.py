"""A million messages on disk: small enough, and read back exactly."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from gauntlet.results import parquet

MILLION = 1_000_000


def million_messages() -> pa.Table:
    """Messages as a greedy flow makes them: hand-over in bursts, arrival paced by a link of 5.2 Mbit/s, some
    lost.
    """
    rng = np.random.default_rng(3)
    received = np.cumsum(rng.normal(2_300_000, 20_000, MILLION)).astype(np.int64)
    sent = np.maximum.accumulate(received - rng.integers(100_000_000, 900_000_000, MILLION))
    return pa.table(
        {
            "flow": pa.array(np.zeros(MILLION, dtype=np.uint16)),
            "seq": pa.array(np.arange(MILLION, dtype=np.uint32)),
            "size_bytes": pa.array(np.full(MILLION, 1448, dtype=np.uint32)),
            "sent_ns": pa.array(sent),
            "received_ns": pa.array(received, mask=rng.random(MILLION) < 0.01),
        }
    )


def test_a_million_messages_stay_under_30_mb(tmp_path: Path) -> None:
    table = million_messages()
    parquet.write(table, tmp_path / "m.parquet")
    assert (tmp_path / "m.parquet").stat().st_size < 30e6
    assert parquet.read(tmp_path / "m.parquet", "it").equals(table)
