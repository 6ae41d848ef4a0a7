"""What the satellite kinds know: orbits, waveforms and rain, from data/satellite.toml."""

import math
from functools import cache
from typing import Self

from pydantic import Field, model_validator

from gauntlet.scenario.linefile import Sourced, StrictData, read_builtin

EARTH_RADIUS_KM = 6371.0
"""Mean radius (IUGG), as 3GPP TR 38.811 section 6.6.2 takes it."""
LIGHT_KM_S = 299_792.458
"""Speed of light in vacuum (SI)."""


class Range(StrictData):
    """The least and the highest of what is drawn, with its source."""

    low: float
    high: float
    source: str


class Handover(StrictData):
    """How often another satellite takes over (0: never), and for how long nothing passes then."""

    interval_s: float = Field(ge=0)
    outage_s: float = Field(ge=0)
    source: str
    outage_source: str


class Orbit(StrictData):
    """One orbit and what its users get; delays and rates are one way and at the IP layer."""

    title: str
    altitude_km: Sourced
    elevation_deg: Range
    ground_delay_s: Sourced
    rate_up_bps: Sourced
    rate_down_bps: Sourced
    handover: Handover

    def sources(self) -> list[str]:
        """Keys of the sources of all its numbers."""
        numbers: list[Sourced | Range] = [
            self.altitude_km,
            self.elevation_deg,
            self.ground_delay_s,
            self.rate_up_bps,
            self.rate_down_bps,
        ]
        return [*(number.source for number in numbers), self.handover.source, self.handover.outage_source]


class Band(StrictData):
    """Rain coefficients of one direction: horizontal and vertical polarisation."""

    frequency_ghz: float
    k: tuple[float, float]
    alpha: tuple[float, float]


class Rain(StrictData):
    """Constants of the attenuation by rain."""

    source: str
    height_km: float
    height_source: str
    up: Band
    down: Band


class Modcod(StrictData):
    """A modulation and coding: the Es/N0 that it needs, and its bits per symbol."""

    name: str
    needs_db: float
    efficiency: float


class Waveform(StrictData):
    """What adapts to the sky."""

    source: str
    clear: str
    clear_source: str
    modcod: list[Modcod] = Field(min_length=1)


class SatelliteData(StrictData):
    """The whole file."""

    sources: dict[str, str]
    geo: Orbit
    meo: Orbit
    leo: Orbit
    rain: Rain
    waveform: Waveform

    @model_validator(mode="after")
    def _explained(self) -> Self:
        for orbit in (self.geo, self.meo, self.leo):
            for key in orbit.sources():
                if key not in self.sources:
                    raise ValueError(f"source '{key}' is not explained under [sources]")
        return self


@cache
def satellite_data() -> SatelliteData:
    """The data file, checked."""
    return read_builtin("satellite", SatelliteData)


def distance_km(altitude_km: float, elevation_deg: float) -> float:
    """From the ground to a satellite that is seen at this elevation (3GPP TR 38.811, eq. 6.6-3)."""
    up = math.sin(math.radians(elevation_deg))
    radius_km = EARTH_RADIUS_KM
    return math.sqrt((radius_km * up) ** 2 + altitude_km**2 + 2 * radius_km * altitude_km) - radius_km * up


def hop_delay_s(altitude_km: float, elevation_deg: float) -> float:
    """From the ground to a satellite, or back, in seconds."""
    return distance_km(altitude_km, elevation_deg) / LIGHT_KM_S
