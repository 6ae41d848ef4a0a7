"""From the capture of a run to the packet sequences of its visits."""

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from gauntlet.certificate import headers
from gauntlet.errors import RunError, UserError
from gauntlet.experiment import sites
from gauntlet.experiment.networks import NETWORKS
from gauntlet.results import layout, pcapng_reader
from gauntlet.results.reader import Run
from gauntlet.traffic.sequences import (
    OTHER,
    QUIC_DATA,
    QUIC_HANDSHAKE,
    TCP_CONTROL,
    TCP_DATA,
    Flags,
    Ints,
    Sequences,
)

_READ_BYTES = 112
"""Of each packet: a GRE tunnel's headers (24), IPv6's (40) and the first of TCP's or of a datagram."""

_TCP, _UDP = 6, 17
_IPV6_HEADER_BYTES = 40
_UDP_HEADER_BYTES = 8
_LONG_HEADER = 0x80
"""The bit that a QUIC packet with a long header has in its first byte (RFC 8999, section 5.1)."""


@dataclass(frozen=True)
class Packets:
    """What an observer beside the browser saw, in time's order."""

    time_ns: Ints
    signed_bytes: Ints
    kind: Ints
    server_port: Ints


def visits(run: Run) -> Sequences:
    """The visits of a run, one for each flow of the application `page` that came to its end.

    The observer stands on the link of the browser's host, where nothing is delayed or lost. Raises RunError
    for a capture that does not show what the record says, UserError for a page that is no site.
    """
    found, packets = [], []
    session = int(run.factors["repetition"])
    observed_once = cache(partial(observed, run))
    for place, (flow, planned) in enumerate(zip(run.record["flows"], run.spec["flows"], strict=True)):
        if flow["app"] != "page" or flow["outcome"] != "ok":
            continue
        seen = observed_once(planned["direction"])
        own = seen.server_port == int(flow["source"].rpartition(":")[2])
        if not own.any():
            raise RunError(f"the capture of run {run.id} has no packet of its flow {flow['id']}")
        times = seen.time_ns[own]
        packets.append((times - times[0], seen.signed_bytes[own], seen.kind[own]))
        found.append((_site(planned["page"]), session, place))
    return Sequences.of(found, packets)


def _site(page: str) -> int:
    found = sites.number(page)
    if found is None:
        raise UserError(f"the page '{page}' is no site; traffic analysis is of pages such as site-12.")
    return found


def observed(run: Run, direction: str) -> Packets:
    """What passed the observer; `direction` is that of the page's files."""
    side = "train" if direction == "down" else "trackside"
    network = run.plan["network"].get("preset")
    if network is None:
        raise UserError(
            f"run {run.id} has a network of one's own, and traffic analysis is of those of scenarios; leave "
            "[network] out."
        )
    ends = NETWORKS[network].in_path[side]
    inner, outer = ends if side == "train" else ends[::-1]
    return read(
        pcapng_reader.read(run.folder / layout.CAPTURE, _READ_BYTES),
        outwards=f"{inner}>{outer}",
        inwards=f"{outer}>{inner}",
    )


def read(capture: pcapng_reader.Capture, *, outwards: str, inwards: str) -> Packets:
    """The packets of two link directions: those towards servers, and those from them."""
    missing = [link for link in (outwards, inwards) if link not in capture.links]
    if missing:
        raise RunError(f"the capture has no packets of the link {missing[0]}, where the observer stands")
    towards, away = capture.links.index(outwards), capture.links.index(inwards)
    rows = np.flatnonzero((capture.interfaces == towards) | (capture.interfaces == away))
    first = capture.headers[rows]
    out: Flags = capture.interfaces[rows] == towards
    size = capture.size_bytes[rows] - headers.GRE_BYTES * headers.in_tunnel(first)
    inner = headers.inner_packets(first)
    at = np.arange(len(rows))

    def byte(place: Any) -> Ints:
        """The byte at a place of each packet."""
        found: Ints = inner[at, np.minimum(place, inner.shape[1] - 1)].astype(np.int64)
        return found

    ipv4 = inner[:, 0] >> 4 == 4
    ip_bytes = np.where(ipv4, (inner[:, 0] & 15).astype(np.int64) * 4, _IPV6_HEADER_BYTES)
    protocol = np.where(ipv4, inner[:, 9], inner[:, 6])
    tcp, udp = protocol == _TCP, protocol == _UDP
    ports = [byte(ip_bytes + place) * 256 + byte(ip_bytes + place + 1) for place in (0, 2)]
    carried = size > ip_bytes + (byte(ip_bytes + 12) >> 4) * 4
    long = (byte(ip_bytes + _UDP_HEADER_BYTES) & _LONG_HEADER) > 0
    kind = np.select(
        [tcp & carried, tcp, udp & long, udp],
        [TCP_DATA, TCP_CONTROL, QUIC_HANDSHAKE, QUIC_DATA],
        OTHER,
    )
    server_port = np.where(tcp | udp, np.where(out, ports[1], ports[0]), -1)
    return Packets(
        capture.t_ns[rows],
        np.where(out, size, -size),
        kind.astype(np.int64),
        server_port,
    )
