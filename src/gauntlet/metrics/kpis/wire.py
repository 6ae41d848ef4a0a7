"""What a flow costs the line."""

from gauntlet.metrics.flow import FlowData
from gauntlet.metrics.kpi import Kpi


def wire_bytes_per_byte(flow: FlowData) -> float | None:
    """Bytes that entered the line for this flow, in both directions, for each application byte that arrived.

    None where the line served other flows too, and where nothing arrived.
    """
    objects = [exchange for exchange in flow.exchanges if exchange["outcome"] == "ok"]
    useful_bytes = sum(int(exchange["size_bytes"]) for exchange in objects)
    useful_bytes = useful_bytes or int(flow.record.get("received_bytes") or 0)
    if flow.wire_bytes is None or useful_bytes == 0:
        return None
    return flow.wire_bytes / useful_bytes


KPIS = (
    Kpi(
        name="wire_bytes_per_byte",
        label="Bytes on the wire per byte",
        shown_unit="",
        shown_factor=1.0,
        higher_is_better=False,
        definition="IP packets that entered the line in either direction (their headers, those of tunnels, "
        "set-up, acknowledgements and repeats included), in bytes, for each application byte that arrived.",
        of_flow=wire_bytes_per_byte,
    ),
)
