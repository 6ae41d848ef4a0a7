"""The heat table: shades from the worst to the best of the whole table, heads of neighbours joined."""

from typing import Any

import pytest

from gauntlet.figures.heat import HeatTable, heat
from gauntlet.metrics.registry import registry

TEXTS = ("value", "interval", "mark", "done", "spread", "note", "flag")


def table(kpi: str, numbers: list[float | None], failed: int | None = None) -> HeatTable:
    """Two protocols under two conditions, in order of rows."""
    columns: dict[str, list[Any]] = {
        "key": ["a", "a", "b", "b"],
        "protocol": ["A", "A", "B", "B"],
        "ranked": [True, True, False, False],
        "condition": [0, 1, 0, 1],
        "number": numbers,
        "failed": [place == failed for place in range(4)],
        "trusted": [number is not None for number in numbers],
        "repetitions": [3] * 4,
        **{name: [""] * 4 for name in TEXTS},
    }
    conditions = [("delay 25 ms", "loss 0 %"), ("delay 25 ms", "loss 1 %")]
    return heat(columns, conditions, id="t", title="T", kpi=registry()[kpi])


def shades(made: HeatTable) -> list[float | None]:
    return [cell.heat for *_, cells in made.rows for cell in cells]


@pytest.mark.parametrize(
    ("kpi", "wanted"),
    [("throughput_bps", [0.0, 0.25, 1.0, None]), ("download_time_s", [1.0, 0.75, 0.0, None])],
)
def test_the_best_of_the_table_is_darkest(kpi: str, wanted: list[float | None]) -> None:
    made = table(kpi, [1.0, 2.0, 5.0, None])
    assert shades(made) == wanted
    assert [(key, ranked) for key, _, ranked, _ in made.rows] == [("a", True), ("b", False)]


def test_where_nothing_was_done_the_shade_is_the_worst() -> None:
    assert shades(table("download_time_s", [1.0, 2.0, 5.0, 3.0], failed=0)) == [0.0, 0.75, 0.0, 0.5]


@pytest.mark.parametrize("kpi", ["throughput_bps", "download_time_s"])
def test_what_hardly_differs_looks_alike(kpi: str) -> None:
    alike: list[float | None] = [94.6] * 4
    assert shades(table(kpi, alike)) == [1.0] * 4
    close: list[float | None] = [94.6, 94.5, 94.6, 94.5]
    assert all(shade is not None and shade > 0.97 for shade in shades(table(kpi, close)))
    assert 1.0 in shades(table(kpi, close))


def test_heads_of_neighbours_are_joined() -> None:
    assert table("throughput_bps", [1.0] * 4).heads == [
        [("delay 25 ms", 2)],
        [("loss 0 %", 1), ("loss 1 %", 1)],
    ]
