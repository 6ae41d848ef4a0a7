"""Mahimahi's packet-delivery traces (mm-link): each line is a millisecond at which a packet of 1500 bytes may
leave. After the last line mm-link begins again, so that is how long the link is known.

Where no packet may leave for a while packets wait, and are not lost: the rate of such a window is that of the
one opportunity at its end.
"""

from pathlib import Path

import numpy as np

from gauntlet import units
from gauntlet.errors import UserError
from gauntlet.scenario.export import MAHIMAHI_IP_BYTES
from gauntlet.scenario.measured.link import Assumed, Floats, Measured, of_windows, queue_note, told, windows


def read(up: Path, down: Path, every_s: float, assumed: Assumed) -> Measured:
    """Import a pair of traces as mean rates of windows. Raises `UserError` naming the line that is wrong.

    The longer one is cut where the shorter one ends.
    """
    name = up.name if up == down else f"{up.name} and {down.name}"
    both_ms = [_instants_ms(path) for path in (up, down)]
    ends_s = [float(own[-1]) / 1000 for own in both_ms]
    edges_s = windows(min(ends_s), every_s, name)
    rates = [_rates_bps(own, edges_s) for own in both_ms]
    never = np.zeros(len(edges_s) - 1, bool)
    trace = of_windows(edges_s, (rates[0], rates[1]), (never, never), assumed, name)
    notes = [f"{len(edges_s) - 1:,} windows of {units.spaced(units.format_time(every_s))}."]
    if ends_s[0] != ends_s[1]:
        notes.append(f"They last {ends_s[0]:g} s (up) and {ends_s[1]:g} s (down): the longer one is cut.")
    if up == down:
        notes.append("One trace was given: it is that of both directions.")
    for side, own in zip(("up", "down"), both_ms, strict=True):
        notes.append(_stops(side, own, every_s))
    return Measured(trace, (*notes, "A Mahimahi trace has no loss: there is none.", queue_note(assumed)))


def _instants_ms(path: Path) -> Floats:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read as a Mahimahi trace: {error}.") from None
    found = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text and not text.isdecimal():
            raise UserError(f"{path}, line {number} is '{text}'; a Mahimahi trace has whole milliseconds.")
        if text:
            found.append(int(text))
            if found[-1] < found[max(len(found) - 2, 0)]:
                raise UserError(f"{path}, line {number} is '{text}'; milliseconds must not go back.")
    if not found or found[-1] == 0:
        raise UserError(f"{path} is no Mahimahi trace: its last line must be above 0 ms.")
    return np.array(found, float)


def _rates_bps(instants_ms: Floats, edges_s: Floats) -> Floats:
    """Mean rates of windows; between two opportunities a packet is spread evenly."""
    at_ms, counts = np.unique(instants_ms, return_counts=True)
    if at_ms[0] == 0:
        # The trace begins where it ends: these are opportunities of that millisecond.
        at_ms, counts = at_ms[1:], np.append(counts[1:-1], counts[-1] + counts[0])
    passed_bytes = np.append(0, np.cumsum(counts)) * MAHIMAHI_IP_BYTES
    at_edges = np.interp(edges_s, np.append(0.0, at_ms) / 1000, passed_bytes)
    rates: Floats = np.diff(at_edges) * 8 / np.diff(edges_s)
    return rates


def _stops(side: str, instants_ms: Floats, every_s: float) -> str:
    """Which waits are longer than a window."""
    times_s = np.append(0.0, instants_ms) / 1000
    long = np.flatnonzero(np.diff(times_s) > every_s)
    found = [(float(times_s[place]), float(times_s[place + 1])) for place in long]
    return told(f"Stops {side}", found, float(times_s[-1]), "packets wait there, as in mm-link")
