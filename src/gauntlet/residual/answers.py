"""The residual error of a code at a length: at single bit error probabilities, and at the worst of all.

The form of the argument is that of OPC UA Safety (OPC 10000-15 v1.05, 9.3.1 and 9.3.2, on IEC 61784-3): of
the messages that are wrong a share `conditional` is taken for right, at no length that it allows and no bit
error probability more than a limit; a monitor stops the function when messages are wrong oftener than once in
so many minutes; so the rate of wrong messages that are taken for right is at most the product, if all errors
are of this channel. What rate is tolerable is no question that a code answers: nothing here is a safety
level.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from gauntlet.errors import UserError
from gauntlet.residual import exact, stored, sums
from gauntlet.residual.codes import Code, Crc, Mac, Sum
from gauntlet.residual.dual import Counts

LIMIT = 4.0e-10
"""What OPC UA Safety shows for its CRC over all bit error probabilities, for the lengths it allows
(SafetyData up to 1,500 octets; OPC 10000-15 v1.05, 9.3.1 and 9.3.2).
"""

MONITORS_MIN = (6, 60, 600)
"""Minutes in which its monitor lets one message be wrong."""

GRID = (*(Decimal(10) ** (Decimal(it) / 20) for it in range(-180, -7)), Decimal("0.5"))
"""Bit error probabilities that the worst is looked for among: twenty a decade from 1e-9 to 0.4, and 0.5."""

LEAST, MOST = Decimal("1e-12"), Decimal("0.5")
"""Bit error probabilities that make sense: above a half, one would turn every bit."""


@dataclass(frozen=True)
class Point:
    """At one bit error probability; `low` and `high` are those of `undetected` where it is drawn."""

    p: float
    undetected: float
    """Of all messages."""
    conditional: float
    """Of the wrong ones."""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Answer:
    """A code at a length."""

    code: Code
    bits: int
    """Of the whole message, the code included."""
    points: tuple[Point, ...]
    worst: Point | None
    """The largest share of wrong messages that stay undetected; None where it is not known exactly."""
    distance: int | None
    """The least number of flipped bits that stays undetected; None where it is not counted."""
    patterns: int | None
    """How many patterns of so many bits there are."""

    @property
    def keeps(self) -> bool | None:
        """Whether the worst is at most `LIMIT`; None where the worst is not known."""
        return None if self.worst is None else self.worst.conditional <= LIMIT

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        worst = self.worst
        return {
            "code": self.code.key,
            "bits": self.bits,
            "method": method(self.code),
            "points": [vars(it) for it in self.points],
            "worst": vars(worst) if worst else None,
            "limit": LIMIT,
            "keeps_limit": self.keeps,
            "undetected_per_hour": per_hour(worst.conditional) if worst else None,
            "distance": self.distance,
            "patterns": self.patterns,
        }


def method(code: Code) -> str:
    """How the probability is found."""
    match code:
        case Crc():
            return "exact, by the weights of the dual code"
        case Sum():
            return "importance sampling, random data"
        case Mac():
            return "2^-bits by assumption: an ideal MAC"


def per_hour(conditional: float) -> Mapping[str, float]:
    """Wrong messages taken for right per hour, by the minutes in which the monitor lets one be wrong."""
    return {f"one_in_{minutes}_min": 60 / minutes * conditional for minutes in MONITORS_MIN}


def check(code: Code, octets: int, rates: Sequence[Decimal]) -> None:
    """Raise UserError for a length or a bit error probability that makes no sense."""
    if 8 * octets <= code.bits:
        raise UserError(
            f"A message of {octets} B has no room for data beside {code.label} "
            f"({code.bits} bits); give a longer one."
        )
    for p in rates:
        if not LEAST <= p <= MOST:
            raise UserError(
                f"{p} is no bit error probability that is known here; give one from {LEAST} to {MOST}."
            )


def answer(code: Code, octets: int, rates: Sequence[Decimal], seed: int) -> Answer:
    """A code over messages of so many octets, itself included. Raises UserError for what makes no sense."""
    check(code, octets, rates)
    bits = 8 * octets
    match code:
        case Crc():
            counts = stored.counted(code, bits)
            least = exact.distance(counts)
            points = [_exact(counts, p) for p in (*rates, *GRID)]
            worst = max(points[len(rates) :], key=lambda it: it.conditional)
            distance, patterns = least or (None, None)
            return Answer(code, bits, tuple(points[: len(rates)]), worst, distance, patterns)
        case Sum():
            return Answer(code, bits, tuple(_drawn(code, octets, p, seed) for p in rates), None, None, None)
        case Mac():
            points = [_guessed(code, bits, p) for p in (*rates, MOST)]
            return Answer(code, bits, tuple(points[:-1]), points[-1], None, None)


def _exact(counts: Counts, p: Decimal) -> Point:
    undetected = exact.undetected(counts, p)
    return Point(float(p), float(undetected), float(undetected / exact.wrong(len(counts) - 1, p)))


def _drawn(code: Sum, octets: int, p: Decimal, seed: int) -> Point:
    bits = 8 * octets
    wrong = float(exact.wrong(bits, p))
    if p == MOST:
        # Every message is as likely as any other, and one in 2^bits of the code is right.
        same = math.ldexp(1, -code.bits) - math.ldexp(1, -bits)
        return Point(float(p), same, same / wrong)
    layout = sums.internet(bits) if code.key == "internet" else sums.adler(octets)
    found = sums.undetected(layout, float(p), seed)
    return Point(float(p), found.value, found.value / wrong, found.low, found.high)


def _guessed(code: Mac, bits: int, p: Decimal) -> Point:
    share = math.ldexp(1, -code.bits)
    return Point(float(p), share * float(exact.wrong(bits, p)), share)
