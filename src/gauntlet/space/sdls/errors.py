"""One exception for everything that is refused; its code is the name that the vector files use."""

from __future__ import annotations


class Refused(Exception):
    """Something was refused.

    Args:
        code: The short name of the reason, as in the vector files.
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def require(condition: object, code: str) -> None:
    """Raises `Refused` with `code` unless `condition` holds."""
    if not condition:
        raise Refused(code)
