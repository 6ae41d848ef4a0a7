"""Satellite access: a geostationary satellite, one in medium earth orbit, many in low earth orbit.

Both directions pass two hops, ground to satellite to ground, and a constant part on the ground. Where
satellites move, another takes over at intervals: the elevations at which terminal and gateway see it are
drawn anew, and for a moment nothing passes. Outages lose every packet in both directions and leave rate and
delay as they are; rain lowers the rates (see satellite_rain.py) and in the end breaks the link.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator, Field

from gauntlet.errors import UserError
from gauntlet.scenario.kinds import satellite_rain as rain
from gauntlet.scenario.kinds.satellite_data import Orbit, hop_delay_s, satellite_data
from gauntlet.scenario.kinds.satellite_spells import Spell, parse
from gauntlet.scenario.model import Scenario, generator
from gauntlet.scenario.params import DelayS, DurationS, Loss, RateBps, ScenarioParams, SizeBytes, read_params
from gauntlet.scenario.trace import Trace

ORBITS = ("geo", "meo", "leo")
"""Names of the scenarios."""
DEFAULT_DURATION_S = 3600.0


def _spells(text: object) -> object:
    try:
        if isinstance(text, str):
            parse(text)
    except UserError as error:
        raise ValueError(str(error)) from None
    return text


Spells = Annotated[str, BeforeValidator(_spells)]
"""Spells as text, checked."""


class SatelliteParams(ScenarioParams):
    """What is None is the orbit's own (data/satellite.toml)."""

    rate_up: RateBps | None = None
    rate_down: RateBps | None = None
    elevation: Annotated[float, Field(ge=5, le=90)] | None = None
    """Degrees at which terminal and gateway see every satellite; below 5 the model of rain does not hold."""
    ground_delay: DelayS | None = None
    loss: Loss = 0.0
    queue_limit: SizeBytes | None = None
    duration: DurationS = DEFAULT_DURATION_S
    handover_interval: DelayS | None = None
    """0: never."""
    handover_outage: DelayS | None = None
    outages: Spells | None = None
    rain: Spells | None = None
    """When showers fall."""
    rain_rate: Annotated[float, Field(gt=0, le=150, allow_inf_nan=False)] = 25.0
    """The most that falls, in mm/h: a heavy shower."""


def build(name: str, given: Mapping[str, object] | None, seed: int) -> Scenario:
    """The link over one of the orbits. Raises `UserError` for parameters that cannot be."""
    params = read_params(SatelliteParams, given, name)
    orbit: Orbit = getattr(satellite_data(), name)
    link = _Link(orbit, params, _passes(name, orbit, params, seed))
    instants = link.instants()
    rows = [link.row(t_s) for t_s in instants]
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    trace = Trace.from_columns({"t_s": instants, **columns}, params.duration, name)
    return Scenario(
        name=name,
        title=orbit.title,
        kind="satellite",
        bearers={"satellite": trace},
        duration_s=params.duration,
        max_rate_bps=max(link.rate_up_bps, link.rate_down_bps),
        params=params.model_dump(),
        seed=seed,
    )


@dataclass(frozen=True)
class _Pass:
    """A satellite from the instant at which it takes over."""

    from_s: float
    name: str
    terminal_deg: float
    gateway_deg: float


def _passes(name: str, orbit: Orbit, params: SatelliteParams, seed: int) -> list[_Pass]:
    interval_s = orbit.handover.interval_s if params.handover_interval is None else params.handover_interval
    count = 1 if interval_s == 0 else int(np.ceil(params.duration / interval_s))
    low, high = orbit.elevation_deg.low, orbit.elevation_deg.high
    if params.elevation is not None:
        low = high = params.elevation
    drawn = generator(seed, f"{name}/elevation").uniform(low, high, (count, 2))
    return [
        _Pass(index * interval_s, f"satellite {index + 1}", float(terminal), float(gateway))
        for index, (terminal, gateway) in enumerate(drawn)
    ]


@dataclass(frozen=True)
class _Link:
    """The link as a function of time."""

    orbit: Orbit
    params: SatelliteParams
    passes: list[_Pass]

    @property
    def rate_up_bps(self) -> float:
        return self.params.rate_up or self.orbit.rate_up_bps.value

    @property
    def rate_down_bps(self) -> float:
        return self.params.rate_down or self.orbit.rate_down_bps.value

    @property
    def handover_outage_s(self) -> float:
        chosen_s = self.params.handover_outage
        return self.orbit.handover.outage_s if chosen_s is None else chosen_s

    @property
    def outages(self) -> tuple[Spell, ...]:
        return parse(self.params.outages) if self.params.outages else ()

    @property
    def showers(self) -> tuple[Spell, ...]:
        return parse(self.params.rain) if self.params.rain else ()

    def instants(self) -> list[float]:
        """When something changes, from 0 on, inside the scenario."""
        changes = {one.from_s for one in self.passes}
        changes |= {one.from_s + self.handover_outage_s for one in self.passes[1:]}
        for spell in (*self.outages, *self.showers):
            changes |= {spell.from_s, spell.to_s}
        for shower in self.showers:
            changes |= set(np.arange(shower.from_s, shower.to_s, rain.STEP_S).tolist())
        return sorted(round(t_s, 9) for t_s in changes if t_s < self.params.duration)

    def row(self, t_s: float) -> dict[str, object]:
        """The columns of the trace at this instant."""
        overhead = [one for one in self.passes if one.from_s <= t_s][-1]
        delay_s = self._delay_s(overhead)
        share = self._shares(t_s, overhead)
        broken = any(spell.holds(t_s) for spell in self.outages) or min(share) == 0
        broken |= overhead is not self.passes[0] and t_s < overhead.from_s + self.handover_outage_s
        loss = 1.0 if broken else self.params.loss
        # A rate must stay where nothing gets through: the packets pass the bottleneck and are lost behind it.
        up_bps, down_bps = (
            rate_bps * (part or 1.0)
            for rate_bps, part in zip((self.rate_up_bps, self.rate_down_bps), share, strict=True)
        )
        modcod = rain.waveform(self._fade_db(t_s, overhead)[1]) if self.showers else None
        return {
            "rate_up_bps": up_bps,
            "rate_down_bps": down_bps,
            "delay_up_s": delay_s,
            "delay_down_s": delay_s,
            "loss_up": loss,
            "loss_down": loss,
            "queue_limit_bytes": self._queue_limit_bytes(),
            "cell": overhead.name,
            "mcs": modcod.name if modcod else None,
            "source": "parameters and data/satellite.toml",
        }

    def _delay_s(self, overhead: _Pass) -> float:
        altitude_km = self.orbit.altitude_km.value
        hops_s = sum(hop_delay_s(altitude_km, deg) for deg in (overhead.terminal_deg, overhead.gateway_deg))
        chosen_s = self.params.ground_delay
        return round(hops_s + (self.orbit.ground_delay_s.value if chosen_s is None else chosen_s), 9)

    def _fade_db(self, t_s: float, overhead: _Pass) -> tuple[float, float]:
        """What rain at the terminal takes, up and down."""
        falling = next((shower for shower in self.showers if shower.holds(t_s)), None)
        if falling is None:
            return 0.0, 0.0
        share = (t_s - falling.from_s) / (falling.to_s - falling.from_s)
        rain_mmh = rain.rain_rate_mmh(self.params.rain_rate, share)
        known = satellite_data().rain
        return (
            rain.attenuation_db(known.up, rain_mmh, overhead.terminal_deg),
            rain.attenuation_db(known.down, rain_mmh, overhead.terminal_deg),
        )

    def _shares(self, t_s: float, overhead: _Pass) -> tuple[float, float]:
        up_db, down_db = self._fade_db(t_s, overhead)
        return rain.rate_share(up_db), rain.rate_share(down_db)

    def _queue_limit_bytes(self) -> int:
        """One product of the lower rate and the round trip of the first satellite, unless it is given.

        The rule that a buffer should hold what a round trip brings (Villamizar and Song, 1994), for the
        narrower direction.
        """
        if self.params.queue_limit is not None:
            return self.params.queue_limit
        lower_bps = min(self.rate_up_bps, self.rate_down_bps)
        return round(lower_bps * 2 * self._delay_s(self.passes[0]) / 8)
