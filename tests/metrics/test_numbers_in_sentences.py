"""Lists in sentences: nobody takes one entry for two."""

import pytest

from gauntlet.metrics.numbers import bounding, grouped, listed, named


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("16400 [16300 to 16500]", "16,400 [16,300 to 16,500]"),
        ("72.8 [4.2 to 1257.5]", "72.8 [4.2 to 1,257.5]"),
        ("−1960 to 20000", "−1,960 to 20,000"),
        ("0.12345 of 999", "0.12345 of 999"),
        ("12,800", "12,800"),
        ("1234567 B", "1,234,567 B"),
        ("a2048b and rsa-2048x9", "a2048b and rsa-2048x9"),
    ],
)
def test_thousands_have_commas(text: str, shown: str) -> None:
    assert grouped(text) == shown


@pytest.mark.parametrize(
    ("value", "up", "text"),
    [
        (5.6e-7, True, "0.001"),
        (5.6e-7, False, "0"),
        (1.234, True, "1.24"),
        (1.239, False, "1.23"),
        (1794000.0, False, "1790000"),
        (-1.234, True, "−1.23"),
        (0.0, True, "0"),
    ],
)
def test_a_bound_is_rounded_to_its_safe_side(value: float, up: bool, text: str) -> None:
    assert bounding(value, up=up) == text
