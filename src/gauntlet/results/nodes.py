"""What the nodes of runs in real time used up, and how busy the machine was: the table `nodes`.

Runs in virtual time have none of it, for computing costs nothing there.
"""

from collections.abc import Iterable

import pyarrow as pa

from gauntlet.results.reader import Run

USED = pa.schema(
    [
        ("cpu_ns", pa.int64()),
        ("peak_memory_bytes", pa.int64()),
        ("peak_socket_memory_bytes", pa.int64()),
        ("voluntary_context_switches", pa.int64()),
        ("involuntary_context_switches", pa.int64()),
        ("queue_dropped_packets", pa.int64()),
        ("socket_dropped_packets", pa.int64()),
    ]
)
"""Columns of a node (docs/formats/record.md); null is what the host cannot tell."""

MACHINE = pa.schema(
    [
        ("accounting", pa.string()),
        ("busy_share_before", pa.float64()),
        ("busy_share_after", pa.float64()),
        ("steal_share", pa.float64()),
    ]
)
"""Columns of the machine during a run, the same in all rows of it."""

SCHEMA = pa.schema([("run", pa.string()), ("node", pa.string()), *USED, *MACHINE])


def nodes_table(runs: Iterable[Run]) -> pa.Table:
    """One row a node of each run that came to its end, in the order of their records."""
    rows = []
    for run in runs:
        host = run.record.get("guest", {}).get("host")
        if not run.ok or host is None:
            continue
        machine = {
            "accounting": host["accounting"],
            "busy_share_before": host["before"]["busy_share"],
            "busy_share_after": host["after"]["busy_share"],
            "steal_share": host["steal_share"],
        }
        for node in run.record.get("nodes", []):
            used = {name: node[name] for name in USED.names}
            rows.append({"run": run.id, "node": node["node"], **used, **machine})
    return pa.Table.from_pylist(rows, schema=SCHEMA)
