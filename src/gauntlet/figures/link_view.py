"""The part of a link that a picture shows, along time or along the line, and where things stand in it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gauntlet.figures.tidy import add

Along = Literal["time", "km"]

SECONDS_UNTIL_S = 300.0
"""Spans up to this long get an axis in seconds, longer ones in minutes."""
BOTH = "both directions"
ENDS: Mapping[str, tuple[str, str]] = {
    "satellite": ("terminal", "gateway"),
    "deep-space": ("Earth", "spacecraft"),
}
"""Between what a link lies, by the kind of its scenario; up is from the first to the second."""
OF_OTHERS = ("train", "trackside")
"""The same of every other kind, as the documents have it."""
NAME_ROOM = 0.028
"""Least distance between the names of two stations, as a share of the axis."""
NARROW_NAME_ROOM = 0.075
"""The same where the axis is as narrow as that of a telephone, about 330 pixels."""
NUMBER_ROOM, LETTER_ROOM = 0.02, 0.022
"""Between the numbers of two stretches, and what a letter takes, as shares of an axis as narrow."""
WAYS: Mapping[str, tuple[str, str]] = {
    "rate_mbps": ("rate_up_bps", "rate_down_bps"),
    "delay_ms": ("delay_up_s", "delay_down_s"),
    "loss_pct": ("loss_up", "loss_down"),
}
"""Columns of the trace, by the column of `View.rows`."""


@dataclass(frozen=True)
class Stretch:
    """A part of the line that runs rode."""

    from_s: float
    to_s: float
    name: str = ""


@dataclass(frozen=True)
class View:
    """A bearer from `begin_s` to `end_s`, as `gauntlet.scenario.line_figure_data` has it."""

    scenario: Mapping[str, Any]
    trace: Mapping[str, Sequence[Any]]
    begin_s: float
    end_s: float
    along: Along = "time"
    stretches: Sequence[Stretch] = ()

    @property
    def line(self) -> Mapping[str, Any] | None:
        """The railway; None off it."""
        found: Mapping[str, Any] | None = self.scenario.get("line")
        return found

    @property
    def directions(self) -> tuple[str, str]:
        """What up and down are called."""
        one, other = ENDS.get(str(self.scenario.get("kind")), OF_OTHERS)
        return f"{one} to {other}", f"{other} to {one}"

    @property
    def served_by(self) -> str:
        """What the column `cell` of the trace names."""
        return "satellite" if self.scenario.get("kind") == "satellite" else "cell"

    @property
    def unit(self) -> str:
        """Of the x axis; names its column, too."""
        if self.along == "km":
            return "km"
        return "second" if self.end_s - self.begin_s <= SECONDS_UNTIL_S else "minute"

    @property
    def title(self) -> str:
        """What the x axis says."""
        if self.along == "km":
            return "position on the line (km)"
        return f"{self.unit}s{' since departure' if self.line else ''}"

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the x axis."""
        return self.x(self.begin_s), self.x(self.end_s)

    def x(self, t_s: float) -> float:
        """Where an instant is on the x axis: in the km of the reference train, or in its unit of time."""
        if self.along == "time":
            return t_s / (60.0 if self.unit == "minute" else 1.0)
        assert self.line is not None
        journey = self.line["journey"]
        return float(np.interp(t_s, journey["t_s"], journey["km"]))

    def inside(self, from_s: float, to_s: float) -> tuple[float, float] | None:
        """The visible part of a span of time on the x axis."""
        low, high = max(from_s, self.begin_s), min(to_s, self.end_s)
        return (self.x(low), self.x(high)) if high > low else None

    def alike(self, field: str) -> bool:
        """Whether a quantity is the same in both directions."""
        up, down = WAYS[field]
        return list(self.trace[up]) == list(self.trace[down])

    @property
    def shared(self) -> bool:
        """Whether the trace says how many trains share the cell."""
        sharers = self.trace.get("sharers") or [None]
        return all(it is not None and not math.isnan(it) for it in sharers)

    def rows(self) -> dict[str, list[Any]]:
        """The trace by direction, closed by a last row at the end: the unit of x, `direction`, `rate_mbps`,
        `delay_ms`, `loss_pct`, `cell`, `others` (trains beside this one in the cell) and `cell_mbps` (what
        the cell has for all of them); the last two are empty where that is not known.
        """
        names = (self.unit, "direction", "rate_mbps", "delay_ms", "loss_pct", "cell", "others", "cell_mbps")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        starts_s = list(map(float, self.trace["t_s"]))
        first = max(int(np.searchsorted(starts_s, self.begin_s, side="right")) - 1, 0)
        places = [n for n in range(first, len(starts_s)) if n == first or starts_s[n] < self.end_s]
        cells = self.trace.get("cell") or [None] * len(starts_s)
        for direction, way in zip(self.directions, ("up", "down"), strict=True):
            for place, at_s in zip([*places, places[-1]], [*_starts(self, places), self.end_s], strict=True):
                mbps = self.trace[f"rate_{way}_bps"][place] * 1e-6
                others = float(self.trace["sharers"][place]) - 1 if self.shared else ""
                add(
                    columns,
                    self.x(at_s),
                    direction,
                    mbps,
                    self.trace[f"delay_{way}_s"][place] * 1e3,
                    self.trace[f"loss_{way}"][place] * 100,
                    cells[place] or "",
                    others,
                    mbps * (others + 1) if isinstance(others, float) else "",
                )
        return columns

    def numbers(self) -> list[dict[str, Any]]:
        """Names of the stretches where they are, those that would run into each other as one: `x`, `name`."""
        ends = [(self.inside(it.from_s, it.to_s), it.name) for it in self.stretches if it.name]
        named = sorted((sum(span) / 2, name) for span, name in ends if span)
        low, high = self.ends
        kept: list[dict[str, Any]] = []
        for x, name in named:
            before = kept[-1] if kept else None
            letters = len(name) + (len(before["name"]) if before else 0)
            room = (NUMBER_ROOM + letters / 2 * LETTER_ROOM) * (high - low)
            if before and x - before["x"] < room:
                before |= {"x": (before["x"] + x) / 2, "name": f"{before['name']}, {name}"}
            else:
                kept.append({"x": x, "name": name})
        return kept

    def stations(self) -> list[dict[str, Any]]:
        """Stations whose names fit, the ends of the line and long stops before others: `x`, `name`; the more
        important first.
        """
        assert self.line is not None
        all_of_them = self.line["stations"]
        ends = (all_of_them[0], all_of_them[-1])
        low, high = self.ends
        # Instants are rounded, so the last station may seem to lie just beyond the end.
        beyond = 0.001 * (high - low)
        found = [
            {"x": it["km"] if self.along == "km" else self.x(it["t_s"]), "name": it["name"]}
            for it in sorted(all_of_them, key=lambda it: (it not in ends, -it["stop_s"]))
        ]
        return self.spaced([it for it in found if low - beyond <= it["x"] <= high + beyond], NAME_ROOM)

    def spaced(self, places: Sequence[dict[str, Any]], room: float) -> list[dict[str, Any]]:
        """Of places with an `x`, the first before others, those that leave each other so much of the axis."""
        low, high = self.ends
        kept: list[dict[str, Any]] = []
        for place in places:
            if all(abs(place["x"] - other["x"]) >= room * (high - low) for other in kept):
                kept.append(place)
        return kept


def _starts(view: View, places: Sequence[int]) -> list[float]:
    return [max(float(view.trace["t_s"][place]), view.begin_s) for place in places]
