"""How many words of each weight the dual of a CRC's code has: all that its residual error needs, exactly.

The words of the dual of the code of length n are the windows of n bits of all sequences that the generator's
shift register gives, one for each of its 2^r states. A sequence is the sum of one for each irreducible
factor, so they are walked along the cycle of the factor with the longest one, beside every sequence of the
other factors; each step is one more word. With the factor x + 1 every word has its complement, which is
counted without being walked.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from gauntlet.residual.polynomials import degree, factors, order

Bits = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int64]

WALKED = 1 << 20
"""Bits that are unpacked at a time: what a processor's cache holds with their sums."""

ONE = 3
"""The polynomial x + 1."""


def weights(generator: int, lengths: Sequence[int]) -> dict[int, Counts]:
    """For each length in bits, the code included, how many words of the dual have the weight 0, 1, ...,
    length.

    A generator of 16 bits takes milliseconds, one of 24 a second, one of 32 about a minute a length. One that
    has a square factor besides x + 1 is not known here (ValueError).
    """
    parts = factors(generator)
    whole = order(generator)
    cut = {bits: divmod(bits, whole) if bits > whole else (0, bits) for bits in set(lengths)}
    longest = [rest for _, rest in cut.values()]
    beyond = max([*longest, whole] if any(times for times, _ in cut.values()) else longest)
    found = {bits: np.zeros(bits + 1, dtype=np.int64) for bits in cut}
    for rows, steps in _walked(parts, beyond):
        sums = np.zeros((rows.shape[0], rows.shape[1] + 1), dtype=np.int32)
        np.cumsum(rows, axis=1, dtype=np.int32, out=sums[:, 1:])
        for bits, (times, rest) in cut.items():
            ones = sums[:, rest : rest + steps] - sums[:, :steps]
            if times:
                ones += times * sums[:, whole : whole + 1]
            found[bits] += np.bincount(ones.ravel(), minlength=bits + 1)
    if ONE in parts:
        found = {bits: counts + counts[::-1] for bits, counts in found.items()}
    assert all(int(counts.sum()) == 1 << degree(generator) for counts in found.values())
    return found


def _walked(parts: Mapping[int, int], beyond: int) -> Iterator[tuple[Bits, int]]:
    """Rows of bits, and along how many steps of each a window begins: every sequence once, of two that are
    each other's complement one.
    """
    left = dict(parts)
    while mains := [it for it in left if it != ONE]:
        main = max(mains, key=lambda it: (order(it), it))
        if left.pop(main) > 1:
            raise ValueError(f"the generator has the square of {main:#x} as a factor")
        period = order(main)
        for first in _cycles(main, period):
            if period > WALKED:
                if left.keys() - {ONE} or left.get(ONE, 0) > 1:
                    raise ValueError("the generator has another long factor")
                yield from _long(main, first, period, beyond)
                continue
            cycle = run(main, first, period + beyond)
            for rows in _sums(_basis(left, period + beyond), period + beyond):
                yield cycle ^ rows, period
    for rows in _sums(_basis(left, beyond), beyond):
        yield rows, 1


def _cycles(of: int, period: int) -> Iterator[int]:
    """A state of each cycle of an irreducible polynomial's shift register but that of zero."""
    if period == (1 << degree(of)) - 1:
        yield 1
        return
    seen = np.zeros(1 << degree(of), dtype=bool)
    for state in range(1, len(seen)):
        if not seen[state]:
            yield state
            bits = run(of, state, period + degree(of))
            places = np.arange(degree(of))
            on_cycle = bits[np.arange(period)[:, np.newaxis] + places].astype(np.int64) @ (1 << places)
            seen[on_cycle] = True


def _basis(parts: Mapping[int, int], length: int) -> list[Bits]:
    """Sequences of which all others of these factors are sums; without the one that is 1 throughout."""
    found = []
    for factor, times in parts.items():
        if factor == ONE:
            # Those of (x + 1)^m are the binomial coefficients (t over j) modulo 2: by Lucas, whether j is
            # within t.
            t = np.arange(length)
            found += [((t & j) == j).astype(np.uint8) for j in range(1, times)]
        else:
            found += [run(factor, 1 << place, length) for place in range(degree(factor))]
    return found


def _sums(basis: Sequence[Bits], length: int) -> Iterator[Bits]:
    """All sums of these sequences of this length, many rows at a time."""
    together = max(min((WALKED // length).bit_length() - 1, len(basis)), 0)
    rows = np.zeros((1, length), dtype=np.uint8)
    for one in basis[:together]:
        rows = np.concatenate([rows, rows ^ one])
    apart = basis[together:]
    for chosen in range(1 << len(apart)):
        added = np.zeros(length, dtype=np.uint8)
        for place, one in enumerate(apart):
            if chosen >> place & 1:
                added ^= one
        yield rows ^ added


def run(of: int, state: int, length: int) -> Bits:
    """The first bits that a shift register gives, those of its state first (the lowest before the others)."""
    places, taps = degree(of), [it for it in range(degree(of)) if of >> it & 1]
    bits = np.zeros(max(length, places), dtype=np.uint8)
    bits[:places] = [state >> it & 1 for it in range(places)]
    known, block = places, 1
    while known < len(bits):
        # The square of a polynomial over GF(2) has the same terms twice as far apart, and the sequence obeys
        # it too.
        while places * block * 2 <= known:
            block *= 2
        start, more = known - places * block, min(block, len(bits) - known)
        for tap in taps:
            bits[known : known + more] ^= bits[start + tap * block : start + tap * block + more]
        known += more
    return bits[:length]


def _long(of: int, state: int, period: int, beyond: int) -> Iterator[tuple[Bits, int]]:
    """A cycle that is too long to be held, piece by piece."""
    places = degree(of)
    taps = [it for it in range(places) if of >> it & 1]
    block = WALKED >> 4
    blocks = list(run(of, state, places * block).reshape(places, block))
    held = np.concatenate(blocks)
    done = 0
    while done < period:
        while len(held) < WALKED + beyond:
            newer = np.bitwise_xor.reduce([blocks[it] for it in taps])
            blocks = [*blocks[1:], newer]
            held = np.concatenate([held, newer])
        steps = min(WALKED, period - done)
        yield held[np.newaxis, : steps + beyond], steps
        held = held[steps:]
        done += steps
