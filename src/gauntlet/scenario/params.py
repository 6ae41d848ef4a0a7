"""Parameters of a scenario: quantities with units, and what is wrong with them in one sentence.

Every parameter may be given as a number in the unit its docstring names, or as text with a unit
("5.2Mbit/s", "25 ms", "512kB", "1%", "1.4MHz").
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from gauntlet import units
from gauntlet.errors import UserError


def _quantity(parse: Callable[[str], float]) -> BeforeValidator:
    def convert(value: object) -> object:
        if not isinstance(value, str):
            return value
        try:
            return parse(value)
        except UserError as error:
            raise ValueError(str(error)) from None

    return BeforeValidator(convert)


RateBps = Annotated[float, _quantity(units.rate_bps), Field(gt=0, allow_inf_nan=False)]
"""A rate in bit/s at the IP layer, above zero."""
DelayS = Annotated[float, _quantity(units.time_s), Field(ge=0, allow_inf_nan=False)]
"""A delay in seconds, zero or more."""
DurationS = Annotated[float, _quantity(units.time_s), Field(gt=0, allow_inf_nan=False)]
"""A length of time in seconds, above zero."""
SizeBytes = Annotated[int, _quantity(units.size_bytes), Field(gt=0)]
"""A size in bytes, above zero."""
Loss = Annotated[float, _quantity(units.fraction), Field(ge=0, le=1)]
"""A probability from 0 to 1."""
FrequencyHz = Annotated[float, _quantity(units.frequency_hz), Field(gt=0, allow_inf_nan=False)]
"""A bandwidth in Hz, above zero."""


class ScenarioParams(BaseModel):
    """Base of all scenario parameters: unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


P = TypeVar("P", bound=ScenarioParams)


def read_params(model: type[P], given: Mapping[str, object] | None, scenario: str) -> P:
    """Check `given` against `model`; raises `UserError` with one sentence on the first thing wrong."""
    try:
        return model.model_validate(dict(given or {}))
    except ValidationError as error:
        raise UserError(_sentence(error, model, scenario)) from None


def _sentence(error: ValidationError, model: type[ScenarioParams], scenario: str) -> str:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = ", ".join(model.model_fields) or "none"
        close = get_close_matches(name, model.model_fields, n=1)
        hint = f"did you mean '{close[0]}'? Its" if close else "its"
        return f"Scenario '{scenario}' has no parameter '{name}'; {hint} parameters are: {known}."
    problem = first["msg"].removeprefix("Value error, ").rstrip(".")
    return f"Parameter '{name}' of scenario '{scenario}' cannot be {first['input']!r}: {problem}."
