"""The probability that an error stays undetected, exactly, from the weights of the dual of a linear code.

MacWilliams (1963): over a channel that flips each bit with the probability p, of a code of length n with 2^r
words in its dual, B_i of them of weight i,

    P = 2^-r * sum of B_i (1 - 2p)^i - (1 - p)^n

The two terms are almost the same where p is small, so they are decimals of as many digits as the difference
needs.
"""

from decimal import Decimal, localcontext
from math import comb

import numpy as np

from gauntlet.residual.dual import Counts

DISTANCE_UP_TO = 10
"""The least number of flipped bits that stays undetected is looked for up to here."""


def undetected(counts: Counts, p: Decimal) -> Decimal:
    """P for a bit error probability p in (0, 0.5], rounded to 30 digits."""
    bits, words = len(counts) - 1, int(counts.sum())
    with localcontext() as context:
        context.prec = 60 - (DISTANCE_UP_TO + 2) * min(p.adjusted(), -1)
        one, power, at = 1 - 2 * p, Decimal(1), 0
        total = Decimal(0)
        for weight in np.flatnonzero(counts).tolist():
            power *= one ** (weight - at) if one else Decimal(int(weight == at))
            at = weight
            total += int(counts[weight]) * power
        found = total / words - (1 - p) ** bits
        context.prec = 30
        return +max(found, Decimal(0))


def wrong(bits: int, p: Decimal) -> Decimal:
    """The probability that at least one of the bits is flipped."""
    with localcontext() as context:
        context.prec = 60 - 2 * min(p.adjusted(), -1)
        return 1 - (1 - p) ** bits


def words_of_weight(counts: Counts, weight: int) -> int:
    """How many error patterns of so many bits stay undetected, by the same identity."""
    bits, whole = len(counts) - 1, int(counts.sum())
    total = 0
    for i in np.flatnonzero(counts).tolist():
        krawtchouk = sum(
            (-1) ** j * comb(i, j) * comb(bits - i, weight - j) for j in range(min(i, weight) + 1)
        )
        total += int(counts[i]) * krawtchouk
    found, rest = divmod(total, whole)
    assert rest == 0, "these are no weights of a dual"
    return found


def distance(counts: Counts) -> tuple[int, int] | None:
    """The least number of flipped bits that stays undetected, and how many patterns of so many there are;
    None when it is above `DISTANCE_UP_TO`.
    """
    for weight in range(1, min(DISTANCE_UP_TO, len(counts) - 1) + 1):
        if found := words_of_weight(counts, weight):
            return weight, found
    return None
