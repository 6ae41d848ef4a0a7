"""What one cell offers: reach and rate of each modulation and coding (D3.4 eq. (1)), eq. (2)'s average."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal

from pydantic import Field

from gauntlet.scenario.linefile import AreaType, StrictData, read_builtin


class Mcs(StrictData):
    """A modulation and coding scheme; radii in km, in the order of the table's `columns`."""

    name: str
    bits: int
    code_rate: tuple[int, int]
    urban: list[float]
    suburban: list[float]

    @property
    def bits_per_symbol(self) -> Fraction:
        """Payload bits of one carrier in one symbol."""
        return Fraction(self.bits * self.code_rate[0], self.code_rate[1])


class Radii(StrictData):
    """D3.4 Table 4."""

    source: str
    rural_from: Literal["suburban"]
    rural_source: str
    columns: list[str]
    mcs: list[Mcs]


class Capacity(StrictData):
    """Constants of D3.4 eq. (1); `carriers` by bandwidth in MHz."""

    source: str
    symbols_per_ms: int
    symbols_source: str
    carriers_source: str
    carriers: dict[str, int]


class Latency(StrictData):
    """Bounds of the one-way latency of the radio access, in seconds."""

    min_s: float
    max_s: float
    source: str


class Spacing(StrictData):
    """D3.4 Table 5, in km."""

    source: str
    urban: float
    suburban: float
    rural: float

    def of(self, area: AreaType) -> float:
        """Distance between neighbouring eNBs in an area of this type."""
        return {"urban": self.urban, "suburban": self.suburban, "rural": self.rural}[area]


class Queue(StrictData):
    """Default buffer in front of the radio link."""

    limit_bytes: int
    source: str


class LteData(StrictData):
    """The data file `data/lte.toml`."""

    sources: dict[str, str]
    capacity: Capacity
    latency: dict[Literal["lte", "nr"], Latency]
    queue: Queue
    spacing_km: Spacing
    radii_km: Radii


@dataclass(frozen=True)
class Zone:
    """A ring around a cell's antenna: out to `reach_km` one train alone gets `rate_bps` with `mcs`."""

    reach_km: float
    mcs: str
    rate_bps: float


@cache
def lte_data() -> LteData:
    """The constants of LTE, read once."""
    return read_builtin("lte", LteData)


def capacity_bps(carriers: int, bits_per_symbol: Fraction, ip_scale: float = 1.0) -> float:
    """Rate of one train alone in bit/s by D3.4 eq. (1): carriers times bits and coding times symbols.

    Eq. (1) leaves out the symbol rate; 14 a millisecond gives the study's maximum of 5.2 Mbit/s with 78
    carriers. `ip_scale` turns it into a rate at the IP layer (docs/scenario-data.md). Trains in a cell
    share it equally.
    """
    return float(carriers * bits_per_symbol * lte_data().capacity.symbols_per_ms * 1000) * ip_scale


def lte_zones(area: AreaType, bandwidth_mhz: str, carriers: int, ip_scale: float) -> list[Zone]:
    """Zones of an LTE cell toward an area of this type, from the antenna outward."""
    data = lte_data()
    column = data.radii_km.columns.index(bandwidth_mhz)
    stretch = data.spacing_km.rural / data.spacing_km.suburban if area == "rural" else 1.0
    zones = []
    for mcs in data.radii_km.mcs:
        reach_km = (mcs.urban if area == "urban" else mcs.suburban)[column] * stretch
        zones.append(Zone(reach_km, mcs.name, capacity_bps(carriers, mcs.bits_per_symbol, ip_scale)))
    return sorted(zones, key=lambda zone: zone.reach_km)


def average_bps(zones: Sequence[Zone]) -> float:
    """Average rate of one train alone by D3.4 eq. (2): zones weigh with their share of the cell's radius."""
    total, inner_km = 0.0, 0.0
    for zone in zones:
        total += (zone.reach_km - inner_km) * zone.rate_bps
        inner_km = zone.reach_km
    return total / inner_km


class WifiMode(StrictData):
    """A mode of IEEE 802.11g with its outdoor range."""

    rate_mbps: float = Field(gt=0)
    modulation: str
    range_m: float = Field(gt=0)


class WifiData(StrictData):
    """The data file `data/wifi.toml`."""

    sources: dict[str, str]
    latency: Latency
    queue: Queue
    modes_source: str
    mode: list[WifiMode]


@cache
def wifi_data() -> WifiData:
    """The constants of Wi-Fi, read once."""
    return read_builtin("wifi", WifiData)


def wifi_zones(ip_scale: float) -> list[Zone]:
    """Zones around an access point, from the antenna outward."""
    zones = [
        Zone(
            mode.range_m / 1000,
            f"{mode.modulation} {mode.rate_mbps:g} Mbit/s",
            mode.rate_mbps * 1e6 * ip_scale,
        )
        for mode in wifi_data().mode
    ]
    return sorted(zones, key=lambda zone: zone.reach_km)
