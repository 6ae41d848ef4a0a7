"""What valgrind's callgrind writes of a process: how many instructions each function took itself.

The format: https://valgrind.org/docs/manual/cl-format.html. Names are said once and are numbers from then on;
the line after `calls=` has what a called function took, which is told of at that function itself.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

_NAMED = re.compile(r"c?fn=(\(\d+\))(?: (.*))?$")
_COST = re.compile(r"(?:[+-]?\d+|\*) (\d+)$")


def self_instructions(lines: Iterable[str]) -> Mapping[str, int]:
    """Instructions by the functions that took them, without those of the functions that they called."""
    names: dict[str, str] = {}
    found: Counter[str] = Counter()
    within, called = "", False
    for line in lines:
        if named := _NAMED.match(line.rstrip()):
            number, name = named.groups()
            if name is not None:
                names[number] = name
            if line.startswith("fn="):
                within = names[number]
        elif line.startswith("calls="):
            called = True
        elif cost := _COST.match(line.rstrip()):
            if not called:
                found[within] += int(cost[1])
            called = False
    return found
