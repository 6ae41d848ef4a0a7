"""Quantities with units: values, rounding, and one clear sentence for each kind of mistake."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet import units
from gauntlet.errors import UserError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5.2Mbit/s", 5_200_000),
        ("1 Gbit/s", 10**9),
        ("800kbps", 800_000),
        ("1MB/s", 8_000_000),
        ("1bit/s", 1),
    ],
)
def test_rates(text: str, expected: int) -> None:
    assert units.rate_bps(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("25ms", 0.025),
        ("10min", 600.0),
        ("0", 0.0),
        ("1h 2min 30s", 3750.0),
        ("1h30min", 5400.0),
        ("14.36 ms", 0.01436),
    ],
)
def test_times(text: str, expected: float) -> None:
    assert units.time_s(text) == expected


def test_a_range_of_times_is_a_middle_and_half_a_width() -> None:
    assert units.spread_time_s("25ms±5ms") == units.spread_time_s("25ms +- 5ms") == (0.025, 0.005)
    assert units.spread_time_s("25ms") == (0.025, 0.0)
    assert units.format_spread_time(0.15, 0.01) == "150ms±10ms"
    for wrong, word in (("5ms±25ms", "below 0"), ("1s±1ms±1ms", "more than one"), ("25ms±5", "no unit")):
        with pytest.raises(UserError, match=word):
            units.spread_time_s(wrong)


def test_lengths_are_kilometres() -> None:
    assert units.length_km("50km") == 50.0
    assert units.length_km("800 m") == 0.8
    assert units.format_length(0.8) == "0.8km"
    for wrong, word in (("50", "no unit"), ("50mi", "unknown unit 'mi'"), ("-1km", "0 or more")):
        with pytest.raises(UserError, match=word):
            units.length_km(wrong)


def test_decimal_and_binary_sizes_differ() -> None:
    assert units.size_bytes("512kB") == 512_000
    assert units.size_bytes("512KiB") == 524_288


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1%", 0.01), ("1.1%", 0.011), ("200ppm", 0.0002), (0.01, 0.01), (0, 0.0), ("100%", 1.0)],
)
def test_fractions(value: object, expected: float) -> None:
    assert units.fraction(value) == expected


@pytest.mark.parametrize("value", ["19%", 0.19, 0])
def test_a_fraction_below_the_least_is_refused_however_it_is_written(value: object) -> None:
    with pytest.raises(UserError, match=r"20% to 100%"):
        units.fraction(value, least=0.2)
    assert units.fraction(0.2, least=0.2) == units.fraction("20%", least=0.2) == 0.2


def test_frequency() -> None:
    assert units.frequency_hz("1.4MHz") == 1_400_000.0


@pytest.mark.parametrize(
    ("call", "value", "words"),
    [
        (units.rate_bps, "5.2mbit/s", ["mbit/s", "did you mean 'Mbit/s'", "kbit/s"]),
        (units.rate_bps, "-1Mbit/s", ["-1Mbit/s", "out of range", "1bit/s"]),
        (units.rate_bps, 5_200_000, ["5200000", "no unit", "5.2Mbit/s"]),
        (units.rate_bps, "fast", ["'fast'", "not a rate", "5.2Mbit/s"]),
        (units.rate_bps, "0.2bit/s", ["out of range"]),
        (units.rate_bps, "1e40Mbit/s", ["too large"]),
        (units.time_s, "25", ["'25'", "no unit", "25ms"]),
        (units.time_s, "-3s", ["-3s", "0 or more"]),
        (units.time_s, "3 parsecs", ["parsecs", "known: ns"]),
        (units.size_bytes, "1.5B", ["1.5B", "whole number of bytes"]),
        (units.size_bytes, "512kb", ["kb", "did you mean 'kB'"]),
        (units.fraction, "110%", ["110%", "0% to 100%"]),
        (units.fraction, 1, ["unclear", "1%"]),
        (units.fraction, True, ["True"]),
        (units.frequency_hz, "0Hz", ["above 0"]),
        (units.time_s, None, ["None"]),
        (units.time_s, math.nan, ["nan"]),
    ],
)
def test_mistakes_are_one_sentence_with_the_place(call: object, value: object, words: list[str]) -> None:
    assert callable(call)
    with pytest.raises(UserError) as caught:
        call(value, "own.toml, link.rate")
    sentence = str(caught.value)
    assert sentence.startswith("own.toml, link.rate: ")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    for word in words:
        assert word in sentence


@given(st.integers(min_value=1, max_value=10**12))
def test_formatted_rates_read_back(bps: int) -> None:
    assert units.rate_bps(units.format_rate(bps)) == pytest.approx(bps, rel=1e-5, abs=1)


@given(st.floats(min_value=1e-6, max_value=1e6, allow_nan=False))
def test_formatted_times_read_back(seconds: float) -> None:
    assert units.time_s(units.format_time(seconds)) == pytest.approx(seconds, rel=1e-3)


@given(st.integers(min_value=0, max_value=10**12))
def test_sizes_of_whole_bytes_are_exact(count: int) -> None:
    assert units.size_bytes(f"{count}B") == count


@given(st.text(max_size=20))
def test_any_text_gives_a_number_or_a_sentence(text: str) -> None:
    for call in (units.rate_bps, units.time_s, units.size_bytes, units.fraction, units.frequency_hz):
        sentence = "."
        try:
            assert math.isfinite(call(text))
        except UserError as error:
            sentence = str(error)
        assert sentence.endswith(".")


def test_formats() -> None:
    assert units.format_rate(5_200_000) == "5.2Mbit/s"
    assert units.format_time(0.025) == "25ms"
    assert units.format_time(600) == "10min"
    assert units.format_time(90) == "90s"
    assert units.format_time(0) == "0s"
    assert units.format_size(10_000_000) == "10MB"
    assert units.format_size(512_000) == "512kB"
    assert units.format_size(106_496) == "104KiB"
    assert units.format_size(2 * 2**20) == "2MiB"
    assert units.format_size(1_448) == "1.448kB"
    assert units.format_size(1_000) == "1kB"
    assert units.format_size(0) == "0B"
    assert units.format_fraction(0.01) == "1%"
    assert units.format_fraction(0.001) == "0.1%"
    assert units.format_frequency(1.4e6) == "1.4MHz"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("25ms", "25 ms"), ("5.2Mbit/s", "5.2 Mbit/s"), ("1%", "1 %"), ("0", "0"), ("max", "max")],
)
def test_spaced(text: str, expected: str) -> None:
    assert units.spaced(text) == expected
