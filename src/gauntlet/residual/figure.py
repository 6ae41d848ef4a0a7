"""Residual error against the bit error probability, with the limit as a line: picture and page."""

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import altair as alt

from gauntlet.figures import save
from gauntlet.figures.look import INK, PALETTE, finished, legend
from gauntlet.residual.answers import GRID, LIMIT, Answer, Point, answer
from gauntlet.residual.codes import Code, Sum

WIDTH, HEIGHT = 560, 360
FLOOR = 1e-24
"""Below this nothing is drawn: an axis of forty decades shows no difference."""

DRAWN = tuple(Decimal(it) for it in ("1e-6", "1e-5", "1e-4", "1e-3", "1e-2"))
"""Where codes that are drawn by chance have a point: each takes seconds."""

_LOG = alt.Scale(type="log", nice=False)


def _decades(first: int, last: int, step: int) -> alt.Axis:
    return alt.Axis(values=[10.0**it for it in range(first, last + 1, step)], format=".0e")


def lines(codes: Sequence[Code], octets: Sequence[int], seed: int) -> list[Answer]:
    """What the picture is made from."""
    return [
        answer(code, length, DRAWN if isinstance(code, Sum) else GRID, seed)
        for code in codes
        for length in octets
    ]


def spec(found: Sequence[Answer]) -> dict[str, Any]:
    """The share of wrong messages that stay undetected, a line a code and length, as a Vega-Lite spec."""
    several = len({it.code.key for it in found}) > 1
    rows: list[dict[str, Any]] = [
        {
            "code": it.code.label if several else f"{it.bits // 8} B",
            "length": f"{it.bits // 8} B",
            "p": point.p,
            "share": point.conditional,
            "low": _of_wrong(point, point.low),
            "high": _of_wrong(point, point.high),
        }
        for it in found
        for point in it.points
        if point.conditional >= FLOOR
    ]
    names = list(dict.fromkeys(str(row["code"]) for row in rows))
    colours = [PALETTE[place % len(PALETTE)] for place in range(len(names))]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("p:Q", scale=_LOG, title="bit error probability", axis=_decades(-9, 0, 1)),
        y=alt.Y("share:Q", scale=_LOG, title="wrong messages taken for right", axis=_decades(-24, 0, 2)),
        color=alt.Color("code:N", scale=alt.Scale(domain=names, range=colours), legend=legend(lines=True)),
        detail="length:N",
    )
    drawn = base.mark_line(strokeWidth=1.8)
    points = base.transform_filter("datum.low != null").mark_point(size=30, filled=True)
    interval = base.transform_filter("datum.low > 0").mark_rule(strokeWidth=1.5)
    interval = interval.encode(y=alt.Y("low:Q", scale=_LOG), y2="high:Q")
    if several and len({it.bits for it in found}) > 1:
        drawn = drawn.encode(strokeDash=alt.StrokeDash("length:N", sort=None, legend=legend(lines=True)))
    limit = alt.Chart(
        alt.InlineData(values=[{"share": LIMIT, "said": f"{LIMIT:.0e}: OPC UA Safety's limit"}])
    )
    rule = limit.mark_rule(color=INK, strokeDash=[3, 3]).encode(y="share:Q")
    word = limit.mark_text(align="left", baseline="top", dx=4, dy=3, color=INK).encode(
        y="share:Q", x=alt.value(0), text="said:N"
    )
    return finished(alt.layer(drawn, interval, points, rule, word).properties(width=WIDTH, height=HEIGHT))


def _of_wrong(point: Point, end: float | None) -> float | None:
    """An end of an interval, as a share of the wrong messages."""
    return None if end is None or not point.undetected else end / point.undetected * point.conditional


def write(found: Sequence[Answer], target: Path) -> None:
    """Draw it into a file, whose name says whether as .svg, .png or .pdf. Raises UserError."""
    save.write(spec(found), target)
