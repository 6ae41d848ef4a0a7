"""Types for models of the experiment file: text with a unit in, a plain number in base units out."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, WithJsonSchema

from gauntlet import units
from gauntlet.errors import UserError

Number = TypeVar("Number", int, float)
Read = TypeVar("Read", int, float, tuple[float, float])


def _reading(read: Callable[[object], Read]) -> Callable[[object], Read]:
    def validate(value: object) -> Read:
        try:
            return read(value)
        except UserError as error:
            raise ValueError(str(error)) from None

    return validate


def _positive(read: Callable[[object], Number], kind: str) -> Callable[[object], Number]:
    def checked(value: object) -> Number:
        number = read(value)
        if number <= 0:
            raise UserError(f"the {kind} {value!r} is out of range; give one above 0.")
        return number

    return checked


WRITTEN_TIME = {"type": "string", "pattern": units.PATTERNS["time"]}
"""A time with its unit as JSON Schema."""


def _written(kind: str, *examples: str) -> WithJsonSchema:
    """How a quantity is written, for editors."""
    schema = {"type": "string", "pattern": units.PATTERNS[kind], "examples": [*examples]}
    return WithJsonSchema({**schema, "description": f"A {kind} with its unit."})


Time = Annotated[float, BeforeValidator(_reading(units.time_s)), _written("time", "25ms", "1h 2min")]
"""Seconds, 0 or more."""
SpreadTime = Annotated[
    tuple[float, float], BeforeValidator(_reading(units.spread_time_s)), _written("spread time", "25ms±5ms")
]
"""A range of times: middle and half width in seconds."""
Duration = Annotated[
    float, BeforeValidator(_reading(_positive(units.time_s, "time"))), _written("time", "2min")
]
"""Seconds, above 0."""
Size = Annotated[
    int, BeforeValidator(_reading(_positive(units.size_bytes, "size"))), _written("size", "512kB")
]
"""Bytes, above 0."""

MIN_MEMORY_MIB = 64
"""Of a guest: it boots with less, and has no room for the buffers of its sockets."""
MAX_MEMORY_MIB = 65_536


def _memory_mib(value: object) -> int:
    mib, rest = divmod(units.size_bytes(value), 1 << 20)
    if rest or not MIN_MEMORY_MIB <= mib <= MAX_MEMORY_MIB:
        raise UserError(
            f"the memory {value!r} is no whole number of MiB from {MIN_MEMORY_MIB}MiB to "
            f"{MAX_MEMORY_MIB >> 10}GiB; write one such as '1GiB'."
        )
    return mib


Memory = Annotated[int, BeforeValidator(_reading(_memory_mib)), _written("size", "512MiB", "1GiB")]
"""MiB of a guest."""
Length = Annotated[float, BeforeValidator(_reading(units.length_km)), _written("length", "50km")]
"""Kilometres, 0 or more."""
_SHARE_OR_NUMBER = [
    {"type": "string", "pattern": units.PATTERNS["share"]},
    {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
]
Share = Annotated[
    float,
    BeforeValidator(_reading(units.fraction)),
    WithJsonSchema(
        {"anyOf": _SHARE_OR_NUMBER, "examples": ["1%"], "description": "A share, or a number below 1."}
    ),
]
"""A fraction from 0 to 1."""


Rate = Annotated[
    int, BeforeValidator(_reading(_positive(units.rate_bps, "rate"))), _written("rate", "5.2Mbit/s")
]
"""Bits per second, above 0."""


def _rate_or_max(value: object) -> int | str:
    return "max" if value == "max" else _reading(units.rate_bps)(value)


_MAX_OR_RATE = [{"const": "max"}, {"type": "string", "pattern": units.PATTERNS["rate"]}]
RateOrMax = Annotated[
    int | str,
    BeforeValidator(_rate_or_max),
    WithJsonSchema(
        {"anyOf": _MAX_OR_RATE, "examples": ["max", "5.2Mbit/s"], "description": "A rate, or max."}
    ),
]
"""Bits per second, or "max": as much as the line can carry at best."""
