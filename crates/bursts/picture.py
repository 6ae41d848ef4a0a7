"""The transfers of docs/bursts.md as a picture: how much longer than the fastest each stack takes.

Run it with `python crates/bursts/picture.py`; it reads the tables of the page and writes the pictures of the
simulator and of the laboratory, docs/images/bursts.svg and docs/images/bursts-laboratory.svg.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt

from gauntlet.figures import save
from gauntlet.figures.look import RAMP, finished

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/bursts.md"
PICTURES = {
    "Transfers": ROOT / "docs/images/bursts.svg",
    "Transfers in the laboratory": ROOT / "docs/images/bursts-laboratory.svg",
}
"""By the heading of the page whose tables they show."""

FAILED = "most tries did not finish"
BANDS = ((1.1, "the fastest, or within 10 %"), (2.0, "up to 2 times as long"), (5.0, "up to 5 times"))
SLOWEST = "more than 5 times"
WORDS = [*(words for _, words in BANDS), SLOWEST, FAILED]
UNCONTROLLED = "kcp"
"""It has no congestion control, and nobody is compared with it."""

_TIME = re.compile(r"(?P<median>–|[\d.]+)(?: \((?P<finished>\d+)/(?P<tries>\d+)\))?")
CELL_PX = (27, 12)


@dataclass(frozen=True)
class Cell:
    """A stack on a link with a size."""

    stack: str
    loss: str
    """`5 % in 20s`."""
    rtt_ms: int
    size_kb: int
    median_s: float | None
    """None: most tries did not finish."""
    whole: bool
    """Every try finished."""


def cells(page: str, heading: str) -> Iterator[Cell]:
    """The cells of the tables below a heading. Raises ValueError for a table that is none of transfers."""
    section = page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    for table in section.split("\n### ")[1:]:
        title, *lines = table.splitlines()
        head, _, *rows = [
            [entry.strip() for entry in line.strip("| ").split(" |")]
            for line in lines
            if line.startswith("|")
        ]
        for loss, burst, rtt, *times in rows:
            for stack, time in zip(head[3:], times, strict=True):
                found = _TIME.fullmatch(time.replace("**", ""))
                if found is None:
                    raise ValueError(f"{heading}, {title}: {time!r} is no time")
                yield Cell(
                    stack.strip("`"),
                    f"{loss} in {burst}s",
                    int(rtt.removesuffix(" ms")),
                    int(title.removesuffix(" kB")),
                    None if found["median"] == "–" else float(found["median"]),
                    found["finished"] == found["tries"],
                )


def rows(found: Sequence[Cell]) -> list[dict[str, Any]]:
    """What is drawn: each cell with how it stands against the fastest with congestion control."""
    best: dict[tuple[str, int, int], float] = {}
    for cell in found:
        if cell.median_s is not None and cell.stack != UNCONTROLLED:
            place = (cell.loss, cell.rtt_ms, cell.size_kb)
            best[place] = min(cell.median_s, best.get(place, cell.median_s))
    return [
        {
            "stack": cell.stack,
            "loss": cell.loss,
            "rtt": f"{cell.rtt_ms}",
            "size": f"{cell.size_kb:,} kB",
            "stands": _stands(cell, best.get((cell.loss, cell.rtt_ms, cell.size_kb))),
            "some": cell.median_s is not None and not cell.whole,
        }
        for cell in found
    ]


def _stands(cell: Cell, best_s: float | None) -> str:
    if cell.median_s is None:
        return FAILED
    if best_s is None:
        return WORDS[0]
    # Times are rounded to hundredths of a second.
    return next((words for times, words in BANDS if cell.median_s <= best_s * times + 0.005), SLOWEST)


def _axis() -> alt.Axis:
    return alt.Axis(labelAngle=0, ticks=False, domain=False, labelFontSize=10, titleFontSize=10)


def spec(found: Sequence[Cell]) -> dict[str, Any]:
    """The picture: a column a stack, a row a size, in each the losses by the round trips."""
    drawn = rows(found)
    losses = list(dict.fromkeys(row["loss"] for row in drawn))
    rtts = list(dict.fromkeys(row["rtt"] for row in drawn))
    x = alt.X("rtt:O", sort=rtts, title="round trip, ms", axis=_axis())
    y = alt.Y("loss:O", sort=losses, title=None, axis=_axis())
    colour = alt.Color(
        "stands:N",
        scale=alt.Scale(domain=WORDS, range=list(RAMP)),
        legend=alt.Legend(title=None, orient="bottom", columns=3, columnPadding=60, symbolType="square"),
    )
    base = alt.Chart().encode(x=x, y=y)
    squares = base.mark_rect(stroke="white", strokeWidth=1).encode(color=colour)
    dots = base.transform_filter("datum.some").mark_point(filled=True, size=9, color="white", opacity=1)
    panel = alt.layer(squares, dots, data=alt.InlineData(values=drawn)).properties(
        width=CELL_PX[0] * len(rtts), height=CELL_PX[1] * len(losses)
    )
    stacks = list(dict.fromkeys(row["stack"] for row in drawn))
    sizes = list(dict.fromkeys(row["size"] for row in drawn))
    return finished(
        panel.facet(
            column=alt.Column("stack:N", sort=stacks, title=None, header=alt.Header(labelFontSize=11)),
            row=alt.Row(
                "size:N", sort=sizes, title=None, header=alt.Header(labelOrient="left", labelAngle=-90)
            ),
            spacing=8,
        )
    )


def main() -> None:
    """Draw both pictures of the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    page = PAGE.read_text()
    for heading, target in PICTURES.items():
        save.write(spec(list(cells(page, heading))), target)
        print(target.relative_to(ROOT))


if __name__ == "__main__":
    main()
