"""Answers: MACs, what is refused, the form of the argument, the picture."""

from decimal import Decimal
from pathlib import Path

import pytest

from gauntlet.errors import UserError
from gauntlet.residual import answers, figure
from gauntlet.residual.codes import code


def test_a_mac_misses_by_its_bits_whatever_the_error() -> None:
    found = answers.answer(code("mac-64"), 128, [Decimal("1e-6"), Decimal("0.1")], seed=1)
    assert [it.conditional for it in found.points] == [2.0**-64, 2.0**-64]
    assert found.points[0].undetected == pytest.approx(2.0**-64 * 1e-6 * 1024, rel=1e-3)
    assert found.keeps


def test_where_half_the_bits_are_wrong_a_code_is_a_guess() -> None:
    for key in ("internet", "crc-16-ccitt"):
        found = answers.answer(code(key), 64, [Decimal("0.5")], seed=1)
        assert found.points[0].undetected == pytest.approx(2.0**-16)


def test_the_rate_is_that_of_wrong_messages_times_their_share() -> None:
    assert answers.per_hour(4e-10) == pytest.approx(
        {"one_in_6_min": 4e-9, "one_in_60_min": 4e-10, "one_in_600_min": 4e-11}
    )


def test_what_makes_no_sense_is_one_sentence() -> None:
    with pytest.raises(UserError, match="did you mean 'crc-32c'"):
        code("crc32c")
    with pytest.raises(UserError, match="no room for data"):
        answers.answer(code("crc-32"), 4, [], seed=1)
    with pytest.raises(UserError, match="no bit error probability"):
        answers.answer(code("crc-32"), 64, [Decimal("0.7")], seed=1)


def test_the_picture_has_the_limit_as_a_line(tmp_path: Path) -> None:
    found = figure.lines([code("crc-16-ccitt"), code("mac-32")], [64], seed=1)
    figure.write(found, tmp_path / "codes.svg")
    assert "OPC UA Safety" in (tmp_path / "codes.svg").read_text()
    with pytest.raises(UserError, match="end its name in"):
        figure.write(found, tmp_path / "codes.gif")
