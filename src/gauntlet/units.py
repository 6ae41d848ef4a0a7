"""Quantities with units: "5.2Mbit/s", "25ms", "512kB", "1%", "10min", "1.4MHz", "50km" to plain numbers and
back.

Prefixes k, M and G are decimal (SI); Ki, Mi and Gi are binary and exist for sizes only. Units are case
sensitive, because "Mb" and "MB" differ by a factor of eight. Arithmetic is decimal, so "1.1%" is the very
float 0.011. Every function raises UserError with one sentence: what was given, where, and what would be
right.
"""

import difflib
import re
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

from gauntlet.errors import UserError

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?"
_UNSIGNED = r"\+?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?"
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*([^\d\s+.-]\S*)?\s*")
_COMPOUND_TIME = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zµμ]+)")

_RATES = {
    "bit/s": Decimal(1),
    "kbit/s": Decimal(10**3),
    "Mbit/s": Decimal(10**6),
    "Gbit/s": Decimal(10**9),
    "bps": Decimal(1),
    "kbps": Decimal(10**3),
    "Mbps": Decimal(10**6),
    "Gbps": Decimal(10**9),
    "B/s": Decimal(8),
    "kB/s": Decimal(8 * 10**3),
    "MB/s": Decimal(8 * 10**6),
    "GB/s": Decimal(8 * 10**9),
}
_TIMES = {
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "μs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3600),
    "d": Decimal(86400),
}
_SIZES = {
    "B": Decimal(1),
    "kB": Decimal(10**3),
    "MB": Decimal(10**6),
    "GB": Decimal(10**9),
    "KiB": Decimal(2**10),
    "MiB": Decimal(2**20),
    "GiB": Decimal(2**30),
}
_FREQUENCIES = {
    "Hz": Decimal(1),
    "kHz": Decimal(10**3),
    "MHz": Decimal(10**6),
    "GHz": Decimal(10**9),
}
_LENGTHS = {"m": Decimal("0.001"), "km": Decimal(1)}
_FRACTIONS = {"%": Decimal("0.01"), "‰": Decimal("0.001"), "ppm": Decimal("1e-6")}


def _texts(units: Mapping[str, Decimal]) -> str:
    names = "|".join(re.escape(unit) for unit in units)
    return rf"{_UNSIGNED}\s*({names})"


_TIMES_TEXT = rf"(0|{_texts(_TIMES)}(\s*{_texts(_TIMES)})*)"
PATTERNS: Mapping[str, str] = MappingProxyType(
    {
        "rate": rf"^\s*{_texts(_RATES)}\s*$",
        "time": rf"^\s*{_TIMES_TEXT}\s*$",
        "spread time": rf"^\s*{_TIMES_TEXT}\s*((±|\+-)\s*{_TIMES_TEXT}\s*)?$",
        "size": rf"^\s*{_texts(_SIZES)}\s*$",
        "length": rf"^\s*(0|{_texts(_LENGTHS)})\s*$",
        "share": rf"^\s*(0|{_texts(_FRACTIONS)})\s*$",
    }
)
"""Regular expressions (ECMA 262, as JSON Schema has them) of how quantities are written, for editors."""


def rate_bps(value: object, where: str | None = None) -> int:
    """Bits per second, above 0: "5.2Mbit/s", "800kbps", "1MB/s"."""
    number = _parse(value, "rate", _RATES, "5.2Mbit/s", where)
    whole = int(number.to_integral_value())
    if whole < 1:
        raise UserError(_negative(value, "rate", where, "a rate of at least 1bit/s"))
    return whole


def time_s(value: object, where: str | None = None) -> float:
    """Seconds, 0 or more: "25ms", "10min", "1h 2min 30s"."""
    if isinstance(value, str):
        compound = _compound_time_s(value)
        if compound is not None:
            return compound
    number = _parse(value, "time", _TIMES, "25ms", where)
    if number < 0:
        raise UserError(_negative(value, "time", where, "a time of 0 or more"))
    return float(number)


def spread_time_s(value: object, where: str | None = None) -> tuple[float, float]:
    """Middle and half width of a range of times, in seconds: "25ms±5ms" (or "25ms+-5ms"); "25ms" has none.

    The range may not go below 0.
    """
    parts = re.split(r"±|\+-", value) if isinstance(value, str) else [value]
    if len(parts) > 2:
        raise UserError(f"{_at(where)}{_show(value)} has more than one ±; write one, such as '25ms±5ms'.")
    middle_s, half_width_s = time_s(parts[0], where), time_s(parts[1], where) if len(parts) == 2 else 0.0
    if half_width_s > middle_s:
        raise UserError(f"{_at(where)}the time {_show(value)} may fall below 0; give a smaller part after ±.")
    return middle_s, half_width_s


def size_bytes(value: object, where: str | None = None) -> int:
    """Whole bytes, 0 or more: "1448B", "512kB" (512,000), "64KiB" (65,536)."""
    number = _parse(value, "size", _SIZES, "512kB", where)
    if number < 0:
        raise UserError(_negative(value, "size", where, "a size of 0 or more"))
    if number != number.to_integral_value():
        raise UserError(f"{_at(where)}the size {_show(value)} is not a whole number of bytes.")
    return int(number)


def frequency_hz(value: object, where: str | None = None) -> float:
    """Hertz, above 0: "1.4MHz"."""
    number = _parse(value, "frequency", _FREQUENCIES, "1.4MHz", where)
    if number <= 0:
        raise UserError(_negative(value, "frequency", where, "a frequency above 0"))
    return float(number)


def length_km(value: object, where: str | None = None) -> float:
    """Kilometres, 0 or more: "50km", "800m"."""
    number = _parse(value, "length", _LENGTHS, "50km", where)
    if number < 0:
        raise UserError(_negative(value, "length", where, "a length of 0 or more"))
    return float(number)


def fraction(value: object, where: str | None = None, *, least: float = 0.0) -> float:
    """A share from `least` to 1: "1%", "0.5‰", "200ppm", or a plain number below 1 such as 0.01.

    The plain number 1 is refused: it may be meant as one per cent or as all.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 <= value < 1:
            raise UserError(
                f"{_at(where)}the share {_show(value)} is unclear; write a percentage such as '1%'."
            )
        share = float(value)
    else:
        bare = re.fullmatch(r"\s*(\d{1,2}(?:\.\d+)?)\s*", value) if isinstance(value, str) else None
        share = float(_parse(value, "share", _FRACTIONS, f"{bare[1]}%" if bare else "1%", where))
    if not least <= share <= 1:
        raise UserError(_negative(value, "share", where, f"a share from {format_fraction(least)} to 100%"))
    return share


def format_rate(bps: float) -> str:
    """The shortest usual form of a rate: 5200000 is "5.2Mbit/s"."""
    return _format(bps, (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)))


def format_time(seconds: float) -> str:
    """The shortest usual form of a time: 0.025 is "25ms", 600 is "10min"."""
    for unit, scale in (("h", 3600.0), ("min", 60.0)):
        if seconds >= scale and seconds % scale == 0:
            return f"{seconds / scale:g}{unit}"
    return _format(seconds, (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)))


def format_spread_time(middle_s: float, half_width_s: float) -> str:
    """The form that `spread_time_s` reads: 0.025 and 0.005 are "25ms±5ms"."""
    spread = f"±{format_time(half_width_s)}" if half_width_s else ""
    return f"{format_time(middle_s)}{spread}"


def format_size(count_bytes: float) -> str:
    """The shortest usual form of a size: 10000000 is "10MB", 2097152 is "2MiB"; decimal where both are."""
    if count_bytes == 0:
        return "0B"
    decimal = _format(count_bytes, (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)))
    if count_bytes < 2**10:
        return decimal
    binary = _format(count_bytes, (("MiB", 2.0**20), ("KiB", 2.0**10)))
    return min(decimal, binary, key=lambda form: len(form.rstrip("MKkGiB")))


def format_length(kilometres: float) -> str:
    """In kilometres: 50 is "50km"."""
    return f"{_digits(kilometres)}km"


def format_frequency(hertz: float) -> str:
    """The shortest usual form of a frequency: 1400000 is "1.4MHz"."""
    return _format(hertz, (("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)))


def format_fraction(share: float) -> str:
    """A share as a percentage: 0.01 is "1%"."""
    return f"{_digits(share * 100)}%"


def spaced(quantity: str) -> str:
    """A formatted quantity as people read it: "25ms" is "25 ms", "25ms±5ms" is "25 ms ± 5 ms"."""
    parts = [_QUANTITY.fullmatch(part) for part in quantity.split("±")]
    return (
        " ± ".join(" ".join(filter(None, part.groups())) for part in parts if part)
        if all(parts)
        else quantity
    )


def _parse(
    value: object, kind: str, units: Mapping[str, Decimal], example: str, where: str | None
) -> Decimal:
    right = f"write a number and a unit, such as '{example}'"
    if not isinstance(value, str):
        raise UserError(f"{_at(where)}the {kind} {_show(value)} has no unit; {right}.")
    match = _QUANTITY.fullmatch(value)
    if match is None:
        raise UserError(f"{_at(where)}{_show(value)} is not a {kind}; {right}.")
    digits, unit = match.groups()
    number = Decimal(digits)
    if unit is None:
        if number == 0:
            return number
        raise UserError(f"{_at(where)}the {kind} {_show(value)} has no unit; {right}.")
    if unit not in units:
        raise UserError(_unknown_unit(value, unit, kind, units, where))
    scaled = number * units[unit]
    # Beyond 1e18 of any base unit (a thousand million million) a slip of the finger is certain.
    if abs(scaled) > Decimal("1e18"):
        raise UserError(f"{_at(where)}the {kind} {_show(value)} is too large.")
    return scaled


def _compound_time_s(text: str) -> float | None:
    """Two or more parts such as "1h 2min 30s"; None when the text is not of that form."""
    parts = _COMPOUND_TIME.findall(text)
    if len(parts) < 2 or _COMPOUND_TIME.sub("", text).strip() or any(unit not in _TIMES for _, unit in parts):
        return None
    return float(sum(Decimal(digits) * _TIMES[unit] for digits, unit in parts))


def _unknown_unit(
    value: object, unit: str, kind: str, units: Mapping[str, Decimal], where: str | None
) -> str:
    folded = {known.lower(): known for known in units}
    close = difflib.get_close_matches(unit.lower(), folded, n=1, cutoff=0.5)
    hint = f"did you mean '{folded[close[0]]}'?" if close else "write one that is known"
    known = ", ".join(name for name in units if name != "μs")
    return f"{_at(where)}unknown unit '{unit}' in the {kind} {_show(value)}; {hint} (known: {known})."


def _negative(value: object, kind: str, where: str | None, right: str) -> str:
    return f"{_at(where)}the {kind} {_show(value)} is out of range; give {right}."


def _at(where: str | None) -> str:
    return f"{where}: " if where else ""


def _show(value: object) -> str:
    return repr(value) if isinstance(value, str) else str(value)


def _format(value: float, scales: tuple[tuple[str, float], ...]) -> str:
    for unit, scale in scales:
        if abs(value) >= scale * 0.999999:
            return f"{_digits(value / scale)}{unit}"
    return f"0{scales[0][0]}" if value == 0 else f"{_digits(value / scales[-1][1])}{scales[-1][0]}"


def _digits(value: float) -> str:
    text = f"{value:.6f}".rstrip("0").rstrip(".")
    return "0" if text in ("", "-0") else text
