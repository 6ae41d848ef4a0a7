"""Classes of service and their needs: classes.toml of a study's folder (docs/formats/study.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from gauntlet.errors import UserError
from gauntlet.experiment.services import Limit
from gauntlet.experiment.strict import Strict
from gauntlet.experiment.tomlfile import checked, toml

CLASSES = "classes.toml"
"""Name of the file in the study's folder."""

BEYOND = "classes-beyond.toml"
"""Name of the file of classes that the study itself does not have; no claim rests on it."""

APPLICATIONS = "classes-applications.toml"
"""Name of the file of the study's classes by application protocol; no claim rests on it either."""


class Need(Limit):
    """What a class asks of a transport, and where it is measured."""

    experiment: str | list[str]
    """Where it is measured; several experiments count as one."""
    losses: list[float | None] = Field(min_length=1)
    """The losses under which it counts; None: not one that a file names, but as the results have it."""
    delays_s: list[float | None] = Field(default_factory=list)
    """The channel delays under which it counts; those of the file unless given. None as of `losses`."""
    where: dict[str, Any] = Field(default_factory=dict)
    """Further factors of the selection."""
    fixed: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Factors that an experiment of several has, but not in its matrix: experiment -> factor -> value."""
    applications: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """What selects the flows of an application protocol (`FTPS` of the candidate `FTPS: tcp-bbr`) besides the
    transport: application -> factor -> value. Those of its class.
    """

    @property
    def experiments(self) -> tuple[str, ...]:
        """Their names."""
        return (self.experiment,) if isinstance(self.experiment, str) else tuple(self.experiment)


class _Class(Strict):
    """[[class]]"""

    name: str = Field(min_length=1)
    printed: str = ""
    study: list[str] = Field(default_factory=list)
    candidates: list[str] = Field(min_length=1)
    applications: dict[str, dict[str, Any]] = Field(default_factory=dict)
    need: list[Need] = Field(min_length=1)


class Empty(Strict):
    """[[empty]]: a row of the study's table that stays empty, and why."""

    name: str = Field(alias="class", min_length=1)
    words: str = Field(min_length=1)
    until: list[str] = Field(default_factory=list)
    """Experiments that fill it once they are all measured; none: nothing does."""


class _File(Strict):
    """The whole of classes.toml."""

    by: str = Field(min_length=1)
    channel_delays_s: list[float] = Field(min_length=1)
    classes: list[_Class] = Field(alias="class", min_length=1)
    empty: list[Empty] = Field(default_factory=list)


@dataclass(frozen=True)
class ServiceClass:
    """A row of the study's table."""

    name: str
    study: tuple[str, ...]
    """What the study recommends; empty for a class that it does not have."""
    candidates: tuple[str, ...]
    needs: tuple[Need, ...]
    printed: str = ""
    """What the study's own table names; empty where that is the same as `study`."""
    whose: str = ""
    """Who set its limits, for people; empty where the whole table is one's."""


@dataclass(frozen=True)
class Classes:
    """All rows, and whose they are."""

    by: str
    """The study as its table's head names it."""
    classes: tuple[ServiceClass, ...]
    empty: tuple[Empty, ...] = ()

    @property
    def by_name(self) -> Mapping[str, ServiceClass]:
        """Rows by their names."""
        return {it.name: it for it in self.classes}


def load(path: Path) -> Classes:
    """Read a classes.toml. Raises UserError with file, place and what would be right."""
    file = checked(_File, toml(path, "file of classes"), str(path))
    names = [it.name for it in file.classes]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{path}: the class '{name}' stands twice; names are unique.")
    found = tuple(_class(it, file.channel_delays_s) for it in file.classes)
    return Classes(file.by, found, tuple(file.empty))


def _class(given: _Class, delays_s: list[float]) -> ServiceClass:
    own: dict[str, Any] = {"applications": given.applications} if given.applications else {}
    needs = (it.model_copy(update=own if it.delays_s else {**own, "delays_s": delays_s}) for it in given.need)
    return ServiceClass(given.name, tuple(given.study), tuple(given.candidates), tuple(needs), given.printed)
