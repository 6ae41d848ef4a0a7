"""The two CRCs have the values that the specification gives for "123456789"."""

from restp_decoder.checks import crc16, crc32c


def test_check_values() -> None:
    assert crc16(b"123456789") == 0x29B1
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"") == 0
