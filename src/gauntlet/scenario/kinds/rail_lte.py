"""Railway under LTE or 5G cells: AB4Rail D3.4, sections 3.3 and 4.1 to 4.4."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from gauntlet.errors import UserError
from gauntlet.scenario.cells import area_at, build_cells, enb_sites
from gauntlet.scenario.kinds.rail import RailParams, rail_scenario
from gauntlet.scenario.linefile import LineFile
from gauntlet.scenario.model import Scenario
from gauntlet.scenario.params import FrequencyHz, read_params
from gauntlet.scenario.radio import capacity_bps, lte_data, lte_zones

BANDWIDTHS_HZ = {round(float(mhz) * 1e6): mhz for mhz in lte_data().capacity.carriers}


class RailLteParams(RailParams):
    """Parameters under LTE or NR; `subcarriers` replaces the number that goes with the bandwidth."""

    bandwidth: FrequencyHz = 1.4e6
    radio: Literal["lte", "nr"] = "lte"
    subcarriers: int | None = Field(default=None, gt=0)

    @field_validator("bandwidth")
    @classmethod
    def _known(cls, value: float) -> float:
        if round(value) not in BANDWIDTHS_HZ:
            raise ValueError(f"D3.4 Table 4 has radii for {', '.join(BANDWIDTHS_HZ.values())} MHz only")
        return value


def build(name: str, line: LineFile, given: Mapping[str, object] | None, seed: int) -> Scenario:
    """A scenario on this line; raises `UserError` for parameters or lines that cannot be."""
    params = read_params(RailLteParams, given, name)
    if not line.area:
        raise UserError(
            f"Line '{name}' has no areas; under LTE cells it needs [[area]] tables (urban, suburban, rural)"
        )
    data = lte_data()
    bandwidth_mhz = BANDWIDTHS_HZ[round(params.bandwidth)]
    carriers = params.subcarriers or data.capacity.carriers[bandwidth_mhz]
    cells = build_cells(
        enb_sites(line.area, line.line.length_km.value, data.spacing_km.of),
        "eNB",
        partial(area_at, line.area),
        lambda area: lte_zones(area, bandwidth_mhz, carriers, params.ip_scale),
    )
    best = max(mcs.bits_per_symbol for mcs in data.radii_km.mcs)
    return rail_scenario(
        name=name,
        line=line,
        params=params,
        seed=seed,
        bearer=params.radio,
        cells=cells,
        latency=data.latency[params.radio],
        queue_limit_bytes=params.queue_limit or data.queue.limit_bytes,
        max_rate_bps=capacity_bps(carriers, best, params.ip_scale),
        source=f"{Path(name).stem}: D3.4 eq. (1), Tables 4-5, section 4.4",
    )
