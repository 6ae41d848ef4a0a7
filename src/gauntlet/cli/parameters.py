"""Scenario parameters on the command line: NAME=VALUE."""

from typing import Any

from gauntlet.errors import UserError


def pairs(texts: tuple[str, ...]) -> dict[str, Any]:
    """Parameters given as NAME=VALUE; whole numbers and numbers become such, all else stays text."""
    given: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UserError(f"The parameter '{text}' has no value; write NAME=VALUE, such as bandwidth=5MHz.")
        given[name.strip()] = _number(value.strip())
    return given


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
