"""Models that refuse unknown keys with a hint, and validation errors as one sentence for the user."""

import difflib
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails

Location = tuple[int | str, ...]


def nearest(named: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one; None where none is like it."""
    return next(iter(difflib.get_close_matches(named, list(known), n=1, cutoff=0.6)), None)


def unknown_key(key: str, known: Iterable[str]) -> str:
    """Say that a key is unknown and name the nearest one, or all."""
    names = list(known)
    if close := nearest(key, names):
        return f"unknown key '{key}'; did you mean '{close}'?"
    return f"unknown key '{key}'; known keys are {', '.join(names)}."


class Strict(BaseModel):
    """A frozen model without implicit conversions between text and numbers; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, given: Any) -> Any:
        if isinstance(given, dict) and cls.model_config.get("extra") == "forbid":
            known = [field.alias or name for name, field in cls.model_fields.items()]
            for key in given:
                if key not in known and key not in cls.model_fields:
                    raise ValueError(unknown_key(str(key), known))
        return given


def sentence(error: ValidationError, place: Callable[[Location], str]) -> str:
    """The first problem as one sentence; `place` turns pydantic's location into words."""
    return _told(error.errors(include_url=False)[0], place)


def _told(problem: ErrorDetails, place: Callable[[Location], str]) -> str:
    location = problem["loc"]
    if problem["type"] == "missing":
        where = place(location[:-1])
        return f"{where}: the key '{location[-1]}' is missing; add it." if where else _missing_top(location)
    where = place(location)
    text = _plain(problem)
    return f"{where}: {text}" if where else text


def sentences(error: ValidationError, place: Callable[[Location], str]) -> str:
    """As `sentence`, of every key with a problem, a line each."""
    told: dict[Location, str] = {}
    for problem in error.errors(include_url=False):
        # What can be one of several has a problem for each of them.
        location = problem["loc"]
        key = location[: 3 if len(location) > 1 and isinstance(location[1], int) else 2]
        told.setdefault(key, _told(problem, place))
    return "\n".join(dict.fromkeys(told.values()))


def _missing_top(location: Location) -> str:
    return f"the key '{location[-1]}' is missing; add it."


def _plain(problem: ErrorDetails) -> str:
    kind = problem["type"]
    given = problem.get("input")
    if kind == "value_error":
        text = str(problem["ctx"]["error"])
        return text if text.endswith((".", "?")) else f"{text}."
    if kind == "literal_error":
        return f"{given!r} is not known; choose {problem['ctx']['expected']}."
    if kind in ("list_type", "tuple_type") and isinstance(given, dict):
        return _single_table(problem["loc"])
    wanted = _WANTED.get(kind)
    if wanted is not None:
        return f"{given!r} is not {wanted}."
    for bounds, said in ((_BOUNDS, f"{given!r} is out of range"), (_COUNTS, _how_many(problem))):
        if kind in bounds:
            key, words = bounds[kind]
            return f"{said}; give {words.format(problem['ctx'][key])}."
    message = problem["msg"]
    return f"{given!r} does not fit: {message[0].lower()}{message[1:]}."


def _how_many(problem: ErrorDetails) -> str:
    return f"there are {problem.get('ctx', {}).get('actual_length')}"


def _single_table(location: Location) -> str:
    keys = [part for part in location if isinstance(part, str)]
    return (
        "a table stands where a list belongs; write it in square brackets, or "
        f"[[{'.'.join(keys)}]] above each of several tables."
    )


_BOUNDS = {
    "greater_than": ("gt", "more than {}"),
    "greater_than_equal": ("ge", "{} or more"),
    "less_than": ("lt", "less than {}"),
    "less_than_equal": ("le", "{} or less"),
}
"""Where a number has to be, by pydantic's name of the problem."""
_COUNTS = {"too_short": ("min_length", "{} or more"), "too_long": ("max_length", "{} or fewer")}
"""How many of a list there may be, by pydantic's name of the problem."""
_WANTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text in quotes",
    "list_type": "a list in square brackets",
    "tuple_type": "a list in square brackets",
    "dict_type": "a table of keys",
    "model_type": "a table of keys",
}
