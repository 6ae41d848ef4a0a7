"""Rows of the table of flows: what a flow is judged by, and whether it did what it was to do."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

TRANSFERS = frozenset({"bulk", "ftp", "ftps", "files", "page"})
"""Applications that have a number of bytes to bring and are then done."""

JUDGED_BY = {
    **dict.fromkeys(TRANSFERS, "download_time_s"),
    "web": "page_load_time_s",
    "periodic": "message_delay_with_setup_s",
    "voip": "voip_mos",
    "video": "video_quality",
}
"""What flows of an application are judged by first; all others by what they make of the line."""


def completed(flow: Mapping[str, Any]) -> bool:
    """Whether a flow of a table did what it was to do.

    Tables that an earlier version made do not say it. Then it is the flow's outcome, and of a transfer that
    it has a time: one that has none did not bring everything, whatever its outcome says.
    """
    said = flow.get("completed")
    if said is not None:
        return bool(said)
    unfinished = flow.get("app") in TRANSFERS and flow.get("download_time_s", 0.0) is None
    return flow.get("outcome") == "ok" and not unfinished


def nothing_came(flows: pa.Table) -> str:
    """That no flow of the table did what it was to do or brought a single byte, with the most frequent
    reason; empty where one did, and for tables of an earlier version, which do not say it.
    """
    if "completed" not in flows.column_names or pc.any(flows["completed"]).as_py():
        return ""
    if (pc.max(flows["received_bytes"]).as_py() or 0) > 0:
        return ""
    reasons = Counter(str(reason) for reason in flows["reason"].to_pylist() if reason)
    (why, count), *others = reasons.most_common() or [("no run came to its end", 0)]
    of = f" ({count} of {flows.num_rows} flows)" if others else ""
    return f"No run gave a number: {why.rstrip('.')}{of}."
