"""The probability that an error stays undetected by a checksum that adds: by importance sampling, with an
interval.

Such a code is not linear in bits, so no dual helps; which errors it finds depends on the data, which are
drawn at random with the code that belongs to them. Two things make rare events common:

- The number of flipped bits is not drawn from its own distribution but each number alike (many of them in
  groups), and weighted with its probability, which is known.
- Of the flipped bits all but two are drawn. How many pairs of the bits that are left would bring the sums
  back to what they were is counted, not drawn.

Sums are compared modulo their modulus: an Adler-32 with a sum of 65,521 or more, which no sender makes,
counts as what it stands for, so the result is at most 0.03 % too high.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gauntlet.metrics.intervals import Mean, mean

Ints = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint8]

BATCHES = 12
"""Independent estimates that the interval is over."""

CELLS = 2_000_000
"""Bits of messages that are drawn at a time."""

DRAWN = 600_000
"""Bits of messages that are drawn for each number of flipped bits unless told."""

NEGLIGIBLE = 1e-7
"""Numbers of flipped bits less likely than this share of the first that can stay undetected (two) are left
out.
"""

ALONE = 16
"""Up to so many flipped bits each number is drawn for itself; from there on in groups, each a half wider."""


@dataclass(frozen=True)
class Layout:
    """A message with its code, bit by bit."""

    modulus: int
    first: Ints
    second: Ints
    """What a bit that turns from 0 to 1 adds to the two sums that must stay 0; all 0 where there is one."""
    draw: Callable[[np.random.Generator, int], Bits]
    """So many messages of random data with the right codes, a row each."""

    @property
    def bits(self) -> int:
        """Of the message, the code included."""
        return len(self.first)


def internet(bits: int, width: int = 16) -> Layout:
    """The ones' complement sum of words (RFC 1071) over a message of so many bits, its own word last."""
    modulus = (1 << width) - 1
    places = width - 1 - np.arange(bits - width) % width
    first = (1 << np.concatenate([places, np.arange(width)[::-1]])).astype(np.int64)

    def draw(random: np.random.Generator, rows: int) -> Bits:
        data = random.integers(0, 2, (rows, bits - width), dtype=np.uint8)
        code = (-(data.astype(np.int64) @ first[: bits - width])) % modulus
        return np.concatenate([data, _unpacked(code, width)], axis=1)

    return Layout(modulus, first, np.zeros(bits, dtype=np.int64), draw)


def adler(octets: int, modulus: int = 65521, width: int = 16, octet: int = 8) -> Layout:
    """Adler-32 (RFC 1950, section 8.2) over so many octets, the last four its code, the second sum first."""
    data_octets = octets - 2 * width // octet
    values = np.tile(1 << np.arange(octet)[::-1], data_octets)
    follow = np.repeat(data_octets - np.arange(data_octets), octet)
    own, none = 1 << np.arange(width)[::-1], np.zeros(width, dtype=np.int64)
    first = np.concatenate([values, none, -own]) % modulus
    second = np.concatenate([values * follow, -own, none]) % modulus

    def draw(random: np.random.Generator, rows: int) -> Bits:
        data = random.integers(0, 2, (rows, data_octets * octet), dtype=np.uint8)
        whole = data.astype(np.int64)
        one = (1 + whole @ values) % modulus
        two = (data_octets + whole @ (values * follow)) % modulus
        return np.concatenate([data, _unpacked(two, width), _unpacked(one, width)], axis=1)

    return Layout(modulus, first, second, draw)


def undetected(of: Layout, p: float, seed: int, messages: int | None = None) -> Mean:
    """The probability that an error stays undetected where each bit is flipped with the probability p in (0,
    0.5]: the mean of `BATCHES` estimates with its 95 % interval. `messages` are drawn of each group of
    flipped bits. The same seed gives the same numbers.
    """
    messages = messages or max(DRAWN // of.bits, 50 * BATCHES)
    random = np.random.default_rng(seed)
    groups = list(_groups(of.bits, p))
    each = max(messages // BATCHES, 1)
    estimates = [
        sum(mass * _share(of, random, numbers, chances, each) for mass, numbers, chances in groups)
        for _ in range(BATCHES)
    ]
    return mean(estimates).within(0.0, 1.0)


def _groups(bits: int, p: float) -> Iterator[tuple[float, Ints, npt.NDArray[np.float64]]]:
    """Numbers of flipped bits that are drawn together: how likely, which, each one's share."""
    from scipy.stats import binom

    numbers = np.arange(2, bits + 1)
    chances = binom.pmf(numbers, bits, p)
    likely = chances >= NEGLIGIBLE * max(chances[0], chances.max() if chances[0] < NEGLIGIBLE else 0.0)
    numbers, chances = numbers[likely], chances[likely]
    start = 0
    while start < len(numbers):
        wide = 1 if numbers[start] <= ALONE else max(int(numbers[start]) // 2, 1)
        of, part = numbers[start : start + wide], chances[start : start + wide]
        yield float(part.sum()), of, part / part.sum()
        start += wide


def _share(
    of: Layout,
    random: np.random.Generator,
    numbers: Ints,
    chances: npt.NDArray[np.float64],
    messages: int,
) -> float:
    """Of errors with so many flipped bits the share that stays undetected."""
    total, left = 0.0, messages
    while left:
        rows = min(left, max(CELLS // of.bits, 1))
        flipped = random.choice(numbers, rows, p=chances)
        total += float(np.sum(_completing(of, random, flipped) / _pairs(of.bits - flipped + 2)))
        left -= rows
    return total / messages


def _completing(of: Layout, random: np.random.Generator, flipped: Ints) -> Ints:
    """For each row of drawn messages, with all but two of its flipped bits drawn: how many pairs of the other
    bits, when they are flipped too, leave the sums as they were.
    """
    rows = len(flipped)
    signs = 1 - 2 * of.draw(random, rows).astype(np.int64)
    drawn = random.random((rows, of.bits))
    taken = drawn < np.take_along_axis(np.sort(drawn, axis=1), (flipped - 2)[:, np.newaxis], axis=1)
    first, second = ((signs * values) % of.modulus for values in (of.first, of.second))
    wanted = [-(np.where(taken, values, 0).sum(axis=1)) % of.modulus for values in (first, second)]
    counts = np.zeros(rows, dtype=np.int64)
    there = np.flatnonzero(np.isin(wanted[0], _sums_of_two(of)))
    if not len(there):
        return counts
    first, second, taken = first[there], second[there], taken[there]
    row = np.arange(len(there))[:, np.newaxis] * of.modulus**2
    own = np.where(taken, -1, row + first * of.modulus + second)
    other = row + (wanted[0][there, np.newaxis] - first) % of.modulus * of.modulus
    other += (wanted[1][there, np.newaxis] - second) % of.modulus
    known = np.sort(own, axis=None)
    found = np.searchsorted(known, other, "right") - np.searchsorted(known, other, "left")
    found = np.where(taken, 0, found - (own == other))
    counts[there] = found.sum(axis=1) // 2
    return counts


def _sums_of_two(of: Layout) -> Ints:
    """What two flipped bits can add to the first sum."""
    single = np.unique(np.concatenate([of.first, -of.first]) % of.modulus)
    return np.unique((single[:, np.newaxis] + single) % of.modulus)


def _pairs(of: Ints) -> npt.NDArray[np.float64]:
    return of * (of - 1) / 2.0


def _unpacked(values: npt.NDArray[Any], width: int) -> Bits:
    """Whole numbers as bits, the highest first."""
    return (values[:, np.newaxis] >> np.arange(width)[::-1] & 1).astype(np.uint8)
