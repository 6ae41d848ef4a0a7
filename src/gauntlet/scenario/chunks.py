"""Random stretches of a scenario, as AB4Rail D3.4 section 5.3 cuts them."""

from collections.abc import Sequence
from dataclasses import dataclass

from gauntlet.errors import UserError
from gauntlet.scenario.model import Scenario, generator


@dataclass(frozen=True)
class Chunk:
    """A stretch of a scenario, in seconds."""

    start_s: float
    duration_s: float


_HALVINGS = 14
"""Of the track: 16,384 parts, more than there can be repetitions."""


def stratum(seed: int, repetition: int) -> tuple[int, int]:
    """Which of so many equal parts of the track a repetition (from 1) begins in: (from 0, how many).

    The first two repetitions begin in different halves, the first four in different quarters, and so on (van
    der Corput's sequence; which half comes first is drawn in each part, as Owen scrambles it, Journal of
    Complexity 14, 1998). So they are spread evenly however many there are, and where one begins does not hang
    on their number.
    """
    place = 0
    for halving in range(_HALVINGS):
        first = int(generator(seed, f"strata {halving} {place}").integers(2))
        place = 2 * place + (((repetition - 1) >> halving) & 1 ^ first)
    return place, 2**_HALVINGS


def chunks(
    scenario: Scenario,
    duration_s: float = 600.0,
    count: int = 10,
    *,
    seed: int,
    part: tuple[int, int] = (0, 1),
) -> list[Chunk]:
    """`count` stretches at random places, in the order drawn.

    A smaller count gives the first stretches of a larger one. On a line each place along the track is equally
    likely (D3.4: the position along the line is random); on other scenarios each instant is. With `part`,
    such as (2, 10), all begin in that of so many equal parts. Stretches may overlap. A scenario without an
    end is cut up to its last row, after which nothing is known of it; one that never changes has the same
    stretch everywhere. Raises `UserError` when the scenario is too short.
    """
    if duration_s <= 0 or count < 1:
        raise UserError(f"Cannot cut {count} chunks of {duration_s:g} s: both must be above 0.")
    until_s = scenario.known_until_s
    if until_s == 0:
        return [Chunk(0.0, duration_s)] * count
    latest_s = until_s - duration_s
    if latest_s < 0:
        lasts = "lasts" if scenario.ends else "has no '# end_s' and is known only up to its last row, for"
        raise UserError(
            f"Scenario '{scenario.name}' {lasts} {until_s:g} s, which is too short for chunks of "
            f"{duration_s:g} s."
        )
    place, parts = part
    draws = (place + generator(seed, "chunks").random(count)) / parts
    return [Chunk(start_s, duration_s) for start_s in beginnings(scenario, duration_s, draws.tolist())]


def beginnings(scenario: Scenario, duration_s: float, places: Sequence[float]) -> list[float]:
    """Where stretches begin, in seconds, that lie at these places: 0 the first that there can be, 1 the last.

    The scenario is at least as long as a stretch (`chunks` refuses others).
    """
    latest_s = scenario.known_until_s - duration_s
    if scenario.line is None:
        return [round(place * latest_s, 3) for place in places]
    journey = scenario.line.reference.journey
    latest_km = journey.km_at(latest_s)
    starts = [journey.time_at(place * latest_km) for place in places]
    return [round(min(start_s, latest_s), 3) for start_s in starts]
