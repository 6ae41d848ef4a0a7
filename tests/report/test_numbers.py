"""Numbers as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.figures.style import contrast, lightened, styles
from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.numbers import counted, interval_text, listed, number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.2345, "1.23"),
        (12.345, "12.3"),
        (123.45, "123"),
        (1234.5, "1230"),
        (-0.5, "−0.500"),
        (0.000123, "0.000123"),
        (99.96, "100"),
        (0.99999, "1.00"),
        (None, "–"),
        (float("nan"), "–"),
    ],
)
def test_three_significant_digits(value: float | None, text: str) -> None:
    assert number(value) == text


@given(st.floats(1e-3, 1e6))
def test_a_number_is_never_off_by_more_than_half_a_percent(value: float) -> None:
    assert float(number(value)) == pytest.approx(value, rel=0.0051)


def test_an_interval_has_the_digits_of_its_value() -> None:
    assert interval_text(Mean(0.9213, 0.9, 0.95, 5, "t"), 100) == "90.0 to 95.0"
    assert interval_text(Mean(0.9213, None, None, 1, "none"), 100) == ""


def test_words() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert counted(1, "run") == "1 run"
    assert counted(0, "run") == "0 runs"


def test_each_protocol_looks_like_itself_and_like_no_other() -> None:
    keys = ["udp", "tcp-cubic", "tcp-bbr", "tcp-reno", "sctp", "tcp-bbr beside sctp"]
    found = styles(keys)
    assert [style.key for style in found][:2] == ["tcp-cubic", "tcp-bbr"]
    assert len({style.colour for style in found}) == len(keys)
    assert found[-1].label == "TCP BBR beside SCTP"
    assert not next(style for style in found if style.key == "udp").reliable


@given(st.integers(0, 0xFFFFFF))
def test_every_colour_can_be_seen_on_a_dark_page(colour: int) -> None:
    shown = lightened(f"#{colour:06X}")
    rgb = tuple(int(shown[at : at + 2], 16) / 255 for at in (1, 3, 5))
    assert contrast((rgb[0], rgb[1], rgb[2]), (0.07, 0.08, 0.10)) >= 4.4
