"""Padding as a defence: what it adds, and what it would be where no stack does it.

quinn pads by itself (`pad_to_mtu`). TLS 1.3 allows padding of records (RFC 8446, section 5.4), and rustls has
no way to ask for it: `simulated` makes of what was seen what would have been.
"""

import numpy as np

from gauntlet.traffic.sequences import TCP_DATA, Sequences, paired


def simulated(visits: Sequences) -> Sequences:
    """TCP's packets with payload made as long as the longest of them: records padded to whole segments.

    Nothing else changes. Real padding would take longer, and its packets could be lost.
    """
    data = visits.kind == TCP_DATA
    longest = np.abs(visits.signed_bytes[data]).max(initial=0)
    padded = np.where(data, np.sign(visits.signed_bytes) * longest, visits.signed_bytes)
    return Sequences(
        visits.site, visits.session, visits.visit, visits.starts, visits.time_ns, padded, visits.kind
    )


def byte_overhead(plain: Sequences, padded: Sequences) -> float:
    """What padding adds to the bytes of the same visits, as a share of them."""
    one, other = paired(plain, padded)
    return float(np.abs(other.signed_bytes).sum() / np.abs(one.signed_bytes).sum() - 1)


def time_overhead(plain: Sequences, padded: Sequences) -> float:
    """What padding adds to the time from the first packet to the last, as a share of it, on average."""
    one, other = paired(plain, padded)
    lasted = [it.time_ns[it.starts[1:] - 1] for it in (one, other)]
    return float((lasted[1] / lasted[0]).mean() - 1)
