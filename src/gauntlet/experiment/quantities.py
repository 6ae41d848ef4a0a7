"""Types for models of the experiment file: text with a unit in, a plain number in base units out."""

from collections.abc import Callable
from typing import Annotated, TypeVar

from pydantic import BeforeValidator

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


Time = Annotated[float, BeforeValidator(_reading(units.time_s))]
"""Seconds, 0 or more."""
SpreadTime = Annotated[tuple[float, float], BeforeValidator(_reading(units.spread_time_s))]
"""A range of times: middle and half width in seconds."""
Duration = Annotated[float, BeforeValidator(_reading(_positive(units.time_s, "time")))]
"""Seconds, above 0."""
Size = Annotated[int, BeforeValidator(_reading(_positive(units.size_bytes, "size")))]
"""Bytes, above 0."""
Share = Annotated[float, BeforeValidator(_reading(units.fraction))]
"""A fraction from 0 to 1."""


Rate = Annotated[int, BeforeValidator(_reading(_positive(units.rate_bps, "rate")))]
"""Bits per second, above 0."""


def _rate_or_max(value: object) -> int | str:
    return "max" if value == "max" else _reading(units.rate_bps)(value)


RateOrMax = Annotated[int | str, BeforeValidator(_rate_or_max)]
"""Bits per second, or "max": as much as the line can carry at best."""
