"""A flow for tests, from plain lists."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gauntlet.metrics.flow import NEVER_NS, FlowData
from gauntlet.metrics.steps import Steps


def flow(
    sent_s: Sequence[float],
    received_s: Sequence[float | None],
    *,
    size_bytes: int = 1000,
    duration_s: float | None = 10.0,
    transfer_bytes: int | None = None,
    capacity: list[tuple[float, float]] | None = None,
    exchanges: Sequence[Mapping[str, Any]] = (),
    interval_s: float | None = None,
    **record: Any,
) -> FlowData:
    """Messages handed over and received at the given instants (None: lost), observed from 0 s."""
    got = [instant for instant in received_s if instant is not None]
    params: dict[str, Any] = {} if duration_s is None else {"duration_s": duration_s}
    if transfer_bytes is not None:
        params["size_bytes"] = transfer_bytes
    if interval_s is not None:
        params["interval_s"] = interval_s
    facts = {
        "stack": "tcp",
        "start_s": 0.0,
        "established_s": 0.0,
        "last_received_s": max(got, default=None),
        "sent_messages": len(sent_s),
        "received_messages": len(got),
        "received_bytes": size_bytes * len(got),
    }
    return FlowData(
        run="r",
        index=0,
        record=facts | record,
        plan={"app_params": params},
        protocol="tcp-bbr",
        run_end_s=20.0,
        sent_ns=np.array([round(instant * 1e9) for instant in sent_s], dtype=np.int64),
        received_ns=np.array(
            [NEVER_NS if instant is None else round(instant * 1e9) for instant in received_s], dtype=np.int64
        ),
        size_bytes=np.full(len(sent_s), size_bytes, dtype=np.int64),
        capacity_bps=Steps.of(capacity) if capacity else None,
        exchanges=exchanges,
    )
