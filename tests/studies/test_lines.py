"""Sentences are found by their line: in a claim's `where`, or in the list of what is no claim."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gauntlet.studies import ledger, studies

STUDIES = studies()
ASSERTED = {
    "d34": (1104, 1294, 1368, 1424, 1462, 1480, 1508, 1510, 1602, 1642, 1658, 1672, 1715, 1727, 1741),
    "d35": tuple(range(1876, 1882)),
    "restp": (1328, *range(1266, 1272), 1579),
}
"""Lines with a sentence, a row or a setting that a review of the ledgers missed."""
LISTED = (*ASSERTED, "space")
"""Studies with a list by lines."""
ROW = re.compile(r"^\| ([\d ,to-]+) \|", re.MULTILINE)
RANGE = re.compile(r"(\d+)(?: ?(?:-|to) ?(\d+))?")


def lines(text: str) -> Iterator[int]:
    """The numbers of "948, 954 to 956", ranges with all that they span."""
    for first, last in RANGE.findall(text):
        yield from range(int(first), int(last or first) + 1)


def claimed(key: str) -> dict[str, set[int]]:
    """The lines of each claim."""
    return {
        claim.id: set(lines(claim.where.partition(", line")[2].lstrip("s ")))
        for claim in ledger.load(STUDIES[key].ledger)
    }


def listed(home: Path) -> set[int]:
    """The lines of not-claimed.md."""
    return {line for row in ROW.findall((home / "not-claimed.md").read_text()) for line in lines(row)}


def test_lines_are_read_as_people_write_them() -> None:
    assert list(lines("948, 954 to 956")) == [948, 954, 955, 956]
    assert list(lines("1876, 1878-1880")) == [1876, 1878, 1879, 1880]
    assert ROW.findall("| line | what |\n|---|---|\n| 12, 14 to 16 | x | y |") == ["12, 14 to 16"]


@pytest.mark.parametrize("key", ASSERTED)
def test_each_claim_says_its_lines(key: str) -> None:
    assert [name for name, where in claimed(key).items() if not where] == []


@pytest.mark.parametrize("key", ASSERTED)
def test_what_a_review_missed_is_claimed_or_listed_with_a_reason(key: str) -> None:
    found = set[int]().union(*claimed(key).values(), listed(STUDIES[key].home))
    assert set(ASSERTED[key]) - found == set()


@pytest.mark.parametrize("key", LISTED)
def test_each_line_that_is_listed_has_its_words_and_a_reason(key: str) -> None:
    rows = [it for it in (STUDIES[key].home / "not-claimed.md").read_text().splitlines() if ROW.match(it)]
    assert rows
    for row in rows:
        cells = row.strip("|").split(" | ")
        assert len(cells) == 3, row
        assert all(cell.strip() for cell in cells), row


@pytest.mark.parametrize("key", LISTED)
def test_claims_and_experiments_that_the_list_names_are_there(key: str) -> None:
    """A reason may send the reader to a claim or an experiment, of another study too, or to a crate."""
    known = {it.name for it in (Path(__file__).parents[2] / "crates").iterdir()}
    for study in STUDIES.values():
        known |= {it.id for it in ledger.load(study.ledger)} | {it.name for it in study.experiments}
    text = (STUDIES[key].home / "not-claimed.md").read_text()
    named = set(re.findall(r"`([a-z0-9]+(?:-[a-z0-9.]+)+)`", text))
    assert named
    assert named - known == set()
