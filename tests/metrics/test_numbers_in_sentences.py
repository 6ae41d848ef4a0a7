"""Lists in sentences: nobody takes one entry for two."""

import pytest

from gauntlet.metrics.numbers import listed, named


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "none"),
        (["a"], "a"),
        (["a, 1"], "a, 1"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a, 1", "b"], "a, 1; and b"),
        (["a, 1", "b", "c"], "a, 1; b; and c"),
        (["a (1, 2)", "b [3, 4]"], "a (1, 2) and b [3, 4]"),
        (["1,448 bytes", "2,000 bytes"], "1,448 bytes and 2,000 bytes"),
    ],
)
def test_entries_with_commas_of_their_own_are_kept_apart(words: list[str], text: str) -> None:
    assert listed(words) == text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["loss 0 %, queue 64 kB"], "loss 0 %, queue 64 kB"),
        (["loss 0 %, queue 64 kB", "loss 1 %"], "(loss 0 %, queue 64 kB) and loss 1 %"),
        (["CAKE (diffserv4)", "PIE (limit 1 BDP, ECN)"], "CAKE (diffserv4) and PIE (limit 1 BDP, ECN)"),
    ],
)
def test_names_with_commas_stand_in_brackets(names: list[str], text: str) -> None:
    assert named(names) == text
