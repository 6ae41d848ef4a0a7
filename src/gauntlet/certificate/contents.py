"""Do the packets that an in-path node altered, added or remembered have the bytes and the direction that its
rules ask for? The log is followed rule by rule; bytes are worked out anew where packets are captured whole.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gauntlet.certificate.answers import seconds
from gauntlet.certificate.conditions import Connection, connection
from gauntlet.certificate.forging import FORGED, forged, swapped_ids
from gauntlet.certificate.in_path_log import Log, Row
from gauntlet.certificate.rewriting import (
    checksum_places,
    headers_of,
    made_packet,
    repaired,
    settled,
    swapped,
    written,
)
from gauntlet.certificate.rules import CHANGING, Rules

Print = tuple[int, int]


@dataclass(frozen=True)
class _Content:
    """What is known of a packet: all, by what it is told apart, how it begins, or nothing."""

    whole: bytes | None = None
    print: Print | None = None
    head: bytes | None = None

    def connection(self) -> Connection | None:
        """See `connection`; of a packet of which nothing is known None, too."""
        return None if self.head is None or self.print is None else connection(self.head, self.print[0])


@dataclass(frozen=True)
class _Extra:
    """A packet that a rule may add, and to which side."""

    content: _Content
    towards: int
    fits: bool | None = None


def _of(packet: bytes) -> _Content:
    return _Content(packet, (len(packet), zlib.crc32(packet)), packet)


@dataclass
class Contents:
    """Follows the log of one node. `heads`: the captured bytes of the packets that came or left, by the place
    of their line in the log; `whole`: of those that are captured whole. `datagrams`: flows whose messages are
    whole payloads."""

    rules: Rules
    between: Sequence[str]
    log: Log
    heads: Mapping[int, bytes]
    whole: Mapping[int, bytes]
    datagrams: frozenset[str]
    faults: list[str] = field(default_factory=list)
    left: set[int] = field(default_factory=set)
    """Rules of which it could not be told what they made."""
    _now: dict[int, _Content] = field(default_factory=dict)
    _stores: dict[str, list[tuple[_Content, int]]] = field(default_factory=dict)

    def check(self) -> None:
        """Fill `faults`, a sentence each, and `left`."""
        rows = self.log.rows
        self._unfit = {(row.packet, row.rule) for row in rows if row.event == "unfit"}
        self._seen = {row.packet: row for row in self.log.seen}
        self._matched: dict[int, list[int]] = defaultdict(list)
        self._added: dict[tuple[int, int], list[Row]] = defaultdict(list)
        self._gone: dict[int, int] = {}
        for place, row in enumerate(rows):
            if row.event == "matched":
                self._matched[row.packet].append(row.rule)
            elif row.how in ("copied", "inserted"):
                self._added[row.packet, row.rule].append(row)
            elif row.how in ("passed", "altered"):
                self._gone[row.packet] = place
        for place, row in enumerate(rows):
            if row.event == "seen":
                self._now[row.packet] = self._at(place)
            elif row.event == "matched" and 0 <= row.rule < len(self.rules):
                self._act(row)
        for packet, place in self._gone.items():
            meant = self._now.get(packet, _Content()).print
            if meant is not None and meant != rows[place].fingerprint:
                self._fault(rows[place], "it did not leave with the bytes that its rules give it")

    def _at(self, place: int) -> _Content:
        """The packet of a line of the log that says how it came or left."""
        return _Content(self.whole.get(place), self.log.rows[place].fingerprint, self.heads.get(place))

    def _fault(self, row: Row, words: str) -> None:
        whom = f"Packet {row.packet:,} of the log" if row.packet >= 0 else "The clock's call"
        self.faults.append(f"{whom}, at {seconds(row.t_ns)}: {words}.")

    def _act(self, row: Row) -> None:
        rule = self.rules[row.rule]
        deed, name = rule["do"], repr(rule["id"])
        now = self._now.get(row.packet, _Content())
        action = deed["action"]
        if action == "capture":
            kept = self._stores.setdefault(deed["as"], [])
            if len(kept) < int(deed.get("most", 1000)):
                kept.append((now, row.towards))
        elif action == "alter":
            self._alter(row, now, rule)
        elif action == "rewrite":
            self._rewrite(row, now, rule)
        elif action == "duplicate":
            self._compare(row, [_Extra(now, row.towards)], name)
        elif action == "swap_connection_ids":
            self._swap(row, now, rule)
        elif action in FORGED:
            self._compare(row, [self._forged(row, now, deed)], name)
        elif action == "reflect":
            self._compare(row, [self._reflected(row, now, deed)], name)
        elif action == "insert":
            self._compare(row, self._inserted(row, now, rule), name)

    # What changes the packet itself.

    def _after(self, row: Row) -> _Content:
        """What the packet was behind this rule, where no later one changed it and it left."""
        later = self._matched[row.packet]
        later = later[later.index(row.rule) + 1 :]
        place = self._gone.get(row.packet)
        if place is None or any(self.rules[it]["do"]["action"] in CHANGING for it in later):
            return _Content()
        return self._at(place)

    def _as_it_came(self, row: Row) -> bool:
        """Whether no rule has changed the packet so far."""
        seen = self._seen.get(row.packet)
        return seen is not None and self._now[row.packet].print == seen.fingerprint

    def _in_message(self, row: Row, rule: Mapping[str, Any]) -> bool:
        """Whether the message of the rule's condition is the payload that the packet has now."""
        message = rule.get("match", {}).get("message")
        return message is not None and message["flow"] in self.datagrams and self._as_it_came(row)

    def _alter(self, row: Row, now: _Content, rule: Mapping[str, Any]) -> None:
        deed, within = rule["do"], rule["do"]["within"]
        exact = within != "message" or self._in_message(row, rule)
        unfit = (row.packet, row.rule) in self._unfit
        if now.whole is None or (not exact and not self._as_it_came(row)):
            self.left.add(row.rule)
            self._now[row.packet] = now if unfit else self._after(row)
            return
        headers = headers_of(now.whole)
        part = range(len(now.whole)) if within == "packet" else None
        if headers is not None:
            part = headers.part(within, len(now.whole))
        room = 0 if part is None else 8 * len(part)
        needed = int(deed.get("bits", 1)) + int(deed.get("at_bit", 0))
        fits = max(needed, int(deed.get("burst_bits", 0))) <= room
        if exact and fits == unfit:
            self._fault(row, f"{rule['id']!r} is wrong in whether its bits fit")
        if unfit:
            return
        after = self._after(row)
        self._now[row.packet] = after
        if after.whole is None or part is None:
            if self._gone.get(row.packet) is not None:
                self.left.add(row.rule)
            return
        if not exact:
            self.left.add(row.rule)
        fault = _wrong_bits(now.whole, after.whole, deed, part, exact)
        if fault is not None:
            self._fault(row, f"{rule['id']!r} {fault}")

    def _rewrite(self, row: Row, now: _Content, rule: Mapping[str, Any]) -> None:
        fields = rule["do"]["set"]
        if now.whole is None or (_needs_message(fields) and not self._in_message(row, rule)):
            self.left.add(row.rule)
            self._now[row.packet] = self._after(row)
            return
        made, fits = written(now.whole, fields)
        self._now[row.packet] = _of(settled(made, rule["do"].get("checksums", "repair")))
        if fits == ((row.packet, row.rule) in self._unfit):
            self._fault(row, f"{rule['id']!r} is wrong in whether its fields fit")

    def _swap(self, row: Row, now: _Content, rule: Mapping[str, Any]) -> None:
        deed, unfit = rule["do"], (row.packet, row.rule) in self._unfit
        if now.whole is None:
            self.left.add(row.rule)
            self._now[row.packet] = now if unfit else self._after(row)
            return
        made = swapped_ids(now.whole)
        if (made is None) != unfit:
            self._fault(row, f"{rule['id']!r} is wrong in whether there are connection IDs")
        if made is None:
            return
        if deed.get("draw", False):
            # Of what is drawn only the length is known.
            self.left.add(row.rule)
            self._now[row.packet] = self._after(row)
            return
        self._now[row.packet] = _of(settled(made, deed.get("checksums", "repair")))

    # What leaves beside it.

    def _reflected(self, row: Row, now: _Content, deed: Mapping[str, Any]) -> _Extra:
        swap, back = deed.get("swap", "addresses_and_ports"), 1 - row.towards
        if swap == "nothing":
            return _Extra(now, back, True)
        if now.whole is None:
            return _Extra(_Content(), back)
        made, fits = swapped(now.whole, swap)
        return _Extra(_of(settled(made, deed.get("checksums", "repair"))), back, fits)

    def _forged(self, row: Row, now: _Content, deed: Mapping[str, Any]) -> _Extra:
        """What the rule forges; unknown where it is drawn."""
        back = 1 - row.towards
        if now.whole is None:
            return _Extra(_Content(), back)
        fits, made = forged(now.whole, deed)
        return _Extra(_Content() if made is None else _of(made), back, fits)

    def _inserted(self, row: Row, now: _Content, rule: Mapping[str, Any]) -> list[_Extra]:
        """What the rule may add; several where one of them is drawn."""
        deed = rule["do"]
        packet, fields = deed["packet"], deed.get("set")
        sources: list[tuple[_Content, int]]
        if packet == "matched":
            sources = [(now, row.towards)] if row.packet >= 0 else []
        elif "captured" in packet:
            known, pick = self._stores.get(packet["captured"], []), packet.get("pick", "last")
            if packet.get("same_connection", False) and row.packet < 0:
                known = []
            elif packet.get("same_connection", False):
                if now.head is None or any(content.head is None for content, _ in known):
                    return [_Extra(_Content(), towards) for towards in (0, 1)]
                own = now.connection()
                known = [it for it in known if own is not None and it[0].connection() == own]
            sources = {"first": known[:1], "last": known[-1:]}.get(pick, known)
        elif "hex" in packet:
            sources = [(_of(bytes.fromhex(packet["hex"])), row.towards)]
        else:
            ends = fields["source"], fields["destination"]
            sources = [(_of(made_packet(packet["made"], *ends)), row.towards)]
        side = self.between.index(deed["towards"]) if "towards" in deed else None
        found = []
        for content, towards in sources:
            there = towards if side is None else side
            if fields is None:
                found.append(_Extra(content, there, True))
            elif content.whole is None or (_needs_message(fields) and not self._in_message(row, rule)):
                found.append(_Extra(_Content(), there))
            else:
                made, fits = written(content.whole, fields)
                found.append(_Extra(_of(settled(made, deed.get("checksums", "repair"))), there, fits))
        return found

    def _compare(self, row: Row, meant: Sequence[_Extra], name: str) -> None:
        """Whether what a rule added is among what it may add."""
        added, unfit = self._added[row.packet, row.rule], (row.packet, row.rule) in self._unfit
        if not meant:
            if added or not unfit:
                self._fault(row, f"{name} had nothing to add, and the log does not say so")
            return
        known = {extra.fits for extra in meant}
        if len(known) == 1 and None not in known and known != {not unfit}:
            self._fault(row, f"{name} is wrong in whether what it was to do fits")
        for extra in added:
            there = [one for one in meant if one.towards == extra.towards]
            if not there:
                self._fault(row, f"{name} added a packet to the wrong side")
            elif any(one.content.print is None for one in there):
                self.left.add(row.rule)
            elif extra.fingerprint not in {one.content.print for one in there}:
                self._fault(row, f"{name} added a packet with other bytes than it was to")


def _needs_message(fields: Mapping[str, Any]) -> bool:
    return any(entry["within"] == "message" for entry in fields.get("bytes", []))


def _wrong_bits(before: bytes, after: bytes, deed: Mapping[str, Any], part: range, exact: bool) -> str | None:
    """What is wrong with the bits that an `alter` turned over. `exact`: `part` is known to the byte."""
    if len(before) != len(after):
        return "changed its length"
    repair = deed.get("checksums", "leave") == "repair"
    if repair and repaired(after) != after:
        return "did not repair its checksums"
    count = int(deed.get("bits", 1))
    fixed = {place for places in checksum_places(after) for place in places} if repair else set()
    bits = [
        8 * place + bit
        for place, (was, now) in enumerate(zip(before, after, strict=True))
        if was != now and place not in fixed
        for bit in range(8)
        if (was ^ now) & 0x80 >> bit
    ]
    if any(at // 8 not in part for at in bits):
        return f"altered bytes outside of the {deed['within']}"
    hidden = 8 * len(fixed.intersection(part))
    if not count - hidden <= len(bits) <= count:
        return f"turned over {len(bits):,} bits instead of {count:,}"
    return None if hidden or not bits else _wrong_places(bits, deed, 8 * part.start if exact else None)


def _wrong_places(bits: Sequence[int], deed: Mapping[str, Any], start: int | None) -> str | None:
    """What is wrong with where these bits are. `start`: where the part begins, if that is known."""
    span, count = bits[-1] - bits[0] + 1, len(bits)
    if "at_bit" in deed:
        first = int(deed["at_bit"])
        if span != count or (start is not None and bits[0] != start + first):
            return f"turned over other bits than {count:,} from {first:,} on"
    elif "burst_bits" in deed and count > 1 and span != int(deed["burst_bits"]):
        return f"turned over bits in a burst of {span:,} instead of {int(deed['burst_bits']):,}"
    return None
