"""Time that a transfer takes."""

from gauntlet.metrics.flow import FlowData
from gauntlet.metrics.kpi import Kpi


def download_time_s(flow: FlowData) -> float | None:
    """From the start of the flow (before its connection is set up) to the arrival of its last byte.

    None for flows that are no transfer, and for transfers that did not complete.
    """
    if flow.plan.get("app_params", {}).get("size_bytes") is None or not flow.complete:
        return None
    return float(flow.record["last_received_s"]) - float(flow.record["start_s"])


KPIS = (
    Kpi(
        name="download_time_s",
        label="Download time",
        shown_unit="s",
        shown_factor=1.0,
        higher_is_better=False,
        definition="From the start of a transfer, connection set-up included, to the arrival of its last "
        "byte. Transfers that did not complete have none.",
        of_flow=download_time_s,
    ),
)
