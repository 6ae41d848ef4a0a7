"""What of a map is seen, and where its words stand: beside their points, over as few lines as can be."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np

from gauntlet.geography.projection import Points

MARGINS = np.array([0.12, 0.06])
"""Beyond the outermost paths and circles, as shares of the larger side; names need more to left and right."""
FONT_PX, LETTER_PX = 11, 6.2

Box = tuple[float, float, float, float]
"""Left, right, top and bottom, in pixels."""
SIDES: Mapping[str, Mapping[str, Any]] = {
    "below": {"dy": 8, "baseline": "top"},
    "above": {"dy": -8, "baseline": "bottom"},
    "right": {"dx": 9, "align": "left", "baseline": "middle"},
    "left": {"dx": -9, "align": "right", "baseline": "middle"},
    "below-right": {"dx": 5, "dy": 5, "align": "left", "baseline": "top"},
    "below-left": {"dx": -5, "dy": 5, "align": "right", "baseline": "top"},
    "above-right": {"dx": 5, "dy": -5, "align": "left", "baseline": "bottom"},
    "above-left": {"dx": -5, "dy": -5, "align": "right", "baseline": "bottom"},
}
"""Where words may stand, in the order in which places are tried; of equally free ones the first is taken."""
ON_PATH, ON_DETOUR, ON_LINK, ON_CIRCLE, OUTSIDE = 8.0, 4.0, 1.0, 1.0, 20.0
"""What it costs that words lie over a line, or beyond what is seen."""
BESIDE = 12.0
"""What it costs that words of a circle stand beside it rather than in it: less than to lie over others."""


class View:
    """What of the plane is seen, and how large."""

    def __init__(
        self, nodes: Sequence[Points], rings: Sequence[Points], width: int, heights: tuple[int, int]
    ) -> None:
        corners = np.concatenate([np.array(nodes), *rings])
        low, high = corners.min(axis=0), corners.max(axis=0)
        margin = MARGINS * max(float((high - low).max()), 1.0)
        low, high = low - margin, high + margin
        wide, tall = (float(it) for it in high - low)
        self.width, self.height = width, round(min(max(width * tall / wide, heights[0]), heights[1]))
        # A kilometre is as long to the north as to the east: whatever there is room for beside is seen too.
        km_a_pixel = max(wide / width, tall / self.height)
        middle = (low + high) / 2
        half = np.array([width, self.height]) * km_a_pixel / 2
        self.low, self.high = middle - half, middle + half

    def pixels(self, point: Points) -> tuple[float, float]:
        """Where a point is, from the upper left corner to the right and down."""
        x, y = (point - self.low) / (self.high - self.low) * np.array([self.width, self.height])
        return float(x), self.height - float(y)

    def has(self, point: Points) -> bool:
        """Whether a point is seen."""
        return bool(np.all((self.low <= point) & (point <= self.high)))

    def km(self, x: float, y: float) -> Points:
        """Which point is at these pixels."""
        share = np.array([x / self.width, 1 - y / self.height])
        return np.asarray(self.low + share * (self.high - self.low))

    def sees(self, box: Box) -> bool:
        """Whether all of a rectangle is seen."""
        left, right, top, bottom = box
        return left >= 0 and right <= self.width and top >= 0 and bottom <= self.height

    def box(self, point: Points, words: str, side: str) -> Box:
        """What words take that stand beside a point; "at": over it."""
        x, y = self.pixels(point)
        mark = SIDES.get(side, {})
        x, y = x + mark.get("dx", 0), y + mark.get("dy", 0)
        wide, tall = LETTER_PX * len(words), FONT_PX + 2.0
        left = {"left": x, "right": x - wide}.get(mark.get("align", ""), x - wide / 2)
        top = {"top": y, "bottom": y - tall}.get(mark.get("baseline", ""), y - tall / 2)
        return left, left + wide, top, top + tall

    def scale(self, axis: int) -> alt.Scale:
        """Of kilometres to the east (0) or to the north (1)."""
        return alt.Scale(domain=[float(self.low[axis]), float(self.high[axis])], nice=False, zero=False)

    def x(self, field: str = "x:Q") -> alt.X:
        """The channel of kilometres to the east."""
        return alt.X(field, axis=None, scale=self.scale(0))

    def y(self, field: str = "y:Q") -> alt.Y:
        """The channel of kilometres to the north."""
        return alt.Y(field, axis=None, scale=self.scale(1))


@dataclass
class Room:
    """What of a map is taken by words and marks, and over which lines words had better not lie."""

    view: View
    taken: list[Box] = field(default_factory=list)
    _lines: list[tuple[float, float, float, float, float]] = field(default_factory=list)

    def line(self, points: Iterable[Points], cost: float) -> None:
        """A line through these points, which words should leave free."""
        at = [self.view.pixels(point) for point in points]
        self._lines += [(*first, *second, cost) for first, second in pairwise(at)]

    def side(self, point: Points, words: str, *, always: bool = False) -> str | None:
        """Where words stand best beside a point, and takes that room; None where each place lies over other
        words, unless they have to stand somewhere.
        """
        boxes = {side: self.view.box(point, words, side) for side in SIDES}
        free = {side: box for side, box in boxes.items() if not meets(box, self.taken)}
        if not free and not always:
            return None
        best = min(free or boxes, key=lambda side: self._cost(boxes[side]))
        self.taken.append(boxes[best])
        return best

    def inside(self, ring: Points, words: str) -> Points:
        """Where words stand best within a circle by its corners, the topmost of equally good places, or just
        beside it where they would lie over other words; it takes that room.
        """
        middle = np.array(self.view.pixels(ring[:-1].mean(axis=0)))
        # Half of what the words take, and some pixels to the line.
        half = np.array([LETTER_PX * len(words) / 2 + 4, FONT_PX / 2 + 5])
        count = len(ring) - 1
        tried = []
        for turn in sorted(range(0, count, 3), key=lambda it: min(it, count - it)):
            corner = np.array(self.view.pixels(ring[turn]))
            inwards = (middle - corner) / max(math.hypot(*(middle - corner)), 1e-9)
            aside = inwards * float(np.abs(inwards) @ half)
            for (x, y), cost in ((corner + aside, 0.0), (corner - aside, BESIDE)):
                point = self.view.km(float(x), float(y))
                box = self.view.box(point, words, "at")
                over = OUTSIDE if meets(box, self.taken) else 0.0
                tried.append((cost + over + self._cost(box), point, box))
        _, point, box = min(tried, key=lambda it: it[0])
        self.taken.append(box)
        return point

    def corner(self, width: float, height: float) -> tuple[float, float]:
        """Left and bottom, in pixels, of a rectangle in the corner of the map that has the most room for it,
        the lower left if it may be; it takes that room.
        """
        aside = 8.0
        tried = [
            (x, x + width, y - height, y)
            for y in (self.view.height - 2 * aside, aside + height)
            for x in (aside, self.view.width - aside - width)
        ]
        box = min(tried, key=lambda it: self._cost(it) + (OUTSIDE if meets(it, self.taken) else 0.0))
        self.taken.append(box)
        return box[0], box[3]

    def _cost(self, box: Box) -> float:
        over = sum(cost for *ends, cost in self._lines if _crosses(box, *ends))
        return over + (0.0 if self.view.sees(box) else OUTSIDE)


def meets(box: Box, taken: Sequence[Box]) -> bool:
    """Whether a rectangle lies over one of these."""
    left, right, top, bottom = box
    return any(left < it[1] and it[0] < right and top < it[3] and it[2] < bottom for it in taken)


def _crosses(box: Box, x1: float, y1: float, x2: float, y2: float) -> bool:
    """Whether a piece of a line comes into a rectangle (clipped by one side after another)."""
    left, right, top, bottom = box
    begin, end = 0.0, 1.0
    for start, step, low, high in ((x1, x2 - x1, left, right), (y1, y2 - y1, top, bottom)):
        if step == 0:
            if not low <= start <= high:
                return False
            continue
        one, other = sorted(((low - start) / step, (high - start) / step))
        begin, end = max(begin, one), min(end, other)
    return begin <= end
