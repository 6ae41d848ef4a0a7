"""What every import gives: a trace, and sentences on what was found in the file and what was assumed."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gauntlet import units
from gauntlet.errors import UserError
from gauntlet.scenario.trace import LEAST_RATE_BPS, Trace

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

INSTANT_DIGITS = 6
"""Instants are rounded to microseconds, so that sums of floats leave no trace of themselves in a file."""


@dataclass(frozen=True)
class Assumed:
    """What a file does not say and a person does."""

    delay_s: float | None = None
    """One way, both ways alike."""
    queue_limit_bytes: int = 512_000
    """AB4Rail D3.4's buffer, as of the scenario `constant`."""


@dataclass(frozen=True)
class Measured:
    """A measured link; `notes` are sentences for whoever imports it."""

    trace: Trace
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Direction:
    """One direction, row by row. Where it is `out` nothing got through, and its rate says nothing."""

    rate_bps: Floats
    delay_s: Floats
    loss: Floats
    out: Flags


def build(t_s: Floats, end_s: float, up: Direction, down: Direction, *, assumed: Assumed, name: str) -> Trace:
    """The trace of two directions. In an outage every packet is lost and the rate before it stays: packets
    pass the bottleneck and are lost behind it, as with the outages of satellites. Raises `UserError`.
    """
    columns: dict[str, list[object]] = {"t_s": np.round(t_s, INSTANT_DIGITS).tolist()}
    for side, own in (("up", up), ("down", down)):
        if own.out.all():
            raise UserError(f"{name}: nothing ever got through ({side}); a link needs some rate.")
        rate_bps = np.maximum(held(np.where(own.out, np.nan, own.rate_bps)), LEAST_RATE_BPS)
        columns[f"rate_{side}_bps"] = np.round(rate_bps).tolist()
        columns[f"delay_{side}_s"] = np.round(own.delay_s, 9).tolist()
        columns[f"loss_{side}"] = np.where(own.out, 1.0, own.loss).tolist()
    columns["queue_limit_bytes"] = [assumed.queue_limit_bytes] * len(t_s)
    columns["source"] = [f"measured: {name}"] * len(t_s)
    return Trace.from_columns(columns, round(end_s, INSTANT_DIGITS), name)


def of_windows(
    edges_s: Floats,
    rates: tuple[Floats, Floats],
    outs: tuple[Flags, Flags],
    assumed: Assumed,
    name: str,
) -> Trace:
    """A trace of one row a window, from its mean rates (up, down) and whether nothing passed in it."""
    if assumed.delay_s is None:
        raise UserError(f"{name} says no delay; give the one of each way, such as --delay 25ms.")
    count = len(edges_s) - 1
    up, down = (
        Direction(rate_bps, np.full(count, assumed.delay_s), np.zeros(count), out)
        for rate_bps, out in zip(rates, outs, strict=True)
    )
    return build(edges_s[:-1], float(edges_s[-1]), up, down, assumed=assumed, name=name)


def windows(span_s: float, every_s: float, name: str) -> Floats:
    """Edges of windows over a time. The last one takes in what is left: it has half to one and a half of the
    others' length.
    """
    count = int(span_s / every_s + 0.5) if every_s > 0 else 0
    if count < 1:
        raise UserError(
            f"{name} lasts {span_s:g} s, too short for windows of {every_s:g} s; give a smaller --every."
        )
    return np.append(every_s * np.arange(count), span_s)


def held(values: Floats) -> Floats:
    """Fill what is missing (NaN) with the value before it, at the beginning with the first one there is."""
    known = np.flatnonzero(np.isfinite(values))
    places = np.searchsorted(known, np.arange(len(values)), side="right") - 1
    filled: Floats = values[known[np.maximum(places, 0)]]
    return filled


def spells(flags: Flags, t_s: Floats, end_s: float) -> list[tuple[float, float]]:
    """When flags hold, from when to when, in seconds."""
    edges = np.append(t_s, end_s)
    changes = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(float(edges[begin]), float(edges[end])) for begin, end in list(pairwise(changes.tolist()))[::2]]


def told(what: str, found: list[tuple[float, float]], whole_s: float, meaning: str) -> str:
    """A sentence on spells ("Outages"): how many, how long in all, the longest and where."""
    if not found:
        return f"{what}: none."
    lasting_s = [to_s - from_s for from_s, to_s in found]
    longest = int(np.argmax(lasting_s))
    shown, place = (
        units.spaced(units.format_time(round(t_s, 3))) for t_s in (lasting_s[longest], found[longest][0])
    )
    share = units.spaced(units.format_fraction(round(sum(lasting_s) / whole_s, 4)))
    return f"{what}: {len(found)}, {share} of the time, the longest of {shown} at {place}; {meaning}."


def queue_note(assumed: Assumed) -> str:
    """That the buffer was not measured."""
    size = units.spaced(units.format_size(assumed.queue_limit_bytes))
    return f"The buffer in front of the link was not measured: {size}."
