"""How much disk a real flow's messages take, as the store writes them."""

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from gauntlet.results import parquet
from speed import line

MESSAGE_BYTES = 100


def disk(messages: int, core: int) -> dict[str, Any]:
    """Mebibytes a million messages, from a TCP BBR flow of so many messages of 100 bytes."""
    params = {"size_bytes": messages * MESSAGE_BYTES, "message_size_bytes": MESSAGE_BYTES}
    flow = line.flow("tcp", {"congestion_control": "bbr"}, "bulk", params)
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as name:
        folder = Path(name)
        line.play(line.run(flow, {"messages": True, "packets": "headers"}), folder, core)
        with pa.OSFile(str(folder / line.RUN_ID / "messages.arrow")) as source:
            table = pa.ipc.open_file(source).read_all()
        stored = folder / "messages.parquet"
        parquet.write(table, stored)
        size_bytes = stored.stat().st_size
    return {"messages": table.num_rows, "mebibytes_per_million": size_bytes / table.num_rows * 1e6 / 2**20}
