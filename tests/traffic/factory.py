"""Visits made for tests: sites whose packets are known, without anything played."""

from collections.abc import Mapping, Sequence

import numpy as np

from gauntlet.traffic.sequences import QUIC_DATA, QUIC_HANDSHAKE, Ints, Sequences

GAP_NS = 1_000_000


def visits(
    sizes: Mapping[int, Sequence[int]],
    *,
    sessions: int = 4,
    in_a_session: int = 2,
    packets: int = 40,
    seed: int = 1,
) -> Sequences:
    """Visits to sites whose packets have sizes drawn from these, signed: every third is out.

    The first packet of each is of a handshake, a millisecond lies between packets.
    """
    dice = np.random.default_rng(seed)
    keys, made = [], []
    for site, known in sizes.items():
        for session in range(1, sessions + 1):
            for place in range(in_a_session):
                signed = dice.choice(np.asarray(known, np.int64), size=packets)
                signed[1::3] *= -1
                signed[2::3] *= -1
                kind: Ints = np.full(packets, QUIC_DATA)
                kind[0] = QUIC_HANDSHAKE
                keys.append((site, session, place))
                made.append((np.arange(packets) * GAP_NS, signed, kind))
    return Sequences.of(keys, made)


DISJOINT = {3: (100, 120, 140), 8: (900, 950, 1000)}
"""Two sites that no packet has in common."""

ALIKE = dict.fromkeys(range(4), (100, 700, 1200))
"""Sites that nothing tells apart."""
