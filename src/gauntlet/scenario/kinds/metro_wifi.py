"""Metro under Wi-Fi access points: AB4Rail D3.4, section 4.5.

Both directions run in one tunnel, so trains of both share an access point.
"""

from collections.abc import Mapping
from pathlib import Path

from gauntlet.errors import UserError
from gauntlet.scenario.cells import access_point_sites, build_cells
from gauntlet.scenario.kinds.rail import RailParams, rail_scenario
from gauntlet.scenario.linefile import LineFile
from gauntlet.scenario.model import Scenario
from gauntlet.scenario.params import read_params
from gauntlet.scenario.radio import wifi_data, wifi_zones


def build(name: str, line: LineFile, given: Mapping[str, object] | None, seed: int) -> Scenario:
    """A scenario on this line; raises `UserError` for parameters or lines that cannot be."""
    params = read_params(RailParams, given, name)
    if line.wifi is None:
        raise UserError(f"Line '{name}' has no [wifi] table; a line under Wi-Fi needs one with max_reach_m.")
    data = wifi_data()
    zones = wifi_zones(params.ip_scale)
    cells = build_cells(
        access_point_sites(line.line.length_km.value, line.wifi.max_reach_m.value / 1000),
        "AP",
        lambda km: "urban",
        lambda area: zones,
    )
    return rail_scenario(
        name=name,
        line=line,
        params=params,
        seed=seed,
        bearer="wifi",
        cells=cells,
        latency=data.latency,
        queue_limit_bytes=params.queue_limit or data.queue.limit_bytes,
        max_rate_bps=max(zone.rate_bps for zone in zones),
        source=f"{Path(name).stem}: D3.4 Tables 3 and 7, section 4.5",
    )
