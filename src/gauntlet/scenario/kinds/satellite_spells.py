"""Spells of a satellite link, such as outages and showers, written as "20-30s, 200-300s, 600-650s"."""

import re
from dataclasses import dataclass
from itertools import pairwise

from gauntlet import units
from gauntlet.errors import UserError

_END = r"\d+(?:\.\d+)?"
_UNIT = r"[a-zµμ]*"
_SPELL = re.compile(rf"\s*({_END})\s*({_UNIT})\s*-\s*({_END})\s*({_UNIT})\s*")


@dataclass(frozen=True)
class Spell:
    """From one instant to another, in seconds of the scenario."""

    from_s: float
    to_s: float

    def holds(self, t_s: float) -> bool:
        """Whether it lasts at this instant; it has ended at its end."""
        return self.from_s <= t_s < self.to_s


def parse(text: str) -> tuple[Spell, ...]:
    """Read spells in their order; a unit may stand after both instants or after the second alone.

    Raises UserError naming the part that is wrong.
    """
    spells = tuple(_spell(part) for part in text.split(","))
    for before, after in pairwise(spells):
        if after.from_s < before.to_s:
            raise UserError(
                f"'{text}': the spell from {after.from_s:g} s begins before the one before it has ended; "
                "write them in order."
            )
    return spells


def _spell(part: str) -> Spell:
    match = _SPELL.fullmatch(part)
    if match is None:
        raise UserError(f"'{part.strip()}' is no spell; write from when to when, such as '20-30s'.")
    begin, unit, end, end_unit = match.groups()
    spell = Spell(units.time_s(begin + (unit or end_unit)), units.time_s(end + end_unit))
    if spell.to_s <= spell.from_s:
        raise UserError(f"'{part.strip()}' ends before it begins; write the earlier instant first.")
    return spell
