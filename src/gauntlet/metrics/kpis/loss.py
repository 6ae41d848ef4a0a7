"""Messages that never reached the receiving application."""

from gauntlet.metrics.flow import FlowData
from gauntlet.metrics.kpi import Kpi


def message_loss_ratio(flow: FlowData) -> float | None:
    """1 - messages received / messages sent, over the whole flow; 1 for a flow that was never established."""
    sent = flow.record.get("sent_messages")
    received = flow.record.get("received_messages")
    if not sent or received is None:
        return 1.0 if flow.never_established else None
    return 1.0 - float(received) / float(sent)


KPIS = (
    Kpi(
        name="message_loss_ratio",
        most=1.0,
        label="Messages lost",
        shown_unit="%",
        shown_factor=100.0,
        higher_is_better=False,
        definition="Share of the messages handed over by the sending application that had not reached the "
        "receiving application when the run ended. Of a flow that was never established nothing arrived: "
        "100 %.",
        of_nothing=1.0,
        of_flow=message_loss_ratio,
    ),
)
