"""Messages that never reached the receiving application, and those among them that no link lost."""

from gauntlet.metrics.flow import FlowData
from gauntlet.metrics.kpi import Kpi


def message_loss_ratio(flow: FlowData) -> float | None:
    """1 - messages received / messages sent, over the whole flow; 1 for a flow that was never established."""
    sent = flow.record.get("sent_messages")
    received = flow.record.get("received_messages")
    if not sent or received is None:
        return 1.0 if flow.never_established else None
    return 1.0 - float(received) / float(sent)


def sender_drop_ratio(flow: FlowData) -> float | None:
    """Messages that a queue of the sender's own dropped / messages sent; None for transports without the
    count in their record, which never drop any.
    """
    sent = flow.record.get("sent_messages")
    dropped = flow.record.get("sender_dropped_messages")
    return float(dropped) / float(sent) if sent and dropped is not None else None


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
    Kpi(
        name="sender_drop_ratio",
        most=1.0,
        label="Dropped by the sender",
        shown_unit="%",
        shown_factor=100.0,
        higher_is_better=False,
        definition="Share of the messages handed over by the sending application that never entered the "
        "network, because a queue of the sender's own dropped them. They are among the messages lost; no "
        "link lost them. UDP and QUIC's datagrams tell it; for a stream of QUIC or ResTP a packet that the "
        "queue of the sender's own device refuses is a loss like any other: it is sent again, and not "
        "counted here.",
        of_flow=sender_drop_ratio,
    ),
)
