"""Numbers of a flow that only D3.5 asks for."""

from collections.abc import Callable, Mapping

from gauntlet.metrics.flow import FlowData
from gauntlet.metrics.kpis.download import download_time_s


def throughput_with_setup_bps(flow: FlowData) -> float | None:
    """Application bits of a transfer over its download time, set-up included; None when it did not complete.

    D3.5, section 4.4, divides by the entire duration of the transmission.
    """
    size_bytes, time_s = flow.plan.get("app_params", {}).get("size_bytes"), download_time_s(flow)
    return None if size_bytes is None or not time_s else 8 * float(size_bytes) / time_s


def fetch_time_s(flow: FlowData) -> float | None:
    """Time from being logged in to the last byte of a file; None when the file did not arrive whole.

    It is what D3.5 prints for FTP: at a round trip of 0.3 s a whole session with a file of 0.5 MB cannot be
    shorter than 3.9 s (eight round trips until the first byte comes, five more until a doubling window has
    let the last one go). Its Figure 21a begins at 3 s; after the log-in nine round trips, 2.7 s, are left.
    """
    established_s = flow.record.get("established_s")
    if established_s is None or download_time_s(flow) is None:
        return None
    return float(flow.record["last_received_s"]) - float(established_s)


MEASURES: Mapping[str, Callable[[FlowData], float | None]] = {
    "throughput_with_setup_bps": throughput_with_setup_bps,
    "fetch_time_s": fetch_time_s,
}
"""By the name that study.toml gives."""
