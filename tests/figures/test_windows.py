"""What a flow did over time: panels that hold nothing are not drawn."""

from collections.abc import Sequence
from typing import Any

import pytest

from gauntlet.figures.windows import PANELS, windows

TABLE = {
    "protocol": ["TCP BBR"] * 2,
    "flow": [0] * 2,
    "t": [0.0, 1.0],
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
