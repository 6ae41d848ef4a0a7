"""What a flow did over time: panels that hold nothing are not drawn."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from gauntlet.figures.look import finished
from gauntlet.figures.save import svg
from gauntlet.figures.windows import PANELS, windows

TABLE = {
    "protocol": ["TCP BBR"] * 2,
    "flow": [0] * 2,
    "t": [0.0, 1.0],
    "end": [1.0, 1.4],
    "throughput": [1.0, 2.0],
    "capacity": [5.0, 5.0],
    "cwnd": [""] * 2,
    "rtt": [""] * 2,
    "losses": [0, 2],
}


def titles(axis: str, panels: Sequence[str]) -> list[str | None]:
    """Of an axis of each panel."""
    drawn: dict[str, Any] = windows(TABLE, panels=panels).to_dict()
    lines = [it["layer"][1] if "layer" in it else it for it in drawn["vconcat"]]
    return [it["encoding"][axis]["title"] for it in lines]


@pytest.mark.parametrize(
    ("panels", "below"),
    [
        (tuple(PANELS), ["cwnd (kB)", "smoothed RTT (ms)", "lost packets"]),
        (("losses",), ["lost packets"]),
        ((), []),
    ],
)
def test_panels_that_are_asked_for_are_drawn_and_the_last_one_has_the_time(
    panels: Sequence[str], below: list[str]
) -> None:
    assert titles("y", panels) == ["throughput (Mbit/s)", *below]
    assert titles("x", panels) == [*[None] * len(below), "time in the run (s)"]


def test_each_window_is_a_step_and_the_last_one_is_drawn_to_its_end() -> None:
    drawn = svg(finished(windows(TABLE, panels=())))
    (line,) = re.findall(r'aria-roledescription="line mark".*? d="([^"]*)"', drawn)
    corners = [tuple(map(float, it.split(","))) for it in re.split("[ML]", line)[1:]]
    assert [at for at, *_ in corners] == sorted(at for at, *_ in corners)
    # As long as the panel is wide, in the shares of 1.4 s that the windows have; each at one height.
    start, change, end = corners[0][0], max(at for at, y in corners if y == corners[0][1]), corners[-1][0]
    assert (change - start) / (end - start) == pytest.approx(1 / 1.4, abs=0.01)
    assert {y for at, y in corners if at > change} == {corners[-1][1]}
    (area,) = re.findall(r'aria-roledescription="area mark".*? d="([^"]*)"', drawn)
    outline = [tuple(map(float, it.split(","))) for it in re.split("[ML]", area.strip("Z"))[1:]]
    assert max(at for at, _ in outline) == end
    assert len({y for _, y in outline}) == 2, "where a window ends and the next begins there is one capacity"
