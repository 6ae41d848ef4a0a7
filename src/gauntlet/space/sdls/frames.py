"""Transfer frames of TC, TM, AOS and USLP.

A frame is a dictionary with the fields of the vector files. Writing goes through integers as wide as the
header; reading checks version, lengths, check fields and reserved bits, in that order.
"""

from __future__ import annotations

from binascii import crc_hqx
from typing import Any

from gauntlet.space.sdls.errors import require

Json = dict[str, Any]

SERVICES = {"ad": 0b00, "bd": 0b10, "bc": 0b11}
NO_HEADER_STATUS = 0x1800
LARGEST_TM = 2048


def fecf(octets: bytes) -> bytes:
    """The frame error control field: CRC-16 with x^16 + x^12 + x^5 + 1, beginning with all ones."""
    return crc_hqx(octets, 0xFFFF).to_bytes(2, "big")


def gf16(left: int, right: int) -> int:
    """Product of two elements of GF(16), of which x^4 = x + 1."""
    product = 0
    for bit in range(4):
        if right >> bit & 1:
            product ^= left << bit
    for bit in (6, 5, 4):
        if product >> bit & 1:
            product ^= 0b10011 << (bit - 4)
    return product


def fhec(identifier: bytes, signalling: int) -> bytes:
    """The header error control of AOS: remainder of Reed-Solomon (10, 6), roots alpha^6 to alpha^9."""
    generator = [1]
    for exponent in range(6, 10):
        root = 1
        for _ in range(exponent):
            root = gf16(root, 2)
        shifted = [*generator, 0]
        generator = [high ^ gf16(root, low) for high, low in zip(shifted, [0, *generator], strict=True)]
    digits = [int(digit, 16) for digit in (identifier + bytes([signalling])).hex()] + [0] * 4
    for place in range(6):
        factor = digits[place]
        for step, coefficient in enumerate(generator):
            digits[place + step] ^= gf16(factor, coefficient)
    return bytes.fromhex("".join(f"{digit:x}" for digit in digits[6:]))


def fits(value: int, bits: int) -> int:
    """`value`, if it fits so many bits."""
    require(0 <= value < 1 << bits, "frame-out-of-range")
    return value


def pack(*fields: tuple[int, int]) -> bytes:
    """Values with their numbers of bits, one after the other."""
    word = width = 0
    for value, bits in fields:
        word = word << bits | fits(value, bits)
        width += bits
    return word.to_bytes(width // 8, "big")


class Link:
    """The managed parameters of a channel, as the vector files have them."""

    def __init__(self, parameters: Json) -> None:
        self.parameters = parameters
        self.kind: str = parameters["kind"]
        self.fecf: bool = parameters["fecf"]

    # Writing --------------------------------------------------------------------------------------

    def header(self, frame: Json, field_octets: int) -> bytes:
        """The header in front of a data field (with security header and trailer) of so many octets."""
        write = {
            "tc": self._tc_header,
            "tm": self._tm_header,
            "aos": self._aos_header,
            "uslp": self._uslp_header,
        }
        return write[self.kind](frame, field_octets)

    def finish(self, frame: Json, octets: bytes) -> bytes:
        """Octets with OCF and FECF behind them."""
        octets += bytes.fromhex(frame.get("ocf") or "")
        return octets + fecf(octets) if self.fecf else octets

    def encode(self, frame: Json) -> bytes:
        """A frame without security."""
        data = bytes.fromhex(frame["data"])
        return self.finish(frame, self.header(frame, len(data)) + data)

    def _total(self, frame: Json, header: int, field: int) -> int:
        return header + field + (4 if frame.get("ocf") else 0) + (2 if self.fecf else 0)

    def _fixed(self, total: int, expected: int) -> None:
        require(total == expected, "frame-not-fixed-length")

    def _tm_length(self) -> None:
        require(self.parameters["frame"] <= LARGEST_TM, "frame-out-of-range")

    def _tc_header(self, frame: Json, field: int) -> bytes:
        wanted = self.parameters["segment_header"] and frame["service"] != "bc"
        require((frame["segment"] is not None) == wanted, "frame-not-as-managed")
        total = self._total(frame, 6 if wanted else 5, field)
        require(total <= min(1024, self.parameters["largest"]), "frame-too-long")
        header = pack(
            (0, 2), (SERVICES[frame["service"]], 2), (0, 2), (frame["spacecraft"], 10),
            (frame["channel"], 6), (total - 1, 10), (frame["sequence"], 8),
        )  # fmt: skip
        return header + (pack((frame["segment"][0], 2), (frame["segment"][1], 6)) if wanted else b"")

    def _tm_header(self, frame: Json, field: int) -> bytes:
        secondary = bytes.fromhex(frame["secondary"]) if frame["secondary"] is not None else None
        header = pack(
            (0, 2), (frame["spacecraft"], 10), (frame["channel"], 3), (frame["ocf"] is not None, 1),
            (frame["master_count"], 8), (frame["channel_count"], 8), (secondary is not None, 1),
            (frame["status"], 15),
        )  # fmt: skip
        self._tm_length()
        if secondary is not None:
            require(secondary, "frame-invalid")
            header += bytes([fits(len(secondary), 6)]) + secondary
        self._fixed(self._total(frame, len(header), field), self.parameters["frame"])
        return header

    def _aos_header(self, frame: Json, field: int) -> bytes:
        insert = bytes.fromhex(frame["insert"])
        require(len(insert) == self.parameters["insert_zone"], "frame-not-as-managed")
        require((frame["ocf"] is not None) == self.parameters["ocf"], "frame-not-as-managed")
        cycle = frame["cycle"]
        header = pack(
            (1, 2), (frame["spacecraft"], 8), (frame["channel"], 6), (frame["count"], 24),
            (frame["replay"], 1), (cycle is not None, 1), (0, 2), (cycle or 0, 4),
        )  # fmt: skip
        if self.parameters["fhec"]:
            header += fhec(header[:2], header[5])
        header += insert
        self._fixed(self._total(frame, len(header), field), self.parameters["frame"])
        return header

    def _uslp_header(self, frame: Json, field: int) -> bytes:
        first = pack(
            (12, 4), (frame["spacecraft"], 16), (frame["destination"], 1), (frame["channel"], 6),
            (frame["map"], 4), (frame["truncated"], 1),
        )  # fmt: skip
        if frame["truncated"]:
            require(self.parameters["truncated"] is not None, "frame-not-as-managed")
            self._fixed(self._total(frame, 4, field), self.parameters["truncated"])
            return first
        insert = bytes.fromhex(frame["insert"])
        require(len(insert) == self.parameters["insert_zone"], "frame-not-as-managed")
        count = fits(frame["count"], 8 * fits(frame["count_octets"], 3)).to_bytes(
            frame["count_octets"], "big"
        )
        total = self._total(frame, 7 + len(count) + len(insert), field)
        self._uslp_length(total)
        rest = pack(
            (total - 1, 16), (frame["expedited"], 1), (frame["control"], 1), (0, 2),
            (frame["ocf"] is not None, 1), (frame["count_octets"], 3),
        )  # fmt: skip
        return first + rest + count + insert

    def _uslp_length(self, total: int) -> None:
        if self.parameters["fixed"] is not None:
            self._fixed(total, self.parameters["fixed"])
        require(total <= (self.parameters["largest"] or 65536), "frame-too-long")

    # Reading --------------------------------------------------------------------------------------

    def read(self, octets: bytes) -> tuple[Json, int, int]:
        """A frame, whose data are the whole data field, and where the data field begins and ends."""
        read = {"tc": self._read_tc, "tm": self._read_tm, "aos": self._read_aos, "uslp": self._read_uslp}
        return read[self.kind](octets)

    def _tail(self, octets: bytes, header: int, has_ocf: bool) -> tuple[int, str | None]:
        end = len(octets)
        require(end >= header + (4 if has_ocf else 0) + (2 if self.fecf else 0), "frame-too-short")
        if self.fecf:
            end -= 2
            require(octets[end:] == fecf(octets[:end]), "frame-fecf")
        return (end - 4, octets[end - 4 : end].hex()) if has_ocf else (end, None)

    def _read_tc(self, octets: bytes) -> tuple[Json, int, int]:
        require(len(octets) >= 5, "frame-too-short")
        word = int.from_bytes(octets[:4], "big")
        require(word >> 30 == 0, "frame-version")
        require((word & 0x3FF) + 1 == len(octets), "frame-length-field")
        require(len(octets) <= min(1024, self.parameters["largest"]), "frame-too-long")
        service = {bits: name for name, bits in SERVICES.items()}.get(word >> 28 & 3)
        require(service is not None and word >> 26 & 3 == 0, "frame-invalid")
        segmented = self.parameters["segment_header"] and service != "bc"
        header = 6 if segmented else 5
        end, _ = self._tail(octets, header, False)
        frame = {
            "service": service,
            "spacecraft": word >> 16 & 0x3FF,
            "channel": word >> 10 & 0x3F,
            "sequence": octets[4],
            "segment": [octets[5] >> 6, octets[5] & 0x3F] if segmented else None,
            "data": octets[header:end].hex(),
        }
        return frame, header, end

    def _read_tm(self, octets: bytes) -> tuple[Json, int, int]:
        require(len(octets) >= 6, "frame-too-short")
        self._tm_length()
        self._fixed(len(octets), self.parameters["frame"])
        word = int.from_bytes(octets[:6], "big")
        require(word >> 46 == 0, "frame-version")
        header, secondary = 6, None
        if word >> 15 & 1:
            length = octets[6] & 0x3F if len(octets) > 6 else 0
            require(7 + length <= len(octets), "frame-too-short")
            require(length and octets[6] >> 6 == 0, "frame-invalid")
            secondary, header = octets[7 : 7 + length].hex(), 7 + length
        end, ocf = self._tail(octets, header, bool(word >> 32 & 1))
        status = word & 0x7FFF
        require(status >> 14 or status >> 11 == NO_HEADER_STATUS >> 11, "frame-invalid")
        frame = {
            "spacecraft": word >> 36 & 0x3FF,
            "channel": word >> 33 & 7,
            "master_count": octets[2],
            "channel_count": octets[3],
            "status": status,
            "secondary": secondary,
            "data": octets[header:end].hex(),
            "ocf": ocf,
        }
        return frame, header, end

    def _read_aos(self, octets: bytes) -> tuple[Json, int, int]:
        require(len(octets) >= 6, "frame-too-short")
        self._fixed(len(octets), self.parameters["frame"])
        word = int.from_bytes(octets[:6], "big")
        require(word >> 46 == 1, "frame-version")
        insert_at = 8 if self.parameters["fhec"] else 6
        header = insert_at + self.parameters["insert_zone"]
        end, ocf = self._tail(octets, header, self.parameters["ocf"])
        if self.parameters["fhec"]:
            require(octets[6:8] == fhec(octets[:2], octets[5]), "frame-fhec")
        uses_cycle, cycle = word >> 6 & 1, word & 15
        require(word >> 4 & 3 == 0 and (uses_cycle or cycle == 0), "frame-invalid")
        frame = {
            "spacecraft": word >> 38 & 0xFF,
            "channel": word >> 32 & 0x3F,
            "count": word >> 8 & 0xFFFFFF,
            "replay": bool(word >> 7 & 1),
            "cycle": cycle if uses_cycle else None,
            "insert": octets[insert_at:header].hex(),
            "data": octets[header:end].hex(),
            "ocf": ocf,
        }
        return frame, header, end

    def _read_uslp(self, octets: bytes) -> tuple[Json, int, int]:
        require(len(octets) >= 4, "frame-too-short")
        word = int.from_bytes(octets[:4], "big")
        require(word >> 28 == 12, "frame-version")
        frame: Json = {
            "spacecraft": word >> 12 & 0xFFFF,
            "destination": bool(word >> 11 & 1),
            "channel": word >> 5 & 0x3F,
            "map": word >> 1 & 15,
            "truncated": bool(word & 1),
            "expedited": False,
            "control": False,
            "count_octets": 0,
            "count": 0,
            "insert": "",
            "ocf": None,
        }
        if frame["truncated"]:
            require(self.parameters["truncated"] is not None, "frame-not-as-managed")
            self._fixed(len(octets), self.parameters["truncated"])
            end, _ = self._tail(octets, 4, False)
            return frame | {"data": octets[4:end].hex()}, 4, end
        require(len(octets) >= 7, "frame-too-short")
        require(int.from_bytes(octets[4:6], "big") + 1 == len(octets), "frame-length-field")
        self._uslp_length(len(octets))
        flags = octets[6]
        require(flags >> 4 & 3 == 0, "frame-invalid")
        insert_at = 7 + (flags & 7)
        header = insert_at + self.parameters["insert_zone"]
        end, ocf = self._tail(octets, header, bool(flags >> 3 & 1))
        frame |= {
            "expedited": bool(flags >> 7),
            "control": bool(flags >> 6 & 1),
            "count_octets": flags & 7,
            "count": int.from_bytes(octets[7:insert_at], "big"),
            "insert": octets[insert_at:header].hex(),
            "data": octets[header:end].hex(),
            "ocf": ocf,
        }
        return frame, header, end

    # What security needs to know ------------------------------------------------------------------

    def channel(self, frame: Json) -> tuple[int, int, int, int | None]:
        """Version, spacecraft, virtual channel and access point of a frame."""
        version = {"tc": 0, "tm": 0, "aos": 1, "uslp": 12}[self.kind]
        access = frame.get("map")
        if self.kind == "tc" and frame["segment"] is not None:
            access = frame["segment"][1]
        return version, frame["spacecraft"], frame["channel"], access

    def protectable(self, frame: Json) -> bool:
        """Whether security applies to a frame."""
        return frame.get("service") != "bc" and not frame.get("truncated", False)

    def standard_mask(self, header: int, iv: int, rest: int) -> bytes:
        """The authentication mask that yamcs (`StandardAuthMask`) and F Prime (`SdlsAuthMask`) have."""
        mask = bytearray(header)
        if self.kind == "tc":
            mask[2] = 0xFC
            mask[5:] = b"\xff" * (header - 5)
        elif self.kind == "tm":
            mask[1] = 0x0E
        elif self.kind == "aos":
            mask[1] = 0x3F
        else:
            mask[2:4] = b"\x07\xfe"
        return bytes(mask) + b"\xff\xff" + bytes(iv) + b"\xff" * rest
