"""What a claim says in words of the trials of a cell."""

from collections import Counter

import pytest

from gauntlet.evidence import Cell
from gauntlet.evidence import verdict as words
from gauntlet.evidence_pack.claims import bound_words


def _cell(verdicts: dict[str, int], distinct: int, threat: str = "late") -> Cell:
    return Cell({"threat": threat}, Counter(verdicts), distinct=distinct)


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (
            _cell({words.PREVENTED: 1000}, 1000),
            "Unnoticed in none: with 95 % confidence in a share of at most 0.00300 (3/N).",
        ),
        (
            _cell({words.PREVENTED: 100}, 60),
            "Unnoticed in none of 100 trials, of which 60 are no copies: with 95 % confidence in a share of "
            "at most 0.0500 (3/N).",
        ),
        (
            _cell({words.SIGNALLED: 4}, 4),
            "Unnoticed in none: with 95 % confidence in a share of at most 0.750 (3/N).",
        ),
        (_cell({words.SIGNALLED: 3}, 3), "Unnoticed in none; 3 trials are too few for a bound."),
        (_cell({words.SIGNALLED: 1}, 1), "Unnoticed in none; 1 trial is too few for a bound."),
        (
            _cell({words.PREVENTED: 1000}, 3),
            "Unnoticed in none of 1000 trials; the 3 that are no copies are too few for a bound.",
        ),
        (
            _cell({words.PREVENTED: 2}, 1),
            "Nothing was drawn and the trials are copies of one: it holds for just these instants, and there "
            "is no bound 3/N.",
        ),
        (
            _cell({words.LATE: 1, words.PREVENTED: 9}, 10),
            "Unnoticed in 1 of 10 trials, so there is no bound 3/N.",
        ),
        (_cell({words.INVALID: 9}, 0), "No trial is valid, so nothing is said."),
        (
            _cell({words.UNDISTURBED: 9}, 9, "none"),
            "It is the control, of which no bound is asked.",
        ),
    ],
)  # fmt: skip
def test_words_of_a_bound(cell: Cell, said: str) -> None:
    assert bound_words(cell) == said
