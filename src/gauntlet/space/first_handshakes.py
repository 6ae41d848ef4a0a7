"""Handshakes that are the first of their processes, as the study SPACE timed them: a process for each end,
the server's first (crate `flight-links`).

A run of its programs has two in cFS's process, the server's and then the client's, each with another process
at the other end. So a pair of processes here does two: the server's process opens a session as a client after
its first one, and that time stands beside the client's own.
"""

import random
from collections.abc import Sequence

import pyarrow as pa

from gauntlet.space.programs import BENCH, credentials, rows

GROUPS = ("x25519", "p-256", "p-384", "p-521", "x25519mlkem768")
"""Those of Table 4.3, whose "P-512" is P-521, and the hybrid beside them."""

SIGNATURES = ("ed25519", "rsa-2048")
"""That of the other handshakes here, and a key like the study's, whose program made one of RSA."""

TEN = 10
"""Handshakes of each kind that the study took the mean of."""

Cell = tuple[str, str]
"""A group with a signature. All else is the study's: QUIC by AWS-LC in OpenSSL's place, AES-256-GCM, a
certificate of space alone.
"""

CELLS: tuple[Cell, ...] = tuple((group, signature) for group in GROUPS for signature in SIGNATURES)


def first_handshakes(cells: Sequence[Cell], each: int, seed: int, block: int = 0) -> pa.Table:
    """So many of each kind in random order, one block of rows as `flight-bench handshakes` has them."""
    order = [cell for cell in cells for _ in range(each)]
    random.Random(f"{seed}-{block}").shuffle(order)
    with credentials(signature for _, signature in cells) as files:
        found = [
            rows(
                BENCH,
                [
                    *("first-handshake", "--group", group, "--signature", signature),
                    *("--credentials", str(files[signature])),
                ],
            )
            for group, signature in order
        ]
    samples = pa.concat_tables(found, promote_options="permissive")
    return samples.append_column("block", pa.array([block] * len(order))).append_column(
        "order", pa.array(range(1, len(order) + 1))
    )
