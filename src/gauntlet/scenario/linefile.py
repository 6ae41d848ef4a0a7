"""Reads a railway line from a TOML file: limits, stations, areas, headway, and the source of each number."""

import tomllib
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gauntlet.errors import UserError

AreaType = Literal["urban", "suburban", "rural"]


class StrictData(BaseModel):
    """Base of what data files hold: unknown keys are refused, and numbers that are none (nan, inf)."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Sourced(StrictData):
    """A positive number with the key of its source."""

    value: float = Field(gt=0)
    source: str


class LineData(StrictData):
    """Properties of the whole line."""

    length_km: Sourced
    headway_s: Sourced
    accel_mps2: Sourced
    brake_mps2: Sourced


class Section(StrictData):
    """A stretch with one speed limit, or one for each rank of train (by rank)."""

    from_km: float
    to_km: float
    limit_kmh: float | dict[str, float]
    source: str

    def limit_for(self, rank: str) -> float:
        """Limit in km/h for trains of `rank`; sections without ranks hold for all trains."""
        return self.limit_kmh if isinstance(self.limit_kmh, float) else self.limit_kmh[rank]


class Station(StrictData):
    """A place on the line; `stop_s` > 0 where the train stops on its way."""

    name: str
    km: float
    stop_s: float = Field(default=0.0, ge=0)
    stop_source: str | None = None
    source: str


class Area(StrictData):
    """A stretch of one area type, which decides how far apart cells are and how far they reach."""

    type: AreaType
    from_km: float
    to_km: float
    source: str


class WifiPlan(StrictData):
    """Where access points stand: evenly along the line, no place farther from one than the reach."""

    max_reach_m: Sourced


class LineFile(StrictData):
    """A line as its file states it."""

    title: str
    kind: str
    sources: dict[str, str]
    line: LineData
    section: list[Section] = Field(min_length=1)
    station: list[Station] = Field(min_length=2)
    area: list[Area] = []
    rank: str | None = None
    wifi: WifiPlan | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        length_km = self.line.length_km.value
        _check_tiling("section", self.section, length_km)
        if self.area:
            _check_tiling("area", self.area, length_km)
        for before, after in pairwise(self.station):
            if after.km <= before.km:
                raise ValueError(
                    f"station '{after.name}' at {after.km:g} km does not come after '{before.name}'"
                )
        if self.station[0].km != 0 or self.station[-1].km != length_km:
            raise ValueError(f"the first station must be at 0 km and the last at {length_km:g} km")
        if self.station[0].stop_s or self.station[-1].stop_s:
            raise ValueError("the first and the last station end the journey and cannot have a stop_s")
        for section in self.section:
            limits = (
                section.limit_kmh.values() if isinstance(section.limit_kmh, dict) else [section.limit_kmh]
            )
            if any(limit <= 0 for limit in limits):
                raise ValueError(
                    f"the speed limit of the section from {section.from_km:g} km must be above 0"
                )
            if isinstance(section.limit_kmh, dict) and self.rank not in section.limit_kmh:
                raise ValueError(
                    f"the section from {section.from_km:g} km has no limit for rank '{self.rank}'"
                )
        self._check_sources()
        return self

    def _check_sources(self) -> None:
        data = self.line
        numbers = [data.length_km, data.headway_s, data.accel_mps2, data.brake_mps2]
        numbers += [self.wifi.max_reach_m] if self.wifi else []
        rows: list[Sourced | Section | Station | Area] = [*numbers, *self.section, *self.station, *self.area]
        used = [row.source for row in rows]
        used += [station.stop_source or "" for station in self.station if station.stop_s]
        for key in used:
            if key not in self.sources:
                raise ValueError(f"source '{key}' is not explained under [sources]; every number needs one")

    @property
    def ranks(self) -> list[str]:
        """Ranks of train for which every section states a limit; empty when the file has none."""
        by_rank = [set(s.limit_kmh) for s in self.section if isinstance(s.limit_kmh, dict)]
        return sorted(set.intersection(*by_rank)) if by_rank else []


def _check_tiling(what: str, parts: list[Section] | list[Area], length_km: float) -> None:
    reached_km = 0.0
    for part in parts:
        if part.from_km != reached_km or part.to_km <= part.from_km:
            raise ValueError(
                f"the {what} from {part.from_km:g} to {part.to_km:g} km must begin at {reached_km:g} km "
                "and go forward"
            )
        reached_km = part.to_km
    if reached_km != length_km:
        raise ValueError(f"the last {what} ends at {reached_km:g} km, but the line at {length_km:g} km")


M = TypeVar("M", bound=BaseModel)


def read_toml(text: str, model: type[M], name: str) -> M:
    """Parse and check TOML text; raises `UserError` naming the file and the key."""
    try:
        return model.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{name} is not valid TOML: {error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file as a whole"
        problem = first["msg"].removeprefix("Value error, ").rstrip(".")
        raise UserError(f"{name}, {where}: {problem}.") from None


def read_data(file_name: str) -> str:
    """Text of one of the data files that come with the package."""
    return resources.files("gauntlet.scenario").joinpath("data", file_name).read_text(encoding="utf-8")


def read_builtin(name: str, model: type[M]) -> M:
    """Read and check `data/NAME.toml`."""
    return read_toml(read_data(f"{name}.toml"), model, f"data/{name}.toml")


def read_line(path: Path) -> LineFile:
    """Read a line file of the user's; raises `UserError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read as a line file: {error}.") from None
    return read_toml(text, LineFile, str(path))
