"""Numbers for people: three significant digits, intervals with the digits of their value."""

import math
import re
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from gauntlet.metrics.intervals import DETERMINISTIC, Mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.observation import Observation, State

MISSING = "–"
_THOUSANDS = re.compile(
    r"(?<![\w.,:])(?<!\w-)(?<!\d[eE][+−])[1-9]\d{3,}(?![\w,]*\d)(?!(?:\.\d+)?(?:-\w|:[\w:]))"
)
"""Whole parts of numbers from a thousand on, that have no commas yet and belong to no word, date, identifier,
address or exponent.
"""


def decimals(value: float) -> int:
    """Digits after the point that leave three significant digits (none from 100 on)."""
    if value == 0 or not math.isfinite(value):
        return 0
    rounded = float(f"{abs(value):.3g}")
    return min(max(2 - math.floor(math.log10(rounded) + 1e-12), 0), 6)


def number(value: float | None, digits: int | None = None) -> str:
    """A number with three significant digits, or with `digits` after the point; a dash for none.

    A value that would round to nothing but zeros reads as 0, and minus is a real minus sign.
    """
    if value is None or not math.isfinite(value):
        return MISSING
    if digits is None:
        digits = decimals(value)
        if abs(value) >= 1000:
            value = float(f"{value:.3g}")
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def bounding(value: float, *, up: bool) -> str:
    """A bound with three significant digits, at most three after the point, rounded so that it stays one."""
    exact = Decimal(str(value))  # in floats 700 times a thousandth and 0.7 are two numbers
    rounded = exact.quantize(Decimal(1).scaleb(_place(exact)), ROUND_CEILING if up else ROUND_FLOOR)
    return number(float(rounded), max(-_place(rounded), 0))  # 99.95 becomes 100, which has a digit more


def _place(value: Decimal) -> int:
    """The power of ten of its third significant digit, or of the third after the point."""
    return max(value.adjusted() - 2, -3) if value else 0


def grouped(text: str) -> str:
    """The same with commas between the thousands of every number in it: 16,400 [16,300 to 16,500]."""
    return _THOUSANDS.sub(lambda found: f"{int(found[0]):,}", text)


def mean_text(mean: Mean, factor: float = 1.0) -> str:
    """The value of a mean in shown units."""
    return number(mean.value * factor)


def interval_text(mean: Mean, factor: float = 1.0) -> str:
    """The interval of a mean in shown units; empty when there is none, and when it has no width: repetitions
    that are all equal (0 % lost, none ended) do not say how far the true value may be.
    """
    if mean.low is None or mean.high is None or mean.low == mean.high:
        return ""
    digits = decimals(mean.value * factor)
    low, high = (
        # 1327 beside 808 would claim a digit more than the value does.
        number(end, None if digits == 0 and abs(end) >= 1000 else digits)
        for end in (mean.low * factor, mean.high * factor)
    )
    return f"{low} to {high}"


def observation_text(seen: Observation | None, factor: float = 1.0) -> str:
    """One repetition in shown units: a number, what it is above, or `none`."""
    if seen is None:
        return MISSING
    if seen.state == State.NEVER:
        return "none"
    return f"{'> ' if seen.state == State.CENSORED else ''}{number(seen.value * factor)}"


def with_unit(kpi: Kpi, mean: Mean) -> str:
    """A KPI's mean for a sentence: value, unit, interval in brackets when there is one."""
    interval = interval_text(mean, kpi.shown_factor)
    unit = f" {kpi.shown_unit}" if kpi.shown_unit else ""
    shown = f" [{interval}]" if interval else " (deterministic)" if mean.method == DETERMINISTIC else ""
    return f"{mean_text(mean, kpi.shown_factor)}{unit}{shown}"


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them: a, b and c. Where one has a comma of its own: a, 1; b, 2; and c."""
    if len(words) < 2:
        return words[0] if words else "none"
    between, last = ("; ", "; and ") if any(map(_has_comma, words)) else (", ", " and ")
    return f"{between.join(words[:-1])}{last}{words[-1]}"


def named(names: Sequence[str]) -> str:
    """Names as a sentence lists them; those with a comma of their own in brackets, lest one be taken for two:
    (loss 0 %, queue 64 kB) and (loss 1 %, queue 64 kB).
    """
    several = len(names) > 1
    return listed([f"({it})" if several and _has_comma(it) else it for it in names])


def _has_comma(text: str) -> bool:
    """Whether it has one outside of brackets."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and text.startswith(", ", place):
            return True
    return False


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun: 1 run, 2 runs."""
    return f"{count} {one if count == 1 else many or one + 's'}"
