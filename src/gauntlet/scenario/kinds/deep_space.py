"""Links to the Moon and to Mars: light's time over a distance, a rate, windows of contact and a conjunction.

Outside of a contact, and while the Sun stands between, every packet is lost in both directions; rate and
delay stay as they are. The distance is that of the whole run.
"""

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from gauntlet.errors import UserError
from gauntlet.scenario.kinds.satellite_data import LIGHT_KM_S
from gauntlet.scenario.kinds.satellite_spells import Spell, parse
from gauntlet.scenario.linefile import Sourced, StrictData, read_builtin
from gauntlet.scenario.model import Scenario
from gauntlet.scenario.params import DelayS, DurationS, Loss, RateBps, ScenarioParams, SizeBytes, read_params
from gauntlet.scenario.trace import Trace

PLACES = ("lunar", "mars")
"""Names of the scenarios."""

_KILOMETRES = re.compile(r"(\d+(?:\.\d+)?(?:e\d+)?)\s*km")

DEFAULT_DURATION_S = 30 * 86_400.0
"""A month: long enough for windows of contact and a conjunction of two weeks."""


class Place(StrictData):
    """One place with what a mission there has; distances are from the Earth, rates at the IP layer."""

    title: str
    distance_km: Sourced
    nearest_km: Sourced
    farthest_km: Sourced
    rate_up_bps: Sourced
    rate_down_bps: Sourced


class DeepSpaceData(StrictData):
    """The whole file."""

    sources: dict[str, str]
    lunar: Place
    mars: Place


def _spells(text: object) -> object:
    try:
        if isinstance(text, str):
            parse(text)
    except UserError as error:
        raise ValueError(str(error)) from None
    return text


Spells = Annotated[str, BeforeValidator(_spells)]
"""Spells as text, checked."""


class DeepSpaceParams(ScenarioParams):
    """What is None is the place's own (data/deep-space.toml)."""

    distance: Annotated[float, Field(gt=0, allow_inf_nan=False)] | str | None = None
    """In km, or in words: nearest, mean, farthest."""
    delay: DelayS | None = None
    """One way, instead of what light needs for the distance."""
    rate_up: RateBps | None = None
    rate_down: RateBps | None = None
    loss: Loss = 0.0
    queue_limit: SizeBytes | None = None
    duration: DurationS = DEFAULT_DURATION_S
    contacts: Spells | None = None
    """When something gets through; None: always."""
    conjunction: Spells | None = None
    """When the Sun stands between and nothing does."""


def build(name: str, given: Mapping[str, object] | None, seed: int) -> Scenario:
    """The link to one of the places. Raises `UserError` for parameters that cannot be."""
    params = read_params(DeepSpaceParams, given, name)
    place: Place = getattr(read_builtin("deep-space", DeepSpaceData), name)
    delay_s = _delay_s(place, params, name)
    rate_up_bps = params.rate_up or place.rate_up_bps.value
    rate_down_bps = params.rate_down or place.rate_down_bps.value
    contacts = parse(params.contacts) if params.contacts else None
    conjunction = parse(params.conjunction) if params.conjunction else ()
    instants = _instants(params.duration, (*(contacts or ()), *conjunction))
    loss = [params.loss if _open(t_s, contacts, conjunction) else 1.0 for t_s in instants]
    queue_limit = params.queue_limit or _queue_limit_bytes(min(rate_up_bps, rate_down_bps), delay_s)
    many = len(instants)
    trace = Trace.from_columns(
        {
            "t_s": instants,
            "rate_up_bps": [rate_up_bps] * many,
            "rate_down_bps": [rate_down_bps] * many,
            "delay_up_s": [delay_s] * many,
            "delay_down_s": [delay_s] * many,
            "loss_up": loss,
            "loss_down": loss,
            "queue_limit_bytes": [queue_limit] * many,
            "source": ["parameters and data/deep-space.toml"] * many,
        },
        params.duration,
        name,
    )
    return Scenario(
        name=name,
        title=place.title,
        kind="deep-space",
        bearers={"radio": trace},
        duration_s=params.duration,
        max_rate_bps=max(rate_up_bps, rate_down_bps),
        params=params.model_dump(),
        seed=seed,
    )


def _delay_s(place: Place, params: DeepSpaceParams, name: str) -> float:
    """One way. A distance that the place never has is refused: whoever wants another delay says delay."""
    if params.delay is not None:
        if params.distance is not None:
            raise UserError(f"Scenario '{name}' has both 'distance' and 'delay'; keep one of them.")
        return params.delay
    words = {
        "nearest": place.nearest_km.value,
        "mean": place.distance_km.value,
        "farthest": place.farthest_km.value,
    }
    if isinstance(params.distance, str):
        written = _KILOMETRES.fullmatch(params.distance)
        if params.distance not in words and written is None:
            raise UserError(
                f"Parameter 'distance' of scenario '{name}' cannot be '{params.distance}': write "
                f"{', '.join(words)} or kilometres, such as '{place.distance_km.value:.0f}km'."
            )
        distance_km = words[params.distance] if written is None else float(written[1])
    else:
        distance_km = params.distance or place.distance_km.value
    if not place.nearest_km.value <= distance_km <= place.farthest_km.value:
        raise UserError(
            f"Parameter 'distance' of scenario '{name}' cannot be {distance_km:g} km: it is from "
            f"{place.nearest_km.value:,.0f} to {place.farthest_km.value:,.0f} km; give 'delay' for another."
        )
    return round(distance_km / LIGHT_KM_S, 9)


def _instants(duration_s: float, spells: tuple[Spell, ...]) -> list[float]:
    """When something changes, from 0 on, inside the scenario."""
    edges = {0.0, *(spell.from_s for spell in spells), *(spell.to_s for spell in spells)}
    return sorted(t_s for t_s in edges if t_s < duration_s)


def _open(t_s: float, contacts: tuple[Spell, ...] | None, conjunction: tuple[Spell, ...]) -> bool:
    """Whether packets get through at this instant."""
    in_contact = contacts is None or any(spell.holds(t_s) for spell in contacts)
    return in_contact and not any(spell.holds(t_s) for spell in conjunction)


_LEAST_QUEUE_BYTES, _MOST_QUEUE_BYTES = 512_000, 64_000_000
"""D3.4's buffer, and what a guest's memory has room for."""


def _queue_limit_bytes(rate_bps: float, delay_s: float) -> int:
    """What a round trip brings (Villamizar and Song, 1994), within what is sensible."""
    return min(max(round(rate_bps * 2 * delay_s / 8), _LEAST_QUEUE_BYTES), _MOST_QUEUE_BYTES)
