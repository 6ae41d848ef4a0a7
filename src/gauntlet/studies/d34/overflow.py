"""When a buffer in front of the line overflows: D3.4's Table 8 as a formula, and the same with all headers.

D3.4, section 6.1, computes how many packets UDP delivers before the first one is lost:

    DR = R_source - R_channel        what the buffer gains, bit/s
    DT = B / DR                      how long that takes to fill it, s
    NL = R_source / P * DT           packets sent until then

The first and the last row of the table follow from it within 1 % when B is 512 KiB (524,288 bytes). In the
middle row it does not: 5.2 - 4.15 is 1.05 Mbit/s, and Table 8 goes on with 0.95, which makes NL 1,982 instead
of 1,793.

The formula knows payload only. What fills a real buffer are IP packets, here with the headers of UDP and of
the tunnel, so it fills sooner (`packets_with_headers`).
"""

from dataclasses import dataclass

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
