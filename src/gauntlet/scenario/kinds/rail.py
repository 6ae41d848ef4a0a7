"""What all railway scenarios share: the reference train, the other trains, and the rows that follow."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from gauntlet.errors import UserError
from gauntlet.scenario import motion, rows, traffic
from gauntlet.scenario.cells import Cell
from gauntlet.scenario.linefile import LineFile, Station
from gauntlet.scenario.model import Line, Scenario, generator
from gauntlet.scenario.params import DelayS, DurationS, Loss, ScenarioParams, SizeBytes
from gauntlet.scenario.radio import Latency


class RailParams(ScenarioParams):
    """Parameters of every railway.

    `headway` (s) between departures; `opposite_lag` (s) of departures at the far end behind those at the
    start, half a headway unless given (D3.4 does not state it); `loss` per packet in each direction;
    `queue_limit` in bytes; `ip_scale` from radio to IP rates; `rank` of train where the line has limits by
    rank; `stop` (s) replaces the length of all stops; `opposite` trains drive the same speeds over time as
    the reference train (D3.4 section 3.3), or their own, by limits and stops as seen from the other end.
    """

    headway: DurationS | None = None
    opposite_lag: DelayS | None = None
    loss: Loss = 0.0
    queue_limit: SizeBytes | None = None
    ip_scale: float = Field(default=1.0, gt=0, le=1)
    rank: str | None = None
    stop: DurationS | None = None
    opposite: Literal["same", "own"] = "same"


def rail_scenario(
    *,
    name: str,
    line: LineFile,
    params: RailParams,
    seed: int,
    bearer: str,
    cells: Sequence[Cell],
    latency: Latency,
    queue_limit_bytes: int,
    max_rate_bps: float,
    source: str,
) -> Scenario:
    """Drive the trains over the line and through the cells."""
    length_km = line.line.length_km.value
    headway_s = params.headway or line.line.headway_s.value
    lag_s = headway_s / 2 if params.opposite_lag is None else params.opposite_lag
    stations = [
        s.model_copy(update={"stop_s": params.stop or s.stop_s}) if s.stop_s else s for s in line.station
    ]
    outbound, opposite = _journeys(name, line, params, stations)
    trains = traffic.trains(outbound, opposite, headway_s, lag_s, length_km)
    settings = rows.LinkSettings(latency, params.loss, queue_limit_bytes, source)
    trace = rows.build_trace(trains, cells, settings, generator(seed, f"{bearer}/latency"), name)
    in_force = params.model_dump() | {
        "headway": headway_s,
        "opposite_lag": lag_s,
        "queue_limit": queue_limit_bytes,
        "rank": params.rank or line.rank,
    }
    return Scenario(
        name=name,
        title=line.title,
        kind=line.kind,
        bearers={bearer: trace},
        duration_s=trace.end_s,
        max_rate_bps=max_rate_bps,
        params=in_force,
        seed=seed,
        line=Line(line.title, length_km, stations, line.area, list(cells), trains, headway_s),
    )


def _journeys(
    name: str, line: LineFile, params: RailParams, stations: Sequence[Station]
) -> tuple[motion.Journey, motion.Journey]:
    rank = params.rank or line.rank or ""
    if params.rank and rank not in line.ranks:
        known = ", ".join(line.ranks) or "none"
        raise UserError(f"Line '{name}' has no speed limits for rank '{rank}'; its ranks are: {known}.")
    data = line.line
    length_km = data.length_km.value
    limits = [motion.Limit(s.from_km, s.to_km, s.limit_for(rank)) for s in line.section]
    stops = [motion.Stop(station.km, station.stop_s) for station in stations if station.stop_s]

    def drive(limits: list[motion.Limit], stops: list[motion.Stop]) -> motion.Journey:
        return motion.journey(length_km, limits, stops, data.accel_mps2.value, data.brake_mps2.value)

    outbound = drive(limits, stops)
    if params.opposite == "same":
        return outbound, outbound
    return outbound, drive(motion.reversed_limits(limits, length_km), motion.reversed_stops(stops, length_km))
