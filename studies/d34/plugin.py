"""Arithmetic of D3.4 itself: its lines, Table 8's formula, the appendix on RaSTA, numbers of a flow.

`FUNCTIONS` are for expressions of the ledger, `MEASURES` for the flows of its experiments, `TABLES` for its
figures.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.steps import Floats
from gauntlet.scenario import Scenario, load_scenario
from gauntlet.scenario.model import Line as ScenarioLine
from gauntlet.scenario.radio import average_bps, lte_data, lte_zones
from gauntlet.studies.select import Quantity, by_repetition
from gauntlet.studies.summary import Summary

# --- Chapter 4: the three lines as the experiment files ride them, and what is said of them as numbers ---

IP_SCALE = 0.7912
"""From radio to IP rates: 72 carriers of 12 symbols a millisecond (docs/scenario-data.md)."""

SEED = 34
"""As in the experiment files; it decides latencies, which no figure here shows."""


@dataclass(frozen=True)
class Line:
    """One of the study's lines."""

    key: str
    """Its scenario, and the end of the names of its experiments."""
    words: str
    headway_s: float
    """Between departures (D3.4, section 3.3)."""
    scaled: bool
    """Whether its rates are scaled to the IP layer; Table 7's are taken as they are."""


LINES = (
    Line("hsr", "High-speed line", 600.0, True),
    Line("regional", "Regional line", 1500.0, True),
    Line("metro-a", "Metropolitan line", 120.0, False),
)


@cache
def scenario(key: str, headway_s: float | None = None) -> Scenario:
    """A line of the study, with another headway where one is given (seconds)."""
    line = next(line for line in LINES if line.key == key)
    params: dict[str, object] = {"ip_scale": IP_SCALE} if line.scaled else {}
    if headway_s is not None:
        params["headway"] = headway_s
    return load_scenario(key, params, SEED)


def track(found: Scenario) -> ScenarioLine:
    """The railway of a scenario that is one."""
    assert found.line is not None
    return found.line


def others(found: Scenario) -> tuple[Floats, Floats]:
    """Other trains in the reference train's cell: instants (s; the end too), and how many from each on."""
    starts_s = np.append(found.trace.column("t_s").astype(float), found.duration_s)
    return starts_s, found.trace.column("sharers").astype(float) - 1


def shared_part(found: Scenario) -> float:
    """Share of the journey with another train in the cell."""
    starts_s, count = others(found)
    return float((np.diff(starts_s) * (count > 0)).sum() / starts_s[-1])


def mean_others(found: Scenario) -> float:
    """The mean number of other trains in the cell over the journey."""
    starts_s, count = others(found)
    return float((np.diff(starts_s) * count).sum() / starts_s[-1])


def most_others(found: Scenario) -> float:
    """The largest number of other trains in the cell at once."""
    return float(others(found)[1].max())


def average_rate_bps() -> float:
    """D3.4's equation (2): the mean rate of one train alone over the radius of a suburban cell of Table 4."""
    carriers = lte_data().capacity.carriers["1.4"]
    return average_bps(lte_zones("suburban", "1.4", carriers, IP_SCALE))


def handover_steps(found: Scenario) -> float:
    """How many modulation steps the handover points between suburban cells lie from QPSK 3/4, at most."""
    cells = track(found).cells
    order = [zone.mcs for zone in next(it for it in cells if it.area == "suburban").zones_ahead]
    return float(
        max(
            abs(order.index(cell.zone_at(cell.to_km).mcs) - order.index("QPSK 3/4"))
            for cell in cells[:-1]
            if cell.area == "suburban"
        )
    )


# --- Table 8: when a buffer in front of the line overflows ---
#
# D3.4, section 6.1, computes how many packets UDP delivers before the first one is lost:
#
#     DR = R_source - R_channel        what the buffer gains, bit/s
#     DT = B / DR                      how long that takes to fill it, s
#     NL = R_source / P * DT           packets sent until then
#
# The first and the last row of the table follow from it within 1 % when B is 512 KiB (524,288 bytes). In the
# middle row it does not: 5.2 - 4.15 is 1.05 Mbit/s, and Table 8 goes on with 0.95, which makes NL 1,982
# instead of 1,793.
#
# The formula knows payload only. What fills a real buffer are IP packets, here with the headers of UDP and of
# the tunnel, so it fills sooner (`packets_with_headers`).

SOURCE_BPS = 5.2e6
"""Application rate of the source (D3.4, section 6.1)."""

PACKET_BYTES = 1448
"""Application bytes of a packet (D3.4, section 6.1, step 3)."""

BUFFER_BYTES = 512 * 1024
"""The buffer, which section 6.1 calls 512 kB: with 1024 bytes each, Table 8 comes out."""

MEASURED_BUFFER_BYTES = 512_000
"""The buffer in front of the bottleneck in overflow.toml."""

HEADER_BYTES = 8 + 20 + 4 + 20
"""UDP (RFC 768), IPv4 (RFC 791), GRE without options (RFC 2784), outer IPv4: what a packet in a tunnel has
besides its application bytes.
"""


@dataclass(frozen=True)
class Overflow:
    """How a buffer fills: what it gains, how long it takes, how many packets are sent until then."""

    gain_bps: float
    fill_s: float
    packets: float


@dataclass(frozen=True)
class Table8Row:
    """One row of D3.4's Table 8, as printed."""

    name: str
    channel_bps: float
    gain_bps: float
    fill_s: float
    packets: float
    emulated_packets: float
    lost_share: float
    """Of all packets of the run (section 6.1, below the table)."""


TABLE_8 = (
    Table8Row("UDP_1", 0.58e6, 4.6e6, 0.91, 408, 400, 0.71),
    Table8Row("UDP_2", 4.15e6, 0.95e6, 4.41, 1982, 2050, 0.75),
    Table8Row("UDP_3", 1.15e6, 4.0e6, 1.04, 468, 466, 0.27),
)


def overflow(
    channel_bps: float,
    *,
    source_bps: float = SOURCE_BPS,
    buffer_bytes: float = BUFFER_BYTES,
    packet_bytes: float = PACKET_BYTES,
    gain_bps: float | None = None,
) -> Overflow:
    """D3.4's three steps. `gain_bps` replaces the first one, as Table 8 does in its second row.

    Raises ValueError when the channel is as fast as the source: the buffer then never fills.
    """
    gained_bps = source_bps - channel_bps if gain_bps is None else gain_bps
    if gained_bps <= 0:
        raise ValueError(
            f"A source of {source_bps:g} bit/s never fills the buffer of a channel of {channel_bps:g} "
            "bit/s; the source must be faster."
        )
    fill_s = 8 * buffer_bytes / gained_bps
    return Overflow(gained_bps, fill_s, source_bps / (8 * packet_bytes) * fill_s)


def packets_with_headers(
    channel_bps: float,
    *,
    source_bps: float = SOURCE_BPS,
    buffer_bytes: float = MEASURED_BUFFER_BYTES,
    packet_bytes: float = PACKET_BYTES,
    header_bytes: float = HEADER_BYTES,
) -> float:
    """Packets before the first loss when buffer and channel carry IP packets: P with its headers."""
    whole_bytes = packet_bytes + header_bytes
    offered_bps = source_bps * whole_bytes / packet_bytes
    return overflow(
        channel_bps, source_bps=offered_bps, buffer_bytes=buffer_bytes, packet_bytes=whole_bytes
    ).packets


def steady_loss(
    channel_bps: float,
    *,
    source_bps: float = SOURCE_BPS,
    packet_bytes: float = PACKET_BYTES,
    header_bytes: float = HEADER_BYTES,
) -> float:
    """Share of packets lost once the buffer is full: what the channel cannot carry of what is offered."""
    offered_bps = source_bps * (packet_bytes + header_bytes) / packet_bytes
    return max(1 - channel_bps / offered_bps, 0.0)


# --- RaSTA's throughput as D3.4's appendix reasons about it, beside TCP's by Mathis and others ---
#
# The appendix gives conclusions of a calculation that it does not print: RaSTA falls behind TCP when the time
# until an acknowledgement is longer than the round trip; it does so in proportion to round trip over that
# time; losses take away more, in proportion to their probability. The model here is the simplest one from
# which these follow, with the method of its reference [20] (Mathis, Semke, Mahdavi, Ott: The macroscopic
# behavior of the TCP congestion avoidance algorithm, Computer Communication Review 27(3), 1997): count what
# is delivered between two losses, and the time that it takes.
#
# RaSTA (DIN VDE V 0831-200) has no congestion window. At most `window` messages may be unconfirmed, and the
# receiver of one-way traffic confirms with its heartbeats, each `ack_interval_s`:
#
#     X = W L / T,   T = max(ack interval, RTT)                                        no loss
#     X = (L / p) / (T / (p W) + RTT) = (W L / T) / (1 + p W RTT / T)                  losses at random, p
#
# 1/p messages lie between two losses; a loss costs one more round trip, in which everything after the gap is
# sent again (the receiver keeps nothing out of order and asks for all from the gap on).
#
# TCP with a window of the same number of bytes M (segments of L bytes):
#
#     X = min(M / RTT, L / RTT * sqrt(3 / 2) / sqrt(p))

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


def rasta_over_tcp(rtt_s: float, ack_interval_s: float = HEARTBEAT_S, loss: float = 0.0) -> float:
    """RaSTA's throughput over TCP's under the same conditions and with the same window."""
    return rasta_throughput_bps(rtt_s, ack_interval_s, loss) / tcp_throughput_bps(rtt_s, loss)


# --- Numbers of a flow ---


def packets_before_loss(flow: FlowData) -> float | None:
    """Messages sent before the first that never arrived (Table 8's NL); None when all arrived."""
    lost = np.flatnonzero(~flow.arrived)
    return float(lost[0]) if lost.size else None


def rate_while_on_bps(flow: FlowData) -> float | None:
    """Rate at which an on-off source's messages arrive while it is on.

    An on period is a run of messages, of one size, handed over no more than one and a half message times
    apart. Its rate is the bits of its messages over the time from its first to its last arrival, with one
    message time more; the periods are averaged by their lengths. None without a peak rate or on period.
    """
    peak_bps = flow.plan.get("app_params", {}).get("peak_rate_bps")
    if peak_bps is None or flow.sent_ns.size < 2:
        return None
    message_s = 8 * float(flow.size_bytes[0]) / float(peak_bps)
    new_period = np.diff(flow.sent_ns) > 1.5 * message_s * NS_PER_S
    period = np.concatenate([[0], np.cumsum(new_period)])[flow.arrived]
    if not period.size:
        return None
    received_ns, bits = flow.received_ns[flow.arrived], 8 * flow.size_bytes[flow.arrived]
    first = np.flatnonzero(np.concatenate([[True], np.diff(period) > 0]))
    began_ns, ended_ns = (end.reduceat(received_ns, first) for end in (np.minimum, np.maximum))
    return float(bits.sum() / ((ended_ns - began_ns).sum() / NS_PER_S + first.size * message_s))


# --- What the study's files name ---


def cells(line: str, area: str | None = None) -> float:
    """How many cells a line has, in all or of one kind of area."""
    return float(sum(area in (None, cell.area) for cell in track(scenario(line)).cells))


def formula_packets(channel_bps: float, gain_bps: float) -> float:
    """NL of Table 8 by the formula, from a printed DR on."""
    return overflow(channel_bps, gain_bps=gain_bps).packets


FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "cells": cells,
    "handover_steps": lambda line: handover_steps(scenario(line)),
    "mean_others": lambda line, headway_s=None: mean_others(scenario(line, headway_s)),
    "most_others": lambda line, headway_s=None: most_others(scenario(line, headway_s)),
    "shared_part": lambda line, headway_s=None: shared_part(scenario(line, headway_s)),
    "mean_capacity_bps": lambda line: scenario(line).trace.mean("rate_up_bps"),
    "highest_rate_bps": lambda line: scenario(line).max_rate_bps,
    "average_rate_bps": average_rate_bps,
    "formula_packets": formula_packets,
    "formula_gain_bps": lambda channel_bps: overflow(channel_bps).gain_bps,
    "rasta_over_tcp": rasta_over_tcp,
    "rasta_bps": lambda rtt_s, loss: rasta_throughput_bps(rtt_s, loss=loss),
    "tcp_bps": tcp_throughput_bps,
}
"""By the name that an expression of the ledger calls."""

MEASURES: Mapping[str, Callable[[FlowData], float | None]] = {
    "packets_before_loss": packets_before_loss,
    "rate_while_on_bps": rate_while_on_bps,
}
"""By the name that study.toml gives."""

# --- Tables for its figures ---

Columns = Mapping[str, Sequence[Any]]


def table_8(summary: Summary) -> Columns:
    """The study's formula, the same with all headers, and what was measured; cells as shown."""

    def measured(channel_bps: float, kpi: str) -> float:
        of = {"scenario.rate": f"{channel_bps / 1e6:g}Mbit/s"}
        return by_repetition(summary, "overflow", of, Quantity(kpi)).mean().value

    rates = [row.channel_bps for row in TABLE_8]
    return {
        "Channel (Mbit/s)": [f"{rate / 1e6:g}" for rate in rates],
        "Table 8, formula": [f"{row.packets:.0f}" for row in TABLE_8],
        "Table 8, emulator": [f"{row.emulated_packets:.0f}" for row in TABLE_8],
        "Formula again": [f"{overflow(rate).packets:.0f}" for rate in rates],
        "With headers": [f"{packets_with_headers(rate):.0f}" for rate in rates],
        "Measured": [f"{measured(rate, 'packets_before_loss'):.0f}" for rate in rates],
        "Loss, full buffer": [f"{100 * steady_loss(rate):.0f} %" for rate in rates],
        "Loss in 30 s": [f"{100 * measured(rate, 'message_loss_ratio'):.0f} %" for rate in rates],
    }


def rasta_by_interval(_: Summary) -> Columns:
    """RaSTA's throughput over TCP's without loss, against the time between acknowledgements in ms."""
    intervals_s = np.linspace(0.02, 0.6, 59).tolist()
    rows = [(rtt_s, interval_s) for rtt_s in (0.05, 0.1, 0.3) for interval_s in intervals_s]
    return {
        "protocol": [f"round trip {1e3 * rtt_s:g} ms" for rtt_s, _ in rows],
        "x": [1e3 * interval_s for _, interval_s in rows],
        "y": [rasta_over_tcp(rtt_s, interval_s) for rtt_s, interval_s in rows],
    }


def rasta_by_loss(_: Summary) -> Columns:
    """Throughputs (Mbit/s) at a round trip of 100 ms against the loss in per cent."""
    models: dict[str, Callable[[float], float]] = {
        "RaSTA, acknowledged each 300 ms": lambda loss: rasta_throughput_bps(0.1, loss=loss),
        "RaSTA, acknowledged at once": lambda loss: rasta_throughput_bps(0.1, 0.0, loss),
        "TCP": lambda loss: tcp_throughput_bps(0.1, loss),
    }
    rows = [(who, loss) for who in models for loss in np.geomspace(1e-4, 0.1, 61).tolist()]
    return {
        "protocol": [who for who, _ in rows],
        "x": [100 * loss for _, loss in rows],
        "y": [models[who](loss) / 1e6 for who, loss in rows],
    }


TABLES: Mapping[str, Callable[[Summary], Columns]] = {
    "table-8": table_8,
    "rasta-by-interval": rasta_by_interval,
    "rasta-by-loss": rasta_by_loss,
}
"""By the name that figures.toml gives."""
