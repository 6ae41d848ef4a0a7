"""Time until data can flow: the handshakes of the transport and of TLS."""

from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.kpi import Kpi


def setup_time_s(flow: FlowData) -> float | None:
    """From the beginning of the set-up to the moment at which data can flow.

    A flow with a session for each of its objects: the mean of those sessions that came about. None for
    transports without sessions and for sessions that never came about.
    """
    sessions = [row for row in flow.exchanges if row["connected_ns"] is not None]
    if sessions:
        waits_ns = [(row["secured_ns"] or row["connected_ns"]) - row["requested_ns"] for row in sessions]
        return float(sum(waits_ns)) / len(waits_ns) / NS_PER_S
    established_s = flow.record.get("established_s")
    return None if established_s is None else float(established_s) - float(flow.record["start_s"])


KPIS = (
    Kpi(
        name="setup_time_s",
        label="Session set-up",
        shown_unit="ms",
        shown_factor=1e3,
        higher_is_better=False,
        definition="From the beginning of a session's set-up to the moment at which data can flow: the "
        "transport's handshake and, where there is one, that of TLS. Where each object has a session of its "
        "own, the mean over them. Of a flow that was never established it is longer than the run's limit.",
        censored=True,
        over="set up",
        of_flow=setup_time_s,
    ),
)
