"""A challenge of one's own: circles and storms in a TOML file; docs/geography.md is the users' reference."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from gauntlet.errors import UserError
from gauntlet.experiment.quantities import Length, Time
from gauntlet.experiment.strict import Strict
from gauntlet.experiment.tomlfile import checked, toml
from gauntlet.geography.challenges import profiles
from gauntlet.geography.challenges.challenge import Challenge
from gauntlet.geography.challenges.circle import Circle, Stage
from gauntlet.geography.challenges.outages import Outages, merged
from gauntlet.geography.challenges.storm import Fix, Storm
from gauntlet.geography.network import Network
from gauntlet.geography.sphere import Place


def _degrees(at: str | list[float]) -> str | list[float]:
    if isinstance(at, list) and not (len(at) == 2 and abs(at[0]) <= 90 and abs(at[1]) <= 180):
        raise ValueError(f"{at} is no place; write latitude and longitude in degrees, such as [47.5, 10.5].")
    return at


Where = Annotated[str | list[float], AfterValidator(_degrees)]
"""A node, or latitude and longitude in degrees."""


class StageSection(Strict):
    """[[circle.stage]]: the circle from one moment to another."""

    from_: Time = Field(alias="from")
    to: Time
    radius: Length
    last_radius: Length | None = None
    """To which it grows or shrinks evenly; None: it stays."""


class CircleSection(Strict):
    """[[circle]]: a region that fails."""

    middle: Where
    stage: list[StageSection] = Field(min_length=1)


class FixSection(Strict):
    """[[storm.fix]]: where a storm is at a moment, and how far it reaches from then on."""

    at: Time
    middle: Where
    radius: Length


class StormSection(Strict):
    """[[storm]]: a circle on its way."""

    fix: list[FixSection] = Field(min_length=2)


class ChallengeFile(Strict):
    """A whole file: whatever any of them takes is down."""

    circle: list[CircleSection] = Field(default_factory=list)
    storm: list[StormSection] = Field(default_factory=list)


def challenge(named: str, folder: Path, network: Network) -> Challenge:
    """A challenge by its name, or of a file (.toml), looked for in `folder`. Raises UserError."""
    if Path(named).suffix != ".toml":
        return _known(named, folder)
    path = folder / named
    asked = checked(ChallengeFile, toml(path, "challenge"), str(path))
    try:
        shapes = _shapes(asked, network)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    if not shapes:
        raise UserError(f"{path}: nothing fails; write a [[circle]] or a [[storm]].")

    def takes(of: Network) -> Outages:
        return merged(of, [shape.outages(of) for shape in shapes])

    rings = [ring for shape in shapes for ring in shape.rings()]
    return Challenge(path.stem, takes, rings, "move it (latitude stands first), or let it reach farther")


def _known(named: str, folder: Path) -> Challenge:
    """One of those that have a name. Raises UserError, naming a file that is there."""
    try:
        return profiles.challenge(named)
    except UserError as error:
        own = Path(f"{named}.toml")
        if (folder / own).is_file():
            raise UserError(f"There is no challenge '{named}'; did you mean the file '{own}'?") from None
        raise UserError(f"{error} A file of your own ends in .toml.") from None


def _shapes(asked: ChallengeFile, network: Network) -> list[Circle | Storm]:
    found: list[Circle | Storm] = []
    for number, one in enumerate(asked.circle, start=1):
        where = f"circle, number {number}"
        middle = _place(one.middle, network, where)
        stages = []
        for place, it in enumerate(one.stage, start=1):
            with _said_of(f"{where}, stage, number {place}"):
                stages.append(Stage(it.from_, it.to, it.radius, it.last_radius))
        found.append(Circle(middle, stages))
    for number, other in enumerate(asked.storm, start=1):
        where = f"storm, number {number}"
        fixes = [
            Fix(it.at, _place(it.middle, network, f"{where}, fix, number {place}"), it.radius)
            for place, it in enumerate(other.fix, start=1)
        ]
        with _said_of(where):
            found.append(Storm(fixes))
    return found


@contextmanager
def _said_of(where: str) -> Iterator[None]:
    """Refusals say of which of several they are."""
    try:
        yield
    except UserError as error:
        said = str(error)
        # A sentence goes on after a colon; names of networks stay as they are.
        said = said[0].lower() + said[1:] if said.startswith(("A ", "The ")) else said
        raise UserError(f"{where}: {said}") from None


def _place(middle: str | list[float], network: Network, where: str) -> Place:
    if not isinstance(middle, str):
        return Place(*middle)
    with _said_of(f"{where}, middle"):
        return network.nodes[network.node(middle)]
