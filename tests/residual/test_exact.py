"""CRCs: weights of the dual and what follows from them, against counting by hand and against what is
published.
"""

from decimal import Decimal

import pytest

from gauntlet.residual import answers, exact, stored
from gauntlet.residual.codes import CODES, Crc
from gauntlet.residual.dual import weights
from gauntlet.residual.polynomials import degree, divided, factors, order


def by_hand(generator: int, bits: int) -> list[int]:
    """The weights of the dual, every word for itself."""
    columns = [divided(1 << place, generator)[1] for place in range(bits)]
    counts = [0] * (bits + 1)
    for state in range(1 << degree(generator)):
        counts[sum((state & column).bit_count() & 1 for column in columns)] += 1
    return counts


def undetected_by_hand(generator: int, bits: int, p: Decimal) -> Decimal:
    """The probability of every error that is a word of the code."""
    check, total = degree(generator), Decimal(0)
    for message in range(1, 1 << (bits - check)):
        word = message << check
        weight = (word ^ divided(word, generator)[1]).bit_count()
        total += p**weight * (1 - p) ** (bits - weight)
    return total


def crc(key: str) -> Crc:
    found = CODES[key]
    assert isinstance(found, Crc)
    return found


# Primitive, with x + 1 once and twice, with several factors, of a shorter cycle than its degree allows, x + 1
# alone.
@pytest.mark.parametrize("generator", [0x11D, 0x107, 0x12F, 0x5B, 0x119, 0b11111, 0b101, 0b1111])
@pytest.mark.parametrize("bits", [9, 17, 40, 300])
def test_weights_of_the_dual_are_those_of_every_word(generator: int, bits: int) -> None:
    assert weights(generator, [bits, 12])[bits].tolist() == by_hand(generator, bits)


def test_a_cycle_that_is_walked_in_pieces_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = weights(crc("crc-16-ccitt").generator, [100])[100]
    monkeypatch.setattr("gauntlet.residual.dual.WALKED", 1 << 10)
    assert (weights(crc("crc-16-ccitt").generator, [100])[100] == whole).all()


def test_a_square_factor_is_refused() -> None:
    with pytest.raises(ValueError, match="square"):
        weights(0b10101, [20])


@pytest.mark.parametrize(("generator", "bits"), [(0x107, 20), (0x11021, 28), (0x83, 18)])
@pytest.mark.parametrize("p", ["0.5", "0.1", "0.001", "1e-8"])
def test_undetected_is_the_sum_over_all_errors(generator: int, bits: int, p: str) -> None:
    found = exact.undetected(weights(generator, [bits])[bits], Decimal(p))
    assert abs(found / undetected_by_hand(generator, bits, Decimal(p)) - 1) < Decimal("1e-18")


def test_factors_and_orders() -> None:
    assert factors(crc("crc-32-f4acfb13").generator) == {0b11: 2, 0x8011: 1, 0xC85F: 1}
    assert order(crc("crc-32").generator) == 2**32 - 1
    assert order(crc("crc-16-ccitt").generator) == 2**15 - 1
    assert order(crc("crc-32-rasta-b").generator) == 255


def test_crc_16_ccitt_finds_three_errors_up_to_its_published_length() -> None:
    """HD 4 up to 32,751 bits of data (Koopman and Chakravarty, DSN 2004; the CRC zoo, 0x8810)."""
    counts = weights(crc("crc-16-ccitt").generator, [32767, 32768])
    assert exact.distance(counts[32767]) is not None
    assert (exact.distance(counts[32767]) or (0,))[0] == 4
    assert exact.distance(counts[32768]) == (2, 1)


# Koopman, 32-bit cyclic redundancy codes for Internet applications, DSN 2002, and the CRC zoo: the longest
# data in bits of CRC-32 (0x82608EDB) with HD 5 are 2,974, with HD 6 268, with HD 7 171; of CRC-32C
# (0x8F6E37A0) with HD 8 177, with HD 6 5,243; of F4ACFB13 (0xFA567D89) with HD 8 34 octets, with HD 6 4,092
# (SSP21's specification too). A length here is that of the whole message.
@pytest.mark.parametrize(
    ("key", "octets", "distance"),
    [
        ("crc-32", 16, 7),
        ("crc-32", 32, 6),
        ("crc-32", 64, 5),
        ("crc-32", 128, 5),
        ("crc-32", 256, 5),
        ("crc-32", 512, 4),
        ("crc-32", 1024, 4),
        ("crc-32", 1518, 4),
        ("crc-32c", 16, 8),
        ("crc-32c", 32, 6),
        ("crc-32c", 64, 6),
        ("crc-32c", 128, 6),
        ("crc-32c", 256, 6),
        ("crc-32c", 512, 6),
        ("crc-32c", 1024, 4),
        ("crc-32c", 1518, 4),
        ("crc-32-f4acfb13", 16, 8),
        ("crc-32-f4acfb13", 32, 8),
        ("crc-32-f4acfb13", 64, 6),
        ("crc-32-f4acfb13", 128, 6),
        ("crc-32-f4acfb13", 256, 6),
        ("crc-32-f4acfb13", 512, 6),
        ("crc-32-f4acfb13", 1024, 6),
        ("crc-32-f4acfb13", 1518, 6),
    ],
)
def test_distances_of_what_is_kept_are_the_published_ones(key: str, octets: int, distance: int) -> None:
    found = exact.distance(stored.counted(crc(key), 8 * octets))
    assert found is not None
    assert found[0] == distance


def test_four_flipped_bits_in_a_frame_of_ethernet() -> None:
    """223,059 patterns of four bits stay undetected in 12,112 bits of data (Koopman, DSN 2002)."""
    assert exact.distance(stored.counted(crc("crc-32"), 12144)) == (4, 223059)


@pytest.mark.parametrize("octets", stored.BYTES)
def test_what_is_kept_is_of_a_code(octets: int) -> None:
    """All states are counted, the word 0 is in the code, no single error passes: Pless' first identities."""
    for code in (it for it in CODES.values() if isinstance(it, Crc) and it.bits > stored.FAST):
        counts = stored.counted(code, 8 * octets)
        assert int(counts.sum()) == 1 << code.bits
        assert [exact.words_of_weight(counts, it) for it in (0, 1)] == [1, 0]


def test_opc_ua_safetys_crc_keeps_its_limit_at_all_lengths() -> None:
    """At most 4.0e-10 of the wrong messages pass (OPC 10000-15, 9.3), and the limit can be missed."""
    code = crc("crc-32-f4acfb13")
    for octets in stored.BYTES:
        assert answers.answer(code, octets, [], seed=1).keeps
    assert not answers.answer(crc("crc-32-rasta-b"), 64, [], seed=1).keeps


def test_rastas_option_b_misses_two_flipped_bits_255_apart() -> None:
    """Its four factors are of degree 8, so its period is 255 bits: x^255 + 1 is a word of the code."""
    generator = crc("crc-32-rasta-b").generator
    assert [degree(it) for it in factors(generator)] == [8, 8, 8, 8]
    assert divided((1 << 255) | 1, generator)[1] == 0
