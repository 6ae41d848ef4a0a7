"""The pictures of the burst-loss benchmark show what the tables of its page say."""

import re
from collections import Counter

import pytest
from crates.bursts.picture import PAGE, PICTURES, WORDS, Cell, cells, rows

from gauntlet.figures.look import RAMP

CELLS = {"Transfers": 6 * 180, "Transfers in the laboratory": 7 * 72}
LABEL = 'aria-label="round trip, ms: {rtt}; loss: {loss}'
RECTANGLE = re.compile(LABEL.format(rtt="([^;]+)", loss="([^;]+)") + '; stands: ([^"]+)".*? fill="([^"]+)"')
DOT = re.compile(
    LABEL.format(rtt="([^;]+)", loss="([^;]+)") + '" role="graphics-symbol" aria-roledesc[^"]*"point"'
)


@pytest.mark.parametrize("heading", PICTURES)
def test_a_picture_has_each_cell_of_its_tables_in_its_colour(heading: str) -> None:
    drawn = rows(list(cells(PAGE.read_text(), heading)))
    assert len(drawn) == CELLS[heading]
    picture = PICTURES[heading].read_text()
    colours = dict(zip(WORDS, RAMP, strict=True))
    squares = Counter((row["rtt"], row["loss"], row["stands"], colours[row["stands"]]) for row in drawn)
    assert Counter(RECTANGLE.findall(picture)) == squares
    assert Counter(DOT.findall(picture)) == Counter((row["rtt"], row["loss"]) for row in drawn if row["some"])


def test_how_a_stack_stands_is_told_against_the_fastest_with_congestion_control() -> None:
    def cell(stack: str, median_s: float | None, *, whole: bool = True) -> Cell:
        return Cell(stack, "5 % in 20s", 10, 500, median_s, whole)

    found = [cell("kcp", 1.0), cell("a", 2.0), cell("b", 2.2), cell("c", 4.0), cell("d", 9.9)]
    found += [cell("e", 10.1, whole=False), cell("f", None, whole=False)]
    drawn = {row["stack"]: row for row in rows(found)}
    stands = {stack: row["stands"] for stack, row in drawn.items()}
    assert list(stands.values()) == [WORDS[0], WORDS[0], WORDS[0], WORDS[1], WORDS[2], WORDS[3], WORDS[4]]
    assert Counter(row["some"] for row in drawn.values())[True] == 1
    assert drawn["e"]["some"]


def test_a_table_that_is_none_of_transfers_is_told() -> None:
    table = "| loss | burst | RTT | a |\n|---|---|---|---|\n| 1 % | 1 | 10 ms | soon |\n"
    page = f"\n## Transfers\n\n### 10 kB\n\n{table}"
    with pytest.raises(ValueError, match="'soon' is no time"):
        list(cells(page, "Transfers"))
