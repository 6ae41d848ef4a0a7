"""Numbers of a flow that only D3.5 asks for."""

from gauntlet.metrics.flow import FlowData
from gauntlet.metrics.kpi import Kpi
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


THROUGHPUT_WITH_SETUP = Kpi(
    name="throughput_with_setup_bps",
    label="Throughput, set-up included",
    shown_unit="Mbit/s",
    shown_factor=1e-6,
    higher_is_better=True,
    definition="Application bits of a transfer over the time from the start of its connection's set-up to "
    "the arrival of its last byte. A transfer that did not complete has 0.",
    of_nothing=0.0,
    of_flow=throughput_with_setup_bps,
)

FETCH_TIME = Kpi(
    name="fetch_time_s",
    label="Download time after log-in",
    shown_unit="s",
    shown_factor=1.0,
    higher_is_better=False,
    definition="Time from the end of the log-in, which the server has confirmed, to the arrival of a file's "
    "last byte. One that did not complete counts with its run's limit.",
    censored=True,
    of_flow=fetch_time_s,
)
