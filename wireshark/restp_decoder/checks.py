"""The two checks of a ResTP datagram (chapter 3.1): HEC over the header and CRC-32C over the body."""

from binascii import crc_hqx
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

IP_PROTOCOL = 253
"""Protocol number of ResTP directly over IP (R-ENCAP-2, RFC 3692)."""


@dataclass(frozen=True, slots=True)
class PseudoHeader:
    """Outer addresses that the HEC covers too when ResTP runs directly over IP (R-CRC-2).

    Both addresses are of one family; `protocol` is the protocol number, 0 to 255.
    Raises ValueError if they are not.
    """

    source: IPv4Address | IPv6Address
    destination: IPv4Address | IPv6Address
    protocol: int = IP_PROTOCOL

    def __post_init__(self) -> None:
        if self.source.version != self.destination.version:
            raise ValueError(
                f"The pseudo-header has the addresses {self.source} and {self.destination}; "
                "both must be IPv4 or both IPv6."
            )
        if not 0 <= self.protocol <= 0xFF:
            raise ValueError(f"The protocol number is {self.protocol}; it must be 0 to 255.")

    def octets(self, length_bytes: int) -> bytes:
        """What the HEC covers before the header; the datagram, header and body, has `length_bytes` octets."""
        addresses = self.source.packed + self.destination.packed
        if isinstance(self.source, IPv4Address):
            # An IPv4 datagram cannot be longer; whatever claims to be is checked modulo 2^16.
            return addresses + bytes((0, self.protocol)) + (length_bytes & 0xFFFF).to_bytes(2)
        return addresses + length_bytes.to_bytes(4) + bytes((0, 0, 0, self.protocol))


def crc16(octets: bytes) -> int:
    """CRC with generator 0x1021, start 0xFFFF, not reflected, no final XOR (R-CRC-1)."""
    return crc_hqx(octets, 0xFFFF)


def _table_crc32c() -> tuple[int, ...]:
    """Remainders of all octets by 0x1EDC6F41, whose reflection is 0x82F63B78."""
    table = []
    for octet in range(256):
        remainder = octet
        for _ in range(8):
            remainder = (remainder >> 1) ^ (0x82F63B78 if remainder & 1 else 0)
        table.append(remainder)
    return tuple(table)


_CRC32C = _table_crc32c()


def crc32c(octets: bytes) -> int:
    """CRC-32C: generator 0x1EDC6F41, reflected, start and final XOR 0xFFFFFFFF (R-CRC-3)."""
    crc = 0xFFFFFFFF
    for octet in octets:
        crc = (crc >> 8) ^ _CRC32C[(crc ^ octet) & 0xFF]
    return crc ^ 0xFFFFFFFF


def header_check(
    header: bytes, hec_offset: int, length_bytes: int, pseudo_header: PseudoHeader | None
) -> int:
    """HEC of `header` (R-CRC-2), whose own HEC field at `hec_offset` octets counts as zero.

    `length_bytes` is the length of the whole datagram, header and body.
    """
    prefix = pseudo_header.octets(length_bytes) if pseudo_header else b""
    return crc16(prefix + header[:hec_offset] + b"\0\0" + header[hec_offset + 2 :])
