"""RaSTA's throughput as D3.4's appendix reasons about it, beside TCP's by Mathis and others.

The appendix gives conclusions of a calculation that it does not print: RaSTA falls behind TCP when the time
until an acknowledgement is longer than the round trip; it does so in proportion to round trip over that
time; losses take away more, in proportion to their probability. The model here is the simplest one from which
these follow, with the method of its reference [20] (Mathis, Semke, Mahdavi, Ott: The macroscopic behavior of
the TCP congestion avoidance algorithm, Computer Communication Review 27(3), 1997): count what is delivered
between two losses, and the time that it takes.

RaSTA (DIN VDE V 0831-200) has no congestion window. At most `window` messages may be unconfirmed, and the
receiver of one-way traffic confirms with its heartbeats, each `ack_interval_s`:

    X = W L / T,   T = max(ack interval, RTT)                                        no loss
    X = (L / p) / (T / (p W) + RTT) = (W L / T) / (1 + p W RTT / T)                  losses with probability p

1/p messages lie between two losses; a loss costs one more round trip, in which everything after the gap is
sent again (the receiver keeps nothing out of order and asks for all from the gap on).

TCP with a window of the same number of bytes M (segments of L bytes):

    X = min(M / RTT, L / RTT * sqrt(3 / 2) / sqrt(p))
"""

import math

WINDOW_MESSAGES = 20
"""Messages that may be unconfirmed, N_SENDMAX: the largest that the open implementation of the Swiss Federal
Railways allows (RADEF_MAX_N_SEND_MAX).
"""

MESSAGE_BYTES = 1055
"""Payload of a message: the largest of the same implementation (RADEF_MAX_SR_LAYER_PAYLOAD_DATA_SIZE)."""

HEARTBEAT_S = 0.3
"""Time between heartbeats, T_H, as open implementations are configured by default."""

MATHIS_CONSTANT = math.sqrt(3 / 2)
"""Periodic losses, an acknowledgement for each segment (Mathis and others, 1997, section 2)."""


def rasta_throughput_bps(
    rtt_s: float,
    ack_interval_s: float = HEARTBEAT_S,
    loss: float = 0.0,
    *,
    window_messages: int = WINDOW_MESSAGES,
    message_bytes: int = MESSAGE_BYTES,
) -> float:
    """Application bits per second of RaSTA with always something to send; `loss` is per message."""
    turn_s = max(ack_interval_s, rtt_s)
    lossless_bps = 8 * window_messages * message_bytes / turn_s
    return lossless_bps / (1 + loss * window_messages * rtt_s / turn_s)


def tcp_throughput_bps(
    rtt_s: float,
    loss: float = 0.0,
    *,
    window_bytes: int = WINDOW_MESSAGES * MESSAGE_BYTES,
    segment_bytes: int = MESSAGE_BYTES,
) -> float:
    """Application bits per second of TCP with as large a window as RaSTA's; `loss` is per segment."""
    windowed_bps = 8 * window_bytes / rtt_s
    if loss == 0:
        return windowed_bps
    return min(windowed_bps, 8 * segment_bytes / rtt_s * MATHIS_CONSTANT / math.sqrt(loss))


def ratio(rtt_s: float, ack_interval_s: float = HEARTBEAT_S, loss: float = 0.0) -> float:
    """RaSTA's throughput over TCP's under the same conditions and with the same window."""
    return rasta_throughput_bps(rtt_s, ack_interval_s, loss) / tcp_throughput_bps(rtt_s, loss)
