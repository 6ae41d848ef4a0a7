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


THROUGHPUT_WITH_SETUP = Kpi(
    name="throughput_with_setup_bps",
    label="Throughput, set-up included",
    shown_unit="Mbit/s",
    shown_factor=1e-6,
    higher_is_better=True,
    definition="Application bits of a transfer over the time from the start of its connection's set-up to "
    "the arrival of its last byte.",
    of_flow=throughput_with_setup_bps,
)
