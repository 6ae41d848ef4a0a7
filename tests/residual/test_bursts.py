"""Bursts of wrong bits that a CRC takes for right: none up to its length, exact shares of longer ones."""

from fractions import Fraction
from pathlib import Path

import pytest

from gauntlet.residual.codes import CODES, Crc
from gauntlet.residual.polynomials import degree, divided

PAGE = (Path(__file__).parents[2] / "docs" / "residual-error.md").read_text(encoding="utf-8")


def passing(generator: int, length: int, start: int) -> Fraction:
    """The share of bursts that pass, each pattern for itself: first and last bit are wrong."""
    patterns = range(1 << max(0, length - 2))
    ends = 1 | 1 << (length - 1)
    wrong = [(ends | pattern << 1) << start for pattern in patterns]
    return Fraction(sum(divided(error, generator)[1] == 0 for error in wrong), len(wrong))


# Primitive, with x + 1 as a factor, of a short cycle, and of few terms.
@pytest.mark.parametrize("generator", [0x11D, 0x107, 0x119, 0b100101, 0b11111, 0b1001])
def test_a_crc_of_r_bits_finds_bursts_up_to_r_bits_and_all_but_a_known_share_of_longer_ones(
    generator: int,
) -> None:
    r = degree(generator)
    for start in (0, 1, 7, 20):
        assert {passing(generator, length, start) for length in range(1, r + 1)} == {0}
        assert passing(generator, r + 1, start) == Fraction(1, 2 ** (r - 1))
        assert {passing(generator, r + more, start) for more in (2, 3, 4)} == {Fraction(1, 2**r)}


def test_every_generator_here_has_the_constant_term_that_this_needs() -> None:
    assert all(code.generator & 1 for code in CODES.values() if isinstance(code, Crc))


@pytest.mark.parametrize("bits", [16, 24, 32])
def test_the_page_has_these_shares(bits: int) -> None:
    assert bits in {code.bits for code in CODES.values() if isinstance(code, Crc)}
    row = f"| {bits} | 1 to {bits} bits | {2.0 ** (1 - bits):.2e} | {2.0**-bits:.2e} |"
    assert row in PAGE


def test_octets_whose_bits_go_the_other_way_make_a_burst_at_most_fourteen_bits_longer() -> None:
    def other_way(bit: int) -> int:
        return bit - bit % 8 + 7 - bit % 8

    longer = set()
    for length in range(2, 64):
        for start in range(8):
            places = [other_way(bit) for bit in range(start, start + length)]
            longer.add(max(places) - min(places) + 1 - length)
    assert max(longer) == 14
