"""Methods that find each of their answers once: tables, figures and sentences ask for them again."""

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

Whose = TypeVar("Whose")
Given = ParamSpec("Given")
Found = TypeVar("Found")


def found_once(
    method: Callable[Concatenate[Whose, Given], Found],
) -> Callable[Concatenate[Whose, Given], Found]:
    """A method whose answers its object keeps, by what it was given."""
    name = f"_{method.__name__}_found"

    def once(self: Whose, /, *args: Given.args, **kwargs: Given.kwargs) -> Found:
        found: dict[Any, Found] = self.__dict__.setdefault(name, {})
        place = (args, *kwargs.items())
        if place not in found:
            found[place] = method(self, *args, **kwargs)
        return found[place]

    update_wrapper(once, method)
    return once
