"""Keys, security associations, and the two functions of link security, as one end of a link has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from gauntlet.space.sdls.ciphers import ENCRYPTING, Suite
from gauntlet.space.sdls.errors import Refused, require
from gauntlet.space.sdls.frames import Link

Json = dict[str, Any]

KEY_STATES = {"pre-active": 1, "active": 2, "deactivated": 3, "destroyed": 4}


@dataclass
class Key:
    """A key: what it is for, its octets, its state, and the first IV that was never used with it."""

    kind: str
    octets: bytes
    state: str = "pre-active"
    fresh_iv: int = 0


class Counter:
    """An IV or a sequence number: so many octets, of which the lower ones travel."""

    def __init__(self, first: bytes, transmitted: int) -> None:
        self.octets, self.transmitted = len(first), transmitted
        self.next: int | None = int.from_bytes(first, "big") if first else None

    @property
    def top(self) -> int:
        """The greatest value."""
        return (1 << 8 * self.octets) - 1

    def used(self, value: int) -> None:
        """Goes on behind `value`; there is nothing behind the greatest."""
        self.next = None if value == self.top else value + 1

    def complete(self, low: bytes) -> int | None:
        """The least value not below the next one that ends with `low`; `low` itself if nothing is missing."""
        if self.next is None:
            return None
        number = int.from_bytes(low, "big")
        if self.transmitted == self.octets:
            return number
        span = 256**self.transmitted
        number += self.next // span * span
        if number < self.next:
            number += span
        return number if number <= self.top else None

    def set(self, value: bytes) -> None:
        """Sets the next value."""
        require(len(value) == self.octets, "sa-counter")
        self.next = int.from_bytes(value, "big")

    def set_last(self, value: bytes) -> None:
        """Sets the last value; all ones stand for none."""
        self.set(value)
        self.next = (int.from_bytes(value, "big") + 1) % 256**self.octets

    def last(self) -> bytes:
        """The last value, all ones for none."""
        return ((self.next or 0) - 1 & self.top).to_bytes(self.octets, "big")

    def write(self, value: int) -> bytes:
        """A value as octets."""
        return value.to_bytes(self.octets, "big")


@dataclass
class Association:
    """A security association."""

    parameters: Json
    iv: Counter
    sequence: Counter
    window: int
    state: str = "unkeyed"
    key: int | None = None
    channels: list[tuple[int, int, int, int | None]] = field(default_factory=list)
    last_procedure: int = 0

    @property
    def guard(self) -> Counter:
        """The counter against replay."""
        return self.sequence if self.sequence.octets else self.iv

    @property
    def encrypts(self) -> bool:
        """Whether its algorithm has an IV and encrypts."""
        return self.parameters["algorithm"] in ENCRYPTING

    @property
    def header_octets(self) -> int:
        """Octets of its security header."""
        lengths = ("iv_transmitted", "sequence_transmitted", "pad_length_octets")
        return 2 + sum(int(self.parameters[name]) for name in lengths)

    def serves(self, channel: tuple[int, int, int, int | None]) -> bool:
        """Whether a frame's channel is among its own."""
        return any(own[:3] == channel[:3] and own[3] in (None, channel[3]) for own in self.channels)


#: The state in which each step of an association's life is legal, and the one after it.
STEPS = {
    "rekey": ("unkeyed", "keyed"),
    "start": ("keyed", "operational"),
    "stop": ("operational", "keyed"),
    "expire": ("keyed", "unkeyed"),
    "delete": ("unkeyed", None),
}


def check_parameters(spi: int, p: Json) -> None:
    """Refuses parameters that do not go together."""
    encrypts, mac, service = p["algorithm"] in ENCRYPTING, p["mac_octets"], p["service"]
    iv, sequence = len(p["iv"]) // 2, len(p["sequence"]) // 2
    partial = p["iv_transmitted"] < iv or p["sequence_transmitted"] < sequence
    for legal in (
        p["reserved_spi"] or spi not in (0, 0xFFFF),
        encrypts == (iv > 0),
        service != "encryption" or (mac == 0 and encrypts),
        service == "encryption" or mac > 0,
        service != "authenticated-encryption" or encrypts,
        service != "authentication" or p["algorithm"] != "aes-ccm",
        p["pad_length_octets"] <= 2 and 0 < p["padding_block"] < 256,
        p["padding_block"] == 1 or p["pad_length_octets"] > 0,
        p["window"] == 0 or iv or sequence,
        (iv == 0 or p["iv_transmitted"] > 0) and (sequence == 0 or p["sequence_transmitted"] > 0),
        p["window"] > 0 or not partial,
    ):
        require(legal, "sa-parameters")
    for octets, transmitted in ((iv, p["iv_transmitted"]), (sequence, p["sequence_transmitted"])):
        require(octets <= 16 and transmitted <= octets, "sa-counter")


class End:
    """One end of a link."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.keys: dict[int, Key] = {}
        self.associations: dict[int, Association] = {}
        self.log: list[tuple[int, int]] = []
        self.report = {"alarm": 0, "sequence": 0, "mac": 0, "association": 0, "spi": 0, "number": 0}
        self.proofs = 0

    # Keys -----------------------------------------------------------------------------------------

    def load(self, number: int, kind: str, octets: bytes) -> None:
        """Takes a key."""
        known = self.keys.get(number)
        require(known is None or known.state == "destroyed", "key-exists")
        require(16 <= len(octets) <= 64, "key-length")
        self.keys[number] = Key(kind, octets)

    def find_key(self, number: int) -> Key:
        """A key by its number."""
        if number not in self.keys:
            raise Refused("key-unknown")
        return self.keys[number]

    def check_key_step(self, number: int, to: str) -> Key:
        """The key, if it can go to the state `to`."""
        before = {
            "active": ("pre-active",),
            "deactivated": ("active",),
            "destroyed": ("pre-active", "deactivated"),
        }
        key = self.find_key(number)
        require(key.state in before[to], "key-state")
        owned = any(association.key == number for association in self.associations.values())
        require(to != "destroyed" or not owned, "key-in-use")
        return key

    def key_step(self, number: int, to: str) -> None:
        """Brings a key to the state `to`."""
        key = self.check_key_step(number, to)
        key.state = to
        if to == "destroyed":
            key.octets = b""

    def usable_key(self, number: int, kind: str) -> Key:
        """An active key that may be used as `kind`."""
        key = self.find_key(number)
        require(key.kind == kind or (key.kind == "session" and kind != "master"), "key-kind")
        require(key.state == "active", "key-state")
        return key

    # Associations ---------------------------------------------------------------------------------

    def find(self, spi: int) -> Association:
        """An association by its number."""
        if spi not in self.associations:
            raise Refused("sa-unknown")
        return self.associations[spi]

    def create(self, spi: int, p: Json) -> None:
        """Makes an association."""
        require(spi not in self.associations, "sa-exists")
        check_parameters(spi, p)
        self.associations[spi] = Association(
            p,
            Counter(bytes.fromhex(p["iv"]), p["iv_transmitted"]),
            Counter(bytes.fromhex(p["sequence"]), p["sequence_transmitted"]),
            p["window"],
        )

    def _stepped(self, spi: int, step: str) -> Association:
        association = self.find(spi)
        require(association.state == STEPS[step][0], "sa-transition")
        return association

    def rekey(self, spi: int, number: int, iv: bytes | None) -> None:
        """Gives an association a key and perhaps the next IV."""
        association = self._stepped(spi, "rekey")
        kind = "cipher" if association.encrypts else "mac"
        key = self.usable_key(number, kind)
        require(len(key.octets) == association.parameters["key_octets"], "sa-key-length")
        if association.encrypts:
            owners = [other for other in self.associations.values() if other.key == number]
            require(not owners, "sa-key-taken")
        require(iv is None or len(iv) == association.iv.octets, "sa-counter")
        first = association.iv.next if iv is None else int.from_bytes(iv, "big")
        if association.encrypts:
            require(first is not None and first >= key.fresh_iv, "sa-iv-reuse")
        association.iv.next = first if association.iv.octets else None
        key.kind = kind
        association.key, association.state = number, "keyed"

    def start(self, spi: int, channels: list[tuple[int, int, int, int | None]]) -> None:
        """Lets an association protect channels."""
        association = self._stepped(spi, "start")
        association.state, association.channels = "operational", channels

    def stop(self, spi: int) -> None:
        """Ends that."""
        association = self._stepped(spi, "stop")
        association.state, association.channels = "keyed", []

    def expire(self, spi: int) -> None:
        """Takes its key away."""
        association = self._stepped(spi, "expire")
        association.state, association.key = "unkeyed", None

    def delete(self, spi: int) -> None:
        """Removes it."""
        self._stepped(spi, "delete")
        del self.associations[spi]

    # Frames ---------------------------------------------------------------------------------------

    def _ready(self, spi: int, frame: Json) -> tuple[Association, Suite]:
        association = self.associations.get(spi)
        if association is None:
            raise Refused("spi-unknown")
        if association.state != "operational" or association.key is None:
            raise Refused("sa-not-operational")
        return association, Suite(
            association.parameters["algorithm"],
            self.find_key(association.key).octets,
            association.parameters["mac_octets"],
        )

    def _mask(self, association: Association, header: int) -> bytes:
        p = association.parameters
        if p["mask"] == "standard":
            rest = p["sequence_transmitted"] + p["pad_length_octets"]
            return self.link.standard_mask(header, p["iv_transmitted"], rest)
        return b"" if p["mask"] == "all" else bytes.fromhex(p["mask"])

    def _check_use(self, association: Association, frame: Json) -> None:
        require(association.serves(self.link.channel(frame)), "sa-wrong-channel")
        self.usable_key(association.key or 0, "cipher" if association.encrypts else "mac")

    def apply(self, spi: int, frame: Json) -> bytes:
        """Protects a frame."""
        association, suite = self._ready(spi, frame)
        require(self.link.protectable(frame), "not-protectable")
        self._check_use(association, frame)
        p = association.parameters
        text = bytes.fromhex(frame["data"])
        padding = -len(text) % p["padding_block"]
        field_octets = association.header_octets + len(text) + padding + p["mac_octets"]
        header = self.link.header(frame, field_octets)
        for counter, code in ((association.iv, "iv-exhausted"), (association.sequence, "sequence-exhausted")):
            require(counter.octets == 0 or counter.next is not None, code)
        iv, sequence = self._take(association.iv), self._take(association.sequence)
        if association.encrypts:
            key = self.find_key(association.key or 0)
            key.fresh_iv = max(key.fresh_iv, int.from_bytes(iv, "big") + 1)
        clear = header + spi.to_bytes(2, "big")
        clear += iv[len(iv) - p["iv_transmitted"] :] + sequence[len(sequence) - p["sequence_transmitted"] :]
        clear += padding.to_bytes(p["pad_length_octets"], "big")
        text += bytes(padding)
        mask = self._mask(association, len(header))
        if p["service"] == "authentication":
            protected = clear + text + suite.code(masked(clear + text, mask), iv)
        elif p["service"] == "encryption":
            protected = clear + suite.keystream(text, iv)
        else:
            protected = clear + suite.seal(text, masked(clear, mask), iv)
        return self.link.finish(frame, protected)

    @staticmethod
    def _take(counter: Counter) -> bytes:
        if counter.next is None:
            return b""
        value = counter.next
        counter.used(value)
        return counter.write(value)

    def process(self, octets: bytes) -> Json:
        """Checks and opens a frame, and keeps the report and the log."""
        tags = {
            "spi-unknown": 1, "sa-not-operational": 2, "sa-wrong-channel": 3, "key-unknown": 4, "key-kind": 4,
            "key-state": 4, "mac": 5, "replay": 6, "padding": 7, "engine": 0,
        }  # fmt: skip
        self.spi: int | None = None
        code = ""
        try:
            frame, number = self._open(octets)
        except Refused as refusal:
            code = refusal.code
        tag = tags.get(code) if code else None
        self.report |= {
            "sequence": int(tag == 6),
            "mac": int(tag == 5),
            "association": int(tag in (1, 2, 3, 4)),
        }
        if code:
            if tag is not None and self.spi is not None:
                self.report |= {"alarm": 1, "spi": self.spi}
                if len(self.log) < 64:
                    self.log.append((tag, self.spi))
            raise Refused(code)
        self.report |= {"spi": self.spi or 0, "number": (number or 0) & 0xFF}
        return frame

    def _open(self, octets: bytes) -> tuple[Json, int | None]:
        frame, start, end = self.link.read(octets)
        require(self.link.protectable(frame), "not-protectable")
        require(end - start >= 2, "field-too-short")
        self.spi = int.from_bytes(octets[start : start + 2], "big")
        association, suite = self._ready(self.spi, frame)
        self._check_use(association, frame)
        p = association.parameters
        require(end - start >= association.header_octets + p["mac_octets"], "field-too-short")
        cuts = [start + 2]
        for name in ("iv_transmitted", "sequence_transmitted", "pad_length_octets"):
            cuts.append(cuts[-1] + p[name])
        iv_low, sequence_low, pad = (octets[a:b] for a, b in pairwise(cuts))
        text_at, text_end = cuts[-1], end - p["mac_octets"]

        iv_number = association.iv.complete(iv_low)
        sequence_number = association.sequence.complete(sequence_low)
        if iv_number is None:
            require(association.iv.transmitted == association.iv.octets, "replay")
        iv = association.iv.write(int.from_bytes(iv_low, "big") if iv_number is None else iv_number)
        mask = self._mask(association, start)
        text = octets[text_at:text_end]
        if p["service"] == "authentication":
            suite.same_code(masked(octets[:text_end], mask), iv, octets[text_end:end])
        elif p["service"] == "encryption":
            text = suite.keystream(text, iv)
        else:
            text = suite.open(octets[text_at:end], masked(octets[:text_at], mask), iv)

        number = sequence_number if association.sequence.octets else iv_number
        guard = association.guard
        if association.window:
            fresh = (
                number is not None
                and guard.next is not None
                and 0 <= number - guard.next < association.window
            )
            require(fresh, "replay")
        padding = int.from_bytes(pad, "big")
        require(padding <= len(text) and padding < p["padding_block"], "padding")
        if association.window and number is not None:
            guard.used(number)
            if association.sequence.octets and association.iv.octets and iv_number is not None:
                association.iv.used(iv_number)
        return frame | {"data": text[: len(text) - padding].hex()}, number if guard.octets else None

    def report_octets(self) -> bytes:
        """The frame security report."""
        flags = 0b1100
        for name in ("alarm", "sequence", "mac", "association"):
            flags = flags << 1 | self.report[name]
        return bytes([flags]) + self.report["spi"].to_bytes(2, "big") + bytes([self.report["number"]])


def masked(octets: bytes, mask: bytes) -> bytes:
    """What a mask lets through; beyond its end that is everything."""
    mask = mask[: len(octets)].ljust(len(octets), b"\xff")
    return bytes(octet & bits for octet, bits in zip(octets, mask, strict=True))
