"""What the player can play, as it says itself: its transports with their parameters and features, and its
applications.

`player.json` is what `gauntlet-player --describe` prints. It stands here so that experiments can be checked
where the program is not; a test holds it against the program.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

FILE = "player.json"


def _read() -> Mapping[str, Any]:
    return MappingProxyType(json.loads((files(__package__) / FILE).read_text(encoding="utf-8")))


DESCRIPTION = _read()
"""The description as it is written (docs/formats/player.md)."""

_TRANSPORTS = {transport["name"]: transport for transport in DESCRIPTION["transports"]}


STACKS = tuple(_TRANSPORTS)
"""The player's stacks, as it is shipped."""


def parameters(stack: str) -> frozenset[str]:
    """The parameters that a stack takes; none of one that the player as it is shipped does not have."""
    return frozenset(_TRANSPORTS[stack]["parameters"] if stack in _TRANSPORTS else ())


@cache
def stacks_with(feature: str) -> frozenset[str]:
    """The stacks that have a feature, such as "http"."""
    return frozenset(name for name, known in _TRANSPORTS.items() if feature in known["features"])
