"""Did held packets of an in-path node wait in the store of their rule until it was released or their time was
over, and leave it in the order that the plan asks? The log is followed line by line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import seconds
from gauntlet.certificate.in_path_log import Log, Row
from gauntlet.certificate.rules import Rules


def check_waits(rules: Rules, log: Log, end_ns: int) -> list[str]:
    """What is wrong, a sentence each. `end_ns`: when the node stopped."""
    stores = _Stores(rules)
    for row in log.rows:
        stores.follow(row)
    stores.end(end_ns)
    return stores.faults


@dataclass
class _Stores:
    rules: Rules
    held: dict[str, list[tuple[int, int | None]]] = field(default_factory=dict)
    """By store: packets in the order in which they were held, with the instant at which each is to leave."""
    pending: list[tuple[str, bool, int, int]] = field(default_factory=list)
    """Releases that the packet in work has asked for: store, whether reversed, instant, packet."""
    leaving: list[tuple[int, int]] = field(default_factory=list)
    """Packets that are to leave next, each with its instant."""
    faults: list[str] = field(default_factory=list)

    def follow(self, row: Row) -> None:
        """The next line of the log."""
        if self.pending and (row.event == "seen" or row.packet != self.pending[0][3] or self._own(row)):
            self._release()
        if row.event == "seen" or (row.event == "matched" and row.packet < 0):
            self._release()
            self._missing()
        known = 0 <= row.rule < len(self.rules)
        deed: Mapping[str, Any] = self.rules[row.rule]["do"] if known else {"action": "none"}
        if row.event == "matched" and deed["action"] == "release":
            backwards = deed.get("order", "as_held") == "reversed"
            self.pending.append((deed["from"], backwards, row.t_ns, row.packet))
        elif row.event == "unfit" and deed["action"] == "release":
            if self.held.get(deed["from"]):
                self.faults.append(f"At {seconds(row.t_ns)} nothing is said to wait as {deed['from']!r}.")
        elif row.event == "held" and deed["action"] == "hold":
            most_s = deed.get("most_s")
            until_ns = None if most_s is None else row.t_ns + round(most_s * 1e9)
            self.held.setdefault(deed["as"], []).append((row.packet, until_ns))
        elif row.how in ("passed", "altered") and row.event in ("emitted", "refused"):
            self._left(row)

    def end(self, end_ns: int) -> None:
        """The log is over."""
        self._release()
        self._missing()
        for held in self.held.values():
            for packet, until_ns in held:
                if until_ns is not None and until_ns < end_ns - tolerance.current().time_ns:
                    self.faults.append(f"Packet {packet:,} was held beyond {seconds(until_ns)}.")

    def _own(self, row: Row) -> bool:
        """Whether a packet leaves that its own arrival has released."""
        return row.how in ("passed", "altered") and self._waits(row.packet)

    def _waits(self, packet: int) -> bool:
        return any(packet == own for held in self.held.values() for own, _ in held)

    def _release(self) -> None:
        for name, backwards, t_ns, _ in self.pending:
            released = self.held.pop(name, [])
            for packet, until_ns in released:
                if until_ns is not None and until_ns < t_ns - tolerance.current().time_ns:
                    self.faults.append(f"Packet {packet:,} was held beyond {seconds(until_ns)}.")
            self.leaving += [(packet, t_ns) for packet, _ in (released[::-1] if backwards else released)]
        self.pending = []

    def _missing(self) -> None:
        self.faults += [
            f"Packet {packet:,} was released at {seconds(t_ns)} and did not leave."
            for packet, t_ns in self.leaving
        ]
        self.leaving = []

    def _left(self, row: Row) -> None:
        if self.leaving:
            expected, t_ns = self.leaving.pop(0)
            if row.packet != expected:
                self.faults.append(
                    f"Packet {row.packet:,} left at {seconds(row.t_ns)} where {expected:,} was released."
                )
                self.leaving = [entry for entry in self.leaving if entry[0] != row.packet]
            elif abs(row.t_ns - t_ns) > tolerance.current().time_ns:
                self.faults.append(f"Packet {row.packet:,} left at {seconds(row.t_ns)}, after its release.")
            return
        for name, held in self.held.items():
            for entry in held:
                if entry[0] == row.packet:
                    self.held[name] = [other for other in held if other != entry]
                    self._expired(row, entry[1])
                    return

    def _expired(self, row: Row, until_ns: int | None) -> None:
        if until_ns is None or abs(row.t_ns - until_ns) > tolerance.current().time_ns:
            due = "no rule had released it" if until_ns is None else f"it was held until {seconds(until_ns)}"
            self.faults.append(f"Packet {row.packet:,} left at {seconds(row.t_ns)}, but {due}.")
