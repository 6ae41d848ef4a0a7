"""Which repetitions a stopped campaign has whole."""

import pytest

from gauntlet.metrics.progress import repetitions_there


@pytest.mark.parametrize(
    ("there", "sentence"),
    [
        ({1: 4, 2: 4, 3: 4}, ""),
        ({1: 4, 2: 4}, "2 of 3 repetitions are whole."),
        ({1: 4, 2: 1}, "1 of 3 repetitions is whole, and of repetition 2 there are 1 of 4 runs."),
        ({1: 3, 2: 3, 3: 4}, "1 of 3 repetitions is whole, and of 2 others there are 6 of 8 runs."),
        ({}, "0 of 3 repetitions are whole."),
    ],
)
def test_what_is_there_is_told_by_repetition(there: dict[int, int], sentence: str) -> None:
    assert repetitions_there(there, planned=12, repetitions=3) == sentence
