"""protocols.toml: threats, defences, protocols with a cell for each, and D3.5's hazardous events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from pydantic import Field

from gauntlet.errors import UserError
from gauntlet.experiment.strict import Strict
from gauntlet.experiment.tomlfile import checked, toml

FILE = "protocols.toml"


class Has(StrEnum):
    """Whether a protocol has a defence."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"


class Meets(StrEnum):
    """How far a protocol meets a threat."""

    ATTACK = "attack"
    """Also when somebody on the path without keys wants it."""
    FAULTS = "faults"
    """When network and equipment fail, not when somebody wants it."""
    PARTLY = "partly"
    """In one direction, in one phase or under a condition only."""
    NO = "no"


class Threat(Strict):
    """[[threat]]"""

    id: str
    name: str
    defences: list[str]
    line: int


class Defence(Strict):
    """[[defence]]"""

    id: str
    name: str
    line: int


class Having(Strict):
    """A cell of defences."""

    answer: str = Field(alias="is", pattern="^(yes|partly|no)$")
    why: str = Field(min_length=1)
    source: str = Field(min_length=1)
    in_short: str | None = None
    """What D3.5 says in this cell of its Table 5, shortened; empty for an empty cell, None where it has no
    such column.
    """


class Meeting(Strict):
    """A cell of threats."""

    answer: str = Field(alias="is", pattern="^(attack|faults|partly|no)$")
    why: str = Field(min_length=1)
    source: str = Field(min_length=1)
    faults: bool = False
    """Of what is met in part: whether that is so for an attacker only, and against faults it holds."""

    @property
    def holds_against_faults(self) -> bool:
        """Whether it is met when network and equipment fail."""
        return self.faults or self.answer in (Meets.ATTACK, Meets.FAULTS)


class _Protocol(Strict):
    id: str
    name: str
    like: str | None = None
    column: str | None = None
    ticks: list[str] = Field(default_factory=list)
    tried_as: str | None = None
    both_sides: bool = False
    early_data: bool = False
    not_forged: str = ""
    not_repaired: str = ""
    has: dict[str, Having] = Field(default_factory=dict)
    meets: dict[str, Meeting] = Field(default_factory=dict)


class Hazard(Strict):
    """[[hazard]]: a hazardous event."""

    name: str
    threats: list[str]
    lines: list[int] = Field(min_length=2, max_length=2)
    """Of D3.5's Table 6, and the first of Table 8's."""
    intent: bool = False
    """Whether somebody wants it."""
    inside: bool = False
    """Whether it happens inside an end, where no protocol is a defence."""


class _File(Strict):
    source: str
    threats: list[Threat] = Field(alias="threat")
    defences: list[Defence] = Field(alias="defence")
    protocols: list[_Protocol] = Field(alias="protocol")
    hazards: list[Hazard] = Field(alias="hazard")


@dataclass(frozen=True)
class Protocol:
    """A protocol with all its cells."""

    id: str
    name: str
    column: str | None
    """Of D3.5's Tables 5, 7 and 8; None where it has none."""
    ticks: frozenset[str]
    """The threats that D3.5's Table 7 ticks."""
    has: Mapping[str, Having]
    meets: Mapping[str, Meeting]
    tried_as: str | None = None
    """The transport of experiments by which it is tried; None: by none."""
    both_sides: bool = False
    """Whether the client shows a certificate too when it is tried."""
    early_data: bool = False
    """Whether it is tried with data in the first flight of a session that resumes another."""
    not_forged: str = ""
    """Why insertion and masquerade are not tried on the way, but in the sender's place alone; empty where
    they are, and where nothing is tried."""
    not_repaired: str = ""
    """Its own codes, which stay as they are where the checksum below it is made right; empty: none."""


@dataclass(frozen=True)
class Defences:
    """The whole file."""

    threats: tuple[Threat, ...]
    defences: tuple[Defence, ...]
    protocols: tuple[Protocol, ...]
    hazards: tuple[Hazard, ...]

    def protocol(self, named: str) -> Protocol:
        """One protocol by its id or name. Raises UserError naming those that are meant most likely."""
        for it in self.protocols:
            if named.lower() in (it.id, it.name.lower()):
                return it
        likely = [f"'{it}'" for it in self._likely(named.lower())]
        there = f"there are {', '.join(it.id for it in self.protocols)}."
        hint = f"did you mean {_either(likely)}?" if likely else there
        raise UserError(f"The protocol '{named}' is not assessed here; {hint}")

    def _likely(self, word: str) -> list[str]:
        """The ids of those that have the word in their names, or in that of the transport of experiments that
        they are tried as; without such the nearest one."""
        within = [
            it.id for it in self.protocols if word in it.id or word in it.name.lower() or word == it.tried_as
        ]
        return within or get_close_matches(word, [it.id for it in self.protocols], n=1, cutoff=0.5)


def _either(words: Sequence[str]) -> str:
    """Words as a question lists them: a, b or c."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


@cache
def default() -> Defences:
    """The package's own file."""
    with as_file(files("gauntlet.defences") / FILE) as path:
        return load(path)


def load(path: Path) -> Defences:
    """Read a file of this form. Raises UserError with file, place and what would be right."""
    file = checked(_File, toml(path, "file of defences"), str(path))
    found: dict[str, Protocol] = {}
    for given in file.protocols:
        like = found.get(given.like or "")
        has, meets = (dict(like.has), dict(like.meets)) if like else ({}, {})
        if like is not None:
            # What D3.5 says is of its own columns; a variant of one that it has not is not in its table.
            has = {
                name: it if given.column else it.model_copy(update={"in_short": None})
                for name, it in has.items()
            }
        made = Protocol(
            given.id,
            given.name,
            given.column,
            frozenset(given.ticks),
            {**has, **given.has},
            {**meets, **given.meets},
            given.tried_as,
            given.both_sides,
            given.early_data,
            given.not_forged,
            given.not_repaired,
        )
        _check(made.has, file.defences, f"{path}: {given.name}, has")
        _check(made.meets, file.threats, f"{path}: {given.name}, meets")
        found[given.id] = made
    return Defences(tuple(file.threats), tuple(file.defences), tuple(found.values()), tuple(file.hazards))


def _check(cells: Mapping[str, object], known: Sequence[Threat | Defence], where: str) -> None:
    names = {it.id for it in known}
    odd = sorted(cells.keys() ^ names)
    if odd:
        raise UserError(f"{where}: {odd[0]} is {'missing' if odd[0] in names else 'not known'}.")
