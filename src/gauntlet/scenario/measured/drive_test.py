"""Drive tests: a table of samples, each of which holds until the next one.

A rate of zero is an outage; where samples are missing the one before holds, or there is an outage, as asked.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from gauntlet import units
from gauntlet.errors import UserError
from gauntlet.scenario.measured import sheet
from gauntlet.scenario.measured.link import (
    Assumed,
    Direction,
    Flags,
    Floats,
    Measured,
    build,
    held,
    queue_note,
    spells,
    told,
)

_GAP_STEPS = 1.5
"""Samples farther apart than so many usual steps (their median) have others missing between them."""

Gaps = Literal["hold", "outage"]


@dataclass(frozen=True)
class Columns:
    """Names of columns, each with its unit in it or behind a colon: "dl_kbps", "dl:kbit/s"."""

    time: str
    rate: str
    """From the trackside to the train; of both directions where `rate_up` is None."""
    rate_up: str | None = None
    rtt: str | None = None
    loss: str | None = None
    """Of both directions where `loss_up` is None."""
    loss_up: str | None = None


def read(path: Path, columns: Columns, assumed: Assumed, gaps: Gaps = "hold") -> Measured:
    """Import a drive test. Raises `UserError` naming the line or the option that is wrong."""
    table = sheet.read(path)
    t_s = table.instants(columns.time, "--time")
    t_s = t_s - t_s[0]
    step_s = float(np.median(np.diff(t_s)))
    end_s = float(t_s[-1]) + step_s
    down_bps = table.numbers(columns.rate, "--rate", sheet.RATE)
    up_bps = down_bps if columns.rate_up is None else table.numbers(columns.rate_up, "--rate-up", sheet.RATE)
    delay_s, without_rtt = _delay_s(table, columns, assumed)
    losses = _losses(table, columns, len(t_s))

    late = np.flatnonzero(np.diff(t_s) > _GAP_STEPS * step_s)
    absent = [(float(t_s[row]) + step_s, float(t_s[row + 1])) for row in late]
    missing = np.isnan(up_bps) | np.isnan(down_bps)
    if gaps == "outage":
        begins_s = np.array([begin_s for begin_s, _ in absent])
        places = late + 1
        t_s = np.insert(t_s, places, begins_s)
        up_bps, down_bps = (np.insert(np.nan_to_num(own), places, 0.0) for own in (up_bps, down_bps))
        delay_s = np.insert(delay_s, places, delay_s[late])
        losses = (np.insert(losses[0], places, 0.0), np.insert(losses[1], places, 0.0))
    else:
        up_bps, down_bps = held(up_bps), held(down_bps)
    out_up, out_down = up_bps == 0, down_bps == 0
    trace = build(
        t_s,
        end_s,
        Direction(up_bps, delay_s, losses[0], out_up),
        Direction(down_bps, delay_s, losses[1], out_down),
        assumed=assumed,
        name=path.name,
    )
    notes = [
        f"{len(table.rows):,} samples over {_time(end_s)}, one each {_time(step_s)}.",
        *_outages(out_up, out_down, t_s, end_s, same=columns.rate_up is None),
        _gaps(absent, int(missing.sum()), end_s, gaps),
        *_not_measured(columns, assumed, without_rtt),
    ]
    return Measured(trace, tuple(notes))


def _delay_s(table: sheet.Sheet, columns: Columns, assumed: Assumed) -> tuple[Floats, int]:
    """Half of each round trip, and how many rows have none of their own."""
    if columns.rtt is None:
        if assumed.delay_s is None:
            raise UserError(
                f"{table.path}: the delay is missing; name the column of the round trip (--rtt rtt_ms), or "
                "give the delay of each way (--delay 25ms)."
            )
        return np.full(len(table.rows), assumed.delay_s), 0
    if assumed.delay_s is not None:
        raise UserError("--delay and --rtt both stand here; keep one of them.")
    rtt_s = table.numbers(columns.rtt, "--rtt", sheet.TIME)
    # Loggers write 0 for a ping that was not answered.
    none = np.isnan(rtt_s) | (rtt_s == 0)
    if none.all():
        raise UserError(f"{table.path}: the column '{columns.rtt}' has no round trip above 0.")
    return held(np.where(none, np.nan, rtt_s)) / 2, int(none.sum())


def _losses(table: sheet.Sheet, columns: Columns, rows: int) -> tuple[Floats, Floats]:
    """Fractions up and down."""
    if columns.loss is None:
        if columns.loss_up is not None:
            raise UserError("--loss-up needs --loss beside it, the column of the other direction.")
        return np.zeros(rows), np.zeros(rows)
    asked = (columns.loss_up or columns.loss, columns.loss)
    found = [table.numbers(name, "--loss", sheet.SHARE) for name in asked]
    for name, values in zip(asked, found, strict=True):
        table.refuse(values > 1, name, "a loss is at most 100 %")
    return held(found[0]), held(found[1])


def _outages(up: Flags, down: Flags, t_s: Floats, end_s: float, *, same: bool) -> list[str]:
    meaning = "the rate is 0 there, so every packet is lost"
    if same or np.array_equal(up, down):
        return [told("Outages", spells(down, t_s, end_s), end_s, meaning)]
    return [
        told(f"Outages {side}", spells(out, t_s, end_s), end_s, meaning)
        for side, out in (("up", up), ("down", down))
    ]


def _gaps(absent: list[tuple[float, float]], missing: int, end_s: float, gaps: Gaps) -> str:
    meaning = "the sample before holds" if gaps == "hold" else "taken for outages"
    said = told("Gaps", absent, end_s, meaning)
    if missing:
        rows = "1 row has" if missing == 1 else f"{missing} rows have"
        said += f" {rows} no rate: {meaning}."
    return said


def _not_measured(columns: Columns, assumed: Assumed, without_rtt: int) -> list[str]:
    notes = []
    if columns.rate_up is None:
        notes.append("One rate was measured: it is that of both directions.")
    if columns.rtt is not None:
        notes.append("Half of each round trip is the delay of either way.")
    if without_rtt:
        rows = "1 row has" if without_rtt == 1 else f"{without_rtt} rows have"
        notes.append(f"{rows} no round trip: the one before holds.")
    if columns.loss is None:
        notes.append("No loss was measured: outside of outages there is none.")
    return [*notes, queue_note(assumed)]


def _time(seconds: float) -> str:
    return units.spaced(units.format_time(round(seconds, 6)))
