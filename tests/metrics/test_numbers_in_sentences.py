"""Lists in sentences: nobody takes one entry for two."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        ("−16400", "−16,400"),
        ("-16400 B", "-16,400 B"),
        ("+16400", "+16,400"),
        ("in all: 16400: of 20000.", "in all: 16,400: of 20,000."),
        ("(n = 16400)", "(n = 16,400)"),
    ],
)
def test_thousands_have_commas(text: str, shown: str) -> None:
    assert grouped(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30",
        "30-11-2026",
        "CVE-2024-1410",
        "1000-2000",
        "1000.5-2000.5",
        "127.0.0.1:4433",
        "[2001:1234::4433]:4433",
        "2001::1",
        "3.4e+1234",
        "3.4E−1234",
    ],
)
def test_dates_identifiers_addresses_and_exponents_have_none(text: str) -> None:
    assert grouped(text) == text
    assert grouped(f"16400 by ({text}), 16400") == f"16,400 by ({text}), 16,400"


@given(st.text("0123456789 .,:-−+eEx[]", max_size=20))
def test_commas_are_all_that_is_added(text: str) -> None:
    assert grouped(text).replace(",", "") == text.replace(",", "")
    assert grouped(grouped(text)) == grouped(text)


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
        (0.7, False, "0.700"),
        (2.3, False, "2.30"),
        (4.35, False, "4.35"),
        (-2.3, True, "−2.30"),
        (0.07, True, "0.070"),
        (99.95, True, "100"),
        (9.996, True, "10.0"),
        (999.1, True, "1000"),
        (-99.95, False, "−100"),
        (-0.0004, True, "0"),
    ],
)
def test_a_bound_is_rounded_to_its_safe_side(value: float, up: bool, text: str) -> None:
    assert bounding(value, up=up) == text


@given(st.floats(-1e9, 1e9), st.booleans())
def test_a_bound_stays_one_and_lies_within_a_step_of_three_digits(value: float, up: bool) -> None:
    exact, shown = Decimal(repr(value)), Decimal(bounding(value, up=up).replace("−", "-"))
    assert shown >= exact if up else shown <= exact
    assert abs(shown - exact) <= max(abs(exact) / 100, Decimal("0.001"))


@given(st.integers(-999, 999), st.integers(-3, 6), st.booleans())
def test_a_bound_of_three_digits_is_shown_as_it_is(digits: int, place: int, up: bool) -> None:
    value = Decimal(digits).scaleb(place)
    assert Decimal(bounding(float(value), up=up).replace("−", "-")) == value
