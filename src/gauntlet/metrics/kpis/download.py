"""Time that a transfer takes."""

from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.kpi import Kpi


def download_time_s(flow: FlowData) -> float | None:
    """From the start of the flow (before its connection is set up) to the arrival of its last byte.

    A flow of several objects: from the first request (or the set-up for it) to the end of the last object.
    None for flows that are no transfer, for transfers that did not complete, and where an object failed.
    """
    if flow.exchanges and not flow.goes_on:
        if any(exchange["outcome"] != "ok" for exchange in flow.exchanges):
            return None
        first_ns = min(int(exchange["requested_ns"]) for exchange in flow.exchanges)
        last_ns = max(int(exchange["completed_ns"]) for exchange in flow.exchanges)
        return (last_ns - first_ns) / NS_PER_S
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
        "byte; a page or several files: of the last byte of all. A transfer that did not complete took "
        "longer than it was given: it counts with the run's limit, and how many there are stands first.",
        censored=True,
        over="arrived",
        of_flow=download_time_s,
    ),
)
