"""Checksums of TCP and UDP that a host leaves to its network card.

A guest's interfaces are such cards, and nothing is computed that nobody looks at: packets carry the sum of
the pseudo-header alone, which Wireshark calls wrong. Here they get the checksum that a card puts in (RFC
9293, section 3.1; RFC 768). A packet whose checksum is anything else stays as it is, damaged ones too.
"""

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

_FIELD_AT = {6: 16, 17: 6}
"""Where the checksum stands in headers of TCP and UDP, by IP's number of the protocol."""
_GRE, _GRE_BYTES = 47, 4
_IPV4, _ADDRESSES_AT = 4, 12


def completed(data: Bytes, sizes: Numbers) -> Bytes:
    """IPv4 packets, one a row, with whole checksums where they had but that of the pseudo-header.

    `sizes` are their lengths; of packets that the rows do not hold whole nothing is changed.
    """
    changed = data.copy()
    whole = (sizes >= 28) & (sizes <= data.shape[1])
    for at in (0, None):
        # Behind the outer header, and in tunnels by GRE behind the inner one.
        header = np.zeros(len(data), np.int64) if at == 0 else _inside(data)
        for key in np.unique(np.stack([header, sizes])[:, whole & (header >= 0)], axis=1).T:
            rows = np.flatnonzero(whole & (header == key[0]) & (sizes == key[1]))
            _complete(changed, rows, int(key[0]), int(key[1]))
    return changed


def _inside(data: Bytes) -> Numbers:
    """Where the IPv4 header within a plain GRE tunnel begins; -1 where there is none."""
    outer = (data[:, 0] & 15).astype(np.int64) * 4
    rows = np.arange(len(data))
    plain = (data[rows, outer] == 0) & (data[rows, outer + 1] == 0)
    carries_ip = (data[rows, outer + 2] == 8) & (data[rows, outer + 3] == 0)
    tunnel = (data[:, 0] >> 4 == _IPV4) & (data[:, 9] == _GRE) & plain & carries_ip
    return np.where(tunnel, outer + _GRE_BYTES, -1)


def _complete(data: Bytes, rows: Numbers, header: int, size: int) -> None:
    """Packets of one length whose headers begin at one place; changed where they stand."""
    if size < header + 20:
        return
    first = data[rows, header]
    fragment = (data[rows, header + 6] & 0x3F).astype(int) | data[rows, header + 7]
    for length in np.unique((first & 15)[(first >> 4 == _IPV4) & (fragment == 0)]):
        for protocol, field in _FIELD_AT.items():
            segment = header + 4 * int(length)
            fits = (first == _IPV4 << 4 | length) & (fragment == 0) & (data[rows, header + 9] == protocol)
            if size >= segment + field + 2 and fits.any():
                _fill(data, rows[fits], (header, segment, size), protocol)


def _fill(data: Bytes, rows: Numbers, places: tuple[int, int, int], protocol: int) -> None:
    header, segment, size = places
    field = segment + _FIELD_AT[protocol]
    addresses = data[rows, header + _ADDRESSES_AT : header + _ADDRESSES_AT + 8]
    pseudo = _folded(_words(addresses) + protocol + size - segment)
    stored = data[rows, field].astype(np.int64) << 8 | data[rows, field + 1]
    left = stored == pseudo
    rows, pseudo = rows[left], pseudo[left]
    body = data[rows, segment:size]
    body[:, _FIELD_AT[protocol] : _FIELD_AT[protocol] + 2] = 0
    total = ~_folded(_words(body) + pseudo) & 0xFFFF
    if protocol == 17:
        total[total == 0] = 0xFFFF
    data[rows, field], data[rows, field + 1] = total >> 8, total & 0xFF


def _words(part: Bytes) -> Numbers:
    """The sum of the 16-bit words of each row, an odd one filled up with zero."""
    high, low = part[:, 0::2], part[:, 1::2]
    total: Numbers = (high.sum(axis=1, dtype=np.int64) << 8) + low.sum(axis=1, dtype=np.int64)
    return total


def _folded(total: Numbers) -> Numbers:
    """In ones' complement."""
    while (total >> 16).any():
        total = (total & 0xFFFF) + (total >> 16)
    return total
