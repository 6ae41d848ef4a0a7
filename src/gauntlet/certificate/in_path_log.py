"""The log of an in-path node as the record has it (docs/formats/record.md, `in_path.arrow`)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

_COLUMNS = (
    "t_ns", "event", "how", "packet", "rule", "towards", "length_bytes", "head_crc32", "packet_crc32",
    "checksum_valid",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One line: what happened, when, to which of the packets that came (None: the clock called), by which
    rule."""

    t_ns: int
    event: str
    how: str | None
    packet: int
    rule: int
    towards: int
    length_bytes: int
    head_crc32: int
    packet_crc32: int
    checksum_valid: bool | None

    @property
    def fingerprint(self) -> tuple[int, int]:
        """By what two packets are told apart."""
        return self.length_bytes, self.packet_crc32


@dataclass(frozen=True)
class Log:
    """All lines of one node, in order. Numbers that a line does not have are -1."""

    rows: tuple[Row, ...]

    @cached_property
    def seen(self) -> list[Row]:
        """The packets that came, by number."""
        return [row for row in self.rows if row.event == "seen"]

    @cached_property
    def by_packet(self) -> dict[int, list[Row]]:
        """The lines of each packet; -1: those of the clock."""
        found: dict[int, list[Row]] = defaultdict(list)
        for row in self.rows:
            found[row.packet].append(row)
        return found

    @property
    def end_ns(self) -> int:
        """The last instant."""
        return max((row.t_ns for row in self.rows), default=0)

    def seen_towards(self, towards: int) -> list[Row]:
        """The packets that came and went towards one of the neighbours."""
        return [row for row in self.seen if row.towards == towards]

    def emitted_towards(self, towards: int) -> list[Row]:
        """The packets that left towards one of the neighbours."""
        return [row for row in self.rows if row.event == "emitted" and row.towards == towards]

    def counts(self) -> dict[str, int]:
        """What the record's counters should say."""
        emitted = [row for row in self.rows if row.event == "emitted"]
        how = {
            name: sum(row.how == name for row in emitted)
            for name in ("passed", "altered", "copied", "inserted")
        }
        came_ns = {row.packet: row.t_ns for row in self.seen}
        late = sum(
            row.how in ("passed", "altered") and row.t_ns > came_ns.get(row.packet, row.t_ns)
            for row in emitted
        )
        events = {event: self._count(event) for event in ("seen", "dropped", "waiting", "refused")}
        return {
            **{f"{name}_packets": count for name, count in {**how, **events}.items()},
            "late_packets": late,
        }

    def doings(self, towards: int) -> dict[str, int]:
        """Of the packets that came and went towards a neighbour: what became of them; and what left for it
        beside them."""
        seen = {row.packet: row.t_ns for row in self.seen_towards(towards)}
        fates = [row for row in self.rows if row.packet in seen]
        left = self.emitted_towards(towards)
        return {
            "seen": len(seen),
            "dropped": sum(row.event == "dropped" for row in fates),
            "altered": sum(row.how == "altered" for row in left),
            "late": sum(
                row.how in ("passed", "altered") and row.t_ns > seen.get(row.packet, row.t_ns) for row in left
            ),
            "copied": sum(row.how == "copied" for row in left),
            "inserted": sum(row.how == "inserted" for row in left),
            "waiting": sum(row.event == "waiting" for row in fates),
            "wrong_checksum": sum(row.checksum_valid is False for row in left),
        }

    def _count(self, event: str) -> int:
        return sum(row.event == event for row in self.rows)


def read_log(path: Path, nodes: int) -> list[Log]:
    """The logs of so many nodes. Raises OSError, pa.ArrowInvalid or KeyError where they are not there."""
    with pa.OSFile(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    numbers = table["node"].to_pylist()
    columns = [table[name].to_pylist() for name in _COLUMNS]
    rows: list[list[Row]] = [[] for _ in range(nodes)]
    for number, values in zip(numbers, zip(*columns, strict=True), strict=True):
        rows[number].append(_row(values))
    return [Log(tuple(of_node)) for of_node in rows]


def _row(values: Iterable[object]) -> Row:
    t_ns, event, how, *rest, valid = values
    numbers = [-1 if value is None else int(str(value)) for value in rest]
    told = (int(str(t_ns)), str(event), None if how is None else str(how), *numbers, valid)
    return Row(*told)  # type: ignore[arg-type]
