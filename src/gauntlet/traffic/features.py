"""Numbers that describe a visit's packets, in the groups of k-fingerprinting (Hayes and Danezis, USENIX
Security 2016, section 4), with sizes and kinds of packets, which Tor's cells do not have.
"""

from collections.abc import Iterator

import numpy as np

from gauntlet.traffic.sequences import KINDS, Flags, Floats, Ints, Sequences

_ENDS = 30
"""Packets at either end that are counted apart."""
_CHUNK = 20
"""Packets in which outgoing ones are counted together."""
_PARTS = 20
"""Parts into which a series is summed, so that there are equally many numbers of each visit."""
_LONG_BURSTS = (2, 5, 10, 20, 50)
_SIZE_EDGES = (0, 80, 200, 600, 1200, 1460, 65_536)
_SECOND_NS = 1_000_000_000

Feature = tuple[str, float]


def table(visits: Sequences) -> tuple[list[str], Floats]:
    """The features' names, and a row of them for each visit."""
    rows = []
    names: list[str] = []
    for begin, end in zip(visits.starts[:-1], visits.starts[1:], strict=True):
        part = slice(begin, end)
        found = list(_of_visit(visits.time_ns[part], visits.signed_bytes[part], visits.kind[part]))
        names = [name for name, _ in found]
        rows.append([value for _, value in found])
    return names, np.array(rows, float)


def _of_visit(time_ns: Ints, signed: Ints, kind: Ints) -> Iterator[Feature]:
    out = signed > 0
    sides = (("all", np.ones(len(signed), bool)), ("out", out), ("in", ~out))
    for side, mask in sides:
        yield f"packets {side}", float(mask.sum())
        yield f"bytes {side}", float(np.abs(signed[mask]).sum())
        yield from _spread(f"size {side}", np.abs(signed[mask]))
        yield from _spread(f"gap {side}", np.diff(time_ns[mask]))
        for quarter in (25, 50, 75, 100):
            at = np.percentile(time_ns[mask], quarter) if mask.any() else 0.0
            yield f"{quarter} % of {side} after", float(at)
        sizes = np.histogram(np.abs(signed[mask]), _SIZE_EDGES)[0]
        yield from ((f"size bin {place} {side}", float(count)) for place, count in enumerate(sizes))
    yield "share out", float(out.mean()) if len(out) else 0.0
    for end, part in (("first", out[:_ENDS]), ("last", out[-_ENDS:])):
        yield f"out among the {end}", float(part.sum())
    for side, mask in sides[1:]:
        yield from _spread(f"place {side}", np.flatnonzero(mask))
    yield from _series("out in a chunk", _chunks(out))
    yield from _series("packets in a second", np.bincount(time_ns // _SECOND_NS, minlength=1))
    yield from _bursts(out)
    for place, name in enumerate(KINDS):
        yield f"packets {name}", float((kind == place).sum())


def _spread(name: str, values: Ints) -> Iterator[Feature]:
    known = _some(values)
    yield f"{name}, mean", float(known.mean())
    yield f"{name}, deviation", float(known.std())
    yield f"{name}, most", float(known.max())
    yield f"{name}, upper quartile", float(np.percentile(known, 75))


def _some(values: Ints) -> Floats:
    return values.astype(float) if len(values) else np.zeros(1)


def _series(name: str, values: Ints) -> Iterator[Feature]:
    """A series' spread, and its sums over equal parts."""
    yield from _spread(name, values)
    known = _some(values)
    yield f"{name}, median", float(np.median(known))
    for place, part in enumerate(np.array_split(known, _PARTS)):
        yield f"{name}, part {place}", float(part.sum())


def _chunks(out: Flags) -> Ints:
    whole = np.zeros(-(-len(out) // _CHUNK) * _CHUNK, np.int64)
    whole[: len(out)] = out
    sums: Ints = whole.reshape(-1, _CHUNK).sum(axis=1)
    return sums


def _bursts(out: Flags) -> Iterator[Feature]:
    """Runs of incoming packets between outgoing ones."""
    edges = np.flatnonzero(np.diff(out.astype(np.int8), prepend=1, append=1))
    lengths = edges[1::2] - edges[::2]
    yield "bursts in", float(len(lengths))
    yield from _spread("burst in", lengths)
    for least in _LONG_BURSTS:
        yield f"bursts in above {least}", float((lengths > least).sum())
