"""The extended procedures, as their recipient does them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gauntlet.space.sdls.association import KEY_STATES, End
from gauntlet.space.sdls.errors import Refused, require

Json = dict[str, Any]

CIPHERS = {
    b"\x01": ("aes-gcm", 32),
    b"\x04": ("aes-ccm", 32),
    b"\x81": ("aes-gcm", 16),
    b"\x84": ("aes-ccm", 16),
}
CODES = {b"\x01": ("aes-cmac", 32), b"\x02": ("hmac-sha-256", 32), b"\x81": ("aes-cmac", 16)}

READ_ONLY = (0x10, 0x1F)


class Value:
    """The value of a data unit, read from its front."""

    def __init__(self, octets: bytes) -> None:
        self.left = octets

    def take(self, octets: int) -> bytes:
        """The next octets."""
        require(len(self.left) >= octets, "pdu-value")
        front, self.left = self.left[:octets], self.left[octets:]
        return front

    def number(self, octets: int) -> int:
        """The next octets as a number."""
        return int.from_bytes(self.take(octets), "big")

    def counted(self, width: int = 1) -> bytes:
        """Octets behind their count."""
        return self.take(self.number(width))

    def all(self, octets: int) -> list[bytes]:
        """What is left, in pieces of one length."""
        pieces = []
        while self.left:
            pieces.append(self.take(octets))
        return pieces

    def rest(self) -> bytes:
        """What is left."""
        return self.take(len(self.left))


def unit(tag: int, value: bytes) -> bytes:
    """A data unit of a reply."""
    return bytes([0x80 | tag]) + (8 * len(value)).to_bytes(2, "big") + value


def read_unit(octets: bytes, length_unit: str) -> tuple[int, bytes]:
    """Tag and value of a data unit."""
    require(len(octets) >= 3, "pdu-too-short")
    length = int.from_bytes(octets[1:3], "big")
    octets_per_unit = 1 if length_unit == "octets" else 8
    require(length == octets_per_unit * len(octets[3:]), "pdu-length")
    return octets[0], octets[3:]


def execute(end: End, octets: bytes, length_unit: str, carried_by: int | None) -> bytes:
    """Does a command; its reply, or no octets."""
    tag, value = read_unit(octets, length_unit)
    require(tag & 0x7F in PROCEDURES, "pdu-tag")
    require(tag < 0x80, "pdu-reply")
    parse, do = PROCEDURES[tag]
    reader = Value(value)
    arguments = parse(reader)
    require(not reader.left, "pdu-value")
    concerns = arguments.get("spi")
    if concerns is not None and tag not in READ_ONLY:
        require(concerns != carried_by, "sa-carries-command")
    answer = do(end, arguments)
    if answer is None:
        if concerns in end.associations:
            end.associations[concerns].last_procedure = tag
        return b""
    return unit(tag, answer)


def _keys(value: Value) -> Json:
    return {"keys": [int.from_bytes(key, "big") for key in value.all(2)]}


def _spi(value: Value) -> Json:
    return {"spi": value.number(2)}


def _nothing(_: Value) -> Json:
    return {}


def _channel(octets: bytes) -> tuple[int, int, int, int | None]:
    word = int.from_bytes(octets, "big")
    return word >> 28, word >> 12 & 0xFFFF, word >> 6 & 0x3F, word & 0x3F or None


def _parse_create(value: Value) -> Json:
    spi, services, lengths, mac = value.number(2), value.number(1), value.number(1), value.number(1)
    cipher, iv, code = value.counted(), value.counted(), value.counted()
    mask, sequence, window = value.counted(2), value.counted(), value.counted()
    return {
        "spi": spi, "services": services >> 6, "cipher": cipher, "code": code,
        "parameters": {
            "mac_octets": mac, "iv": iv.hex(), "iv_transmitted": services & 0x3F, "sequence": sequence.hex(),
            "sequence_transmitted": lengths >> 2, "pad_length_octets": lengths & 3,
            "padding_block": 16 if lengths & 3 else 1, "mask": mask.hex() or "standard",
            "window": int.from_bytes(window, "big"), "reserved_spi": False,
        },
    }  # fmt: skip


def _create(end: End, a: Json) -> None:
    services = {
        0b11: ("authenticated-encryption", CIPHERS.get(a["cipher"])),
        0b10: ("encryption", CIPHERS.get(a["cipher"])),
        0b01: ("authentication", CODES.get(a["code"])),
        0b00: ("nothing", None),
    }
    service, suite = services[a["services"]]
    if suite is None:
        raise Refused("sa-suite")
    algorithm, key_octets = suite
    named = {"service": service, "algorithm": algorithm, "key_octets": key_octets}
    end.create(a["spi"], a["parameters"] | named)


def _parse_otar(value: Value) -> Json:
    master, iv, sealed = value.number(2), value.take(12), value.rest()
    require(len(sealed) >= 16, "pdu-value")
    return {"master": master, "iv": iv, "sealed": sealed}


def _otar(end: End, a: Json) -> None:
    master = end.usable_key(a["master"], "master").octets
    try:
        clear = AESGCM(master).decrypt(a["iv"], a["sealed"], None)
    except InvalidTag:
        raise Refused("otar-mac") from None
    step = 2 + len(master)
    require(clear and len(clear) % step == 0, "otar-contents")
    uploaded: dict[int, bytes] = {}
    for at in range(0, len(clear), step):
        number = int.from_bytes(clear[at : at + 2], "big")
        known = end.keys.get(number)
        require(known is None or known.state == "destroyed", "key-exists")
        require(number not in uploaded, "otar-contents")
        uploaded[number] = clear[at + 2 : at + step]
    for number, octets in uploaded.items():
        end.load(number, "session", octets)


def _key_step(to: str) -> Callable[[End, Json], None]:
    def step(end: End, a: Json) -> None:
        for place, number in enumerate(a["keys"]):
            end.check_key_step(number, to)
            require(number not in a["keys"][:place], "pdu-value")
        for number in a["keys"]:
            end.key_step(number, to)

    return step


def _verify(end: End, a: Json) -> bytes:
    answer = b""
    for place, challenge in enumerate(a["challenges"]):
        number = int.from_bytes(challenge[:2], "big")
        key = end.find_key(number)
        require(key.state in ("pre-active", "active"), "key-state")
        iv = b"\xff" * 4 + (end.proofs + place + 1).to_bytes(8, "big")
        answer += challenge[:2] + iv + AESGCM(key.octets).encrypt(iv, challenge[2:], None)
    end.proofs += len(a["challenges"])
    return answer


def _inventory(end: End, a: Json) -> bytes:
    require(a["first"] <= a["last"], "pdu-value")
    found = sorted(number for number in end.keys if a["first"] <= number <= a["last"])
    answer = len(found).to_bytes(2, "big")
    for number in found:
        answer += number.to_bytes(2, "big") + bytes([KEY_STATES[end.keys[number].state]])
    return answer


def _set_window(end: End, a: Json) -> None:
    require(1 <= len(a["window"]) <= 8, "pdu-value")
    end.find(a["spi"]).window = int.from_bytes(a["window"], "big")


def _log_status(end: End, _: Json) -> bytes:
    return len(end.log).to_bytes(2, "big") + (64 - len(end.log)).to_bytes(2, "big")


def _erase_log(end: End, a: Json) -> bytes:
    end.log.clear()
    return _log_status(end, a)


def _dump_log(end: End, _: Json) -> bytes:
    return b"".join(bytes([tag, 0, 2]) + spi.to_bytes(2, "big") for tag, spi in end.log)


def _reset_alarm(end: End, _: Json) -> None:
    end.report["alarm"] = 0


#: Tag, how its value is read, and what is done.
PROCEDURES: dict[int, tuple[Callable[[Value], Json], Callable[[End, Json], bytes | None]]] = {
    0x01: (_parse_otar, _otar),
    0x02: (_keys, _key_step("active")),
    0x03: (_keys, _key_step("deactivated")),
    0x04: (lambda value: {"challenges": value.all(18)}, _verify),
    0x06: (_keys, _key_step("destroyed")),
    0x07: (lambda value: {"first": value.number(2), "last": value.number(2)}, _inventory),
    0x10: (_spi, lambda end, a: a["spi"].to_bytes(2, "big") + end.find(a["spi"]).guard.last()),
    0x11: (_parse_create, _create),
    0x14: (_spi, lambda end, a: end.delete(a["spi"])),
    0x15: (lambda value: {"spi": value.number(2), "window": value.rest()}, _set_window),
    0x16: (
        lambda value: {"spi": value.number(2), "key": value.number(2), "iv": value.rest()},
        lambda end, a: end.rekey(a["spi"], a["key"], a["iv"] or None),
    ),
    0x19: (_spi, lambda end, a: end.expire(a["spi"])),
    0x1A: (
        lambda value: {"spi": value.number(2), "last": value.rest()},
        lambda end, a: end.find(a["spi"]).guard.set_last(a["last"]),
    ),
    0x1B: (
        lambda value: {"spi": value.number(2), "channels": [_channel(piece) for piece in value.all(4)]},
        lambda end, a: end.start(a["spi"], a["channels"]),
    ),
    0x1E: (_spi, lambda end, a: end.stop(a["spi"])),
    0x1F: (_spi, lambda end, a: a["spi"].to_bytes(2, "big") + bytes([end.find(a["spi"]).last_procedure])),
    0x31: (_nothing, lambda _end, _a: b""),
    0x32: (_nothing, _log_status),
    0x33: (_nothing, _dump_log),
    0x34: (_nothing, _erase_log),
    0x35: (_nothing, lambda _end, _a: b"\x00"),
    0x37: (_nothing, _reset_alarm),
}


def proofs_hold(reply: bytes, keys: dict[int, bytes], challenges: list[bytes]) -> None:
    """Refuses a reply of key verification that does not prove what was asked for."""
    tag, value = read_unit(reply, "bits")
    require(tag == 0x84, "pdu-tag")
    proofs = Value(value).all(46)
    require(len(proofs) == len(challenges), "proof")
    for proof, challenge in zip(proofs, challenges, strict=True):
        try:
            text = AESGCM(keys[int.from_bytes(proof[:2], "big")]).decrypt(proof[2:14], proof[14:], None)
        except (InvalidTag, KeyError):
            raise Refused("proof") from None
        require(text == challenge, "proof")
