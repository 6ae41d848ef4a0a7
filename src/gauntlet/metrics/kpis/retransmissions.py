"""How much a reliable transport sent again."""

import numpy as np

from gauntlet.metrics.flow import FlowData
from gauntlet.metrics.kpi import Kpi


def retransmissions_per_message(flow: FlowData) -> float | None:
    """Packets sent again, by the sender's own count at its last sample, over messages that arrived."""
    total = flow.sockets.get("retransmitted_packets")
    received = flow.record.get("received_messages")
    if total is None or not total.size or not received:
        return None
    return float(np.nanmax(total)) / float(received)


KPIS = (
    Kpi(
        name="retransmission_ratio",
        label="Retransmissions",
        shown_unit="%",
        shown_factor=100.0,
        higher_is_better=False,
        definition="Packets that the sender's transport sent again (its own count), for each hundred "
        "messages that arrived, whoever lost them: of QUIC and ResTP also those that the queue of the "
        "sender's own device refused. A message of the default size is one packet, give or take the "
        "tunnel's headers.",
        of_flow=retransmissions_per_message,
    ),
)
