"""The packets of a run as a table: who sent how much to whom, and when it passed which place."""

import ipaddress
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gauntlet.results import pcapng_reader

TRANSPORTS = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmp", 132: "sctp"}
"""Names of IP protocol numbers (IANA, Assigned Internet Protocol Numbers); others stand as numbers."""

_GRE = 47
_GRE_BYTES = 24
"""IPv4 header without options (20, RFC 791) and GRE header without options (4, RFC 2784)."""


def table(file: Path) -> pa.Table:
    """The packets of a capture (`gauntlet.results.pcapng`), in order of their instants.

    Columns: `link`, `t_ns`, `size_bytes`, `source`, `destination`, `transport`, `tunnelled`; what is of a
    packet in a tunnel is told of the packet, `size_bytes` of all of it. Raises RunError for a damaged file.
    """
    capture = pcapng_reader.read(file, pcapng_reader.HEADER_BYTES)
    inner, tunnelled = _inner(capture.headers)
    ipv6 = inner[:, 0] >> 4 == 6
    protocol = np.where(ipv6, inner[:, 6], inner[:, 9])
    addresses = np.zeros((len(inner), 32), np.uint8)
    addresses[~ipv6, :8] = inner[~ipv6, 12:20]
    addresses[ipv6] = inner[ipv6, 8:40]
    source, destination = _addresses(addresses, ipv6)
    return pa.table(
        {
            "link": pa.DictionaryArray.from_arrays(pa.array(capture.interfaces), capture.links),
            "t_ns": capture.t_ns,
            "size_bytes": capture.size_bytes,
            "source": source,
            "destination": destination,
            "transport": _named(protocol),
            "tunnelled": tunnelled,
        }
    )


def _inner(headers: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_]]:
    """The headers behind those of a GRE tunnel where there is one, and where there is."""
    tunnelled = (headers[:, 0] == 0x45) & (headers[:, 9] == _GRE)
    inner = headers[:, : headers.shape[1] - _GRE_BYTES].copy()
    inner[tunnelled] = headers[tunnelled, _GRE_BYTES:]
    return inner, tunnelled


def _addresses(
    pairs: npt.NDArray[np.uint8], ipv6: npt.NDArray[np.bool_]
) -> tuple[pa.DictionaryArray, pa.DictionaryArray]:
    """Source and destination as text. There are few different pairs, and each is written once."""
    rows = np.concatenate([ipv6[:, None].astype(np.uint8), pairs], axis=1)
    different, codes = np.unique(rows, axis=0, return_inverse=True)
    both = [(row[1:17], row[17:33]) if row[0] else (row[1:5], row[5:9]) for row in different]
    indices = pa.array(codes.reshape(-1).astype(np.int32))
    source, destination = (
        pa.DictionaryArray.from_arrays(
            indices, [str(ipaddress.ip_address(pair[end].tobytes())) for pair in both]
        )
        for end in (0, 1)
    )
    return source, destination


def _named(protocol: npt.NDArray[np.uint8]) -> pa.DictionaryArray:
    different, codes = np.unique(protocol, return_inverse=True)
    names = [TRANSPORTS.get(int(number), str(number)) for number in different]
    return pa.DictionaryArray.from_arrays(
        pa.array(codes.reshape(-1).astype(np.int32)), pa.array(names, pa.string())
    )
