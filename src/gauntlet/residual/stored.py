"""Weights of the duals of 32-bit CRCs for eight lengths: a minute a length to count, so they come with the
package.

`python -m gauntlet.residual.stored` counts them again and writes the file beside this one.
"""

import sys
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gauntlet.residual.codes import CODES, Crc
from gauntlet.residual.dual import Counts, weights

FILE = "weights.parquet"
"""Columns `generator`, `bits` (of the whole message), `weight`, `words`; without rows of 0 words."""

BYTES = (16, 32, 64, 128, 256, 512, 1024, 1518)
"""Lengths that are kept: from a short message to a full frame of Ethernet."""

FAST = 24
"""Up to this degree the weights are counted when they are asked for."""


def counted(code: Crc, bits: int) -> Counts:
    """The weights of the dual for a length: from the file, or counted, which takes a 32-bit CRC a minute."""
    if code.bits > FAST and (kept := _kept().get((code.generator, bits))) is not None:
        return kept
    return weights(code.generator, [bits])[bits]


def is_kept(code: Crc, bits: int) -> bool:
    """Whether the answer comes at once."""
    return code.bits <= FAST or (code.generator, bits) in _kept()


@cache
def _kept() -> dict[tuple[int, int], Counts]:
    with as_file(files("gauntlet.residual") / FILE) as path:
        table = pq.read_table(path)
    columns = [table.column(name).to_numpy() for name in ("generator", "bits", "weight", "words")]
    found: dict[tuple[int, int], Counts] = {}
    generators, lengths, of, words = columns
    for generator, bits in sorted(set(zip(generators.tolist(), lengths.tolist(), strict=True))):
        rows = (generators == generator) & (lengths == bits)
        found[generator, bits] = np.zeros(bits + 1, dtype=np.int64)
        found[generator, bits][of[rows]] = words[rows]
    return found


def write(path: Path) -> None:
    """Count all and write the file."""
    rows: dict[str, list[int]] = {"generator": [], "bits": [], "weight": [], "words": []}
    for code in (it for it in CODES.values() if isinstance(it, Crc) and it.bits > FAST):
        for bits, counts in sorted(weights(code.generator, [8 * it for it in BYTES]).items()):
            for weight in np.flatnonzero(counts).tolist():
                for name, value in zip(
                    rows, (code.generator, bits, weight, int(counts[weight])), strict=True
                ):
                    rows[name].append(value)
        print(f"{code.label}: counted", file=sys.stderr)
    pq.write_table(pa.table(rows), path, compression="zstd")


if __name__ == "__main__":
    write(Path(__file__).with_name(FILE))
