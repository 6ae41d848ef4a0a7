"""Checksums that add: drawn, against every error of short messages and against a formula for long ones."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from gauntlet.residual import sums
from gauntlet.residual.sums import Layout


class Given:
    """A source of data that are known."""

    def __init__(self, data: list[int]) -> None:
        self._data = data

    def integers(self, *_: object, **__: object) -> Any:
        return np.array([self._data], dtype=np.uint8)


def by_hand(layout: Layout, data_bits: int, p: float) -> float:
    """Every error of every message."""
    errors = (np.arange(1, 1 << layout.bits)[:, None] >> np.arange(layout.bits)) & 1
    flipped = errors.sum(axis=1)
    chances = p**flipped * (1 - p) ** (layout.bits - flipped)
    total = 0.0
    for number in range(1 << data_bits):
        given = cast(np.random.Generator, Given([number >> it & 1 for it in range(data_bits)]))
        signs = 1 - 2 * layout.draw(given, 1)[0].astype(np.int64)
        same = (errors @ (signs * layout.first) % layout.modulus == 0) & (
            errors @ (signs * layout.second) % layout.modulus == 0
        )
        total += chances[same].sum()
    return total / (1 << data_bits)


def internet_by_formula(bits: int, p: float, width: int = 16) -> float:
    """With bits that are independent and random, each column's sum of flips is a walk; whether all columns
    together come back to 0 modulo 2^width - 1 is the mean of their characteristic function.
    """
    modulus = (1 << width) - 1
    k = np.arange(modulus)
    together = np.ones(modulus)
    for column in range(width):
        together *= (1 - p + p * np.cos(2 * np.pi * k * (1 << column) / modulus)) ** (bits // width)
    return float(together.mean() - (1 - p) ** bits)


@pytest.mark.parametrize("p", [0.01, 0.1, 0.5])
@pytest.mark.parametrize(
    ("made", "data_bits"),
    [(lambda: sums.internet(12, width=4), 8), (lambda: sums.adler(7, modulus=13, width=4, octet=2), 6)],
)
def test_short_messages_as_by_every_error(made: Callable[[], Layout], data_bits: int, p: float) -> None:
    layout = made()
    found = sums.undetected(layout, p, seed=1)
    assert found.value == pytest.approx(by_hand(layout, data_bits, p), rel=0.03)


@pytest.mark.parametrize("p", [1e-5, 1e-3, 0.02])
def test_the_internet_checksum_as_by_its_formula(p: float) -> None:
    found = sums.undetected(sums.internet(8 * 64), p, seed=1)
    assert found.value == pytest.approx(internet_by_formula(8 * 64, p), rel=0.05)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value <= found.high


def test_two_flipped_bits_pass_the_internet_checksum_and_never_adler() -> None:
    """One bit up, one down in the same column; Adler's second sum weighs them by where they are."""
    layout = sums.internet(8 * 32)
    two = sums._share(layout, np.random.default_rng(1), np.array([2]), np.array([1.0]), 400)
    words = 16
    assert two == pytest.approx((words - 1) / (8 * 32 - 1) / 2, rel=0.05)
    other = sums.adler(32)
    assert sums._share(other, np.random.default_rng(1), np.array([2]), np.array([1.0]), 400) == 0


def test_codes_that_are_drawn_are_right() -> None:
    import zlib

    row = sums.adler(20).draw(np.random.default_rng(3), 1)[0]
    octets = np.packbits(row).tobytes()
    assert int.from_bytes(octets[-4:], "big") == zlib.adler32(octets[:-4])
    words = np.packbits(sums.internet(8 * 20).draw(np.random.default_rng(3), 1)[0]).view(">u2").astype(int)
    assert words.sum() % 65535 == 0


def test_the_same_seed_gives_the_same_numbers() -> None:
    layout = sums.internet(8 * 16)
    assert sums.undetected(layout, 1e-3, seed=5) == sums.undetected(layout, 1e-3, seed=5)
    assert sums.undetected(layout, 1e-3, seed=5) != sums.undetected(layout, 1e-3, seed=6)
