"""The study's numbers in three columns: as published, by its method done again, corrected."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa

from gauntlet.space.published import (
    GROWTH_US,
    HANDSHAKES,
    MEMORY,
    MESSAGES,
    METHOD_GAPS_MS,
    METHOD_HANDSHAKES,
    METHOD_SAMPLES,
    RATIOS,
    WORTH,
)
from gauntlet.space.summary import (
    CELL,
    KIND,
    UNIT_OCTETS,
    Columns,
    Estimate,
    Key,
    Row,
    Values,
    block_medians,
    estimate,
    groups,
    ratio,
    with_total,
)

_NONE: Values = np.array([])


@dataclass(frozen=True)
class Printed:
    """A number of the study, and what stands for it here."""

    key: str
    what: str
    unit: str
    stands_for: str
    published: float


@dataclass(frozen=True)
class Quantity:
    """What was measured of one number, in nanoseconds: the method's mean, and medians of the corrected
    way's blocks.
    """

    method: float | None = None
    n: int = 0
    gap_ms: int | None = None
    blocks: Values = field(default_factory=lambda: _NONE)


class Measured:
    """Quantities of the samples by what they are of."""

    def __init__(self, messages: pa.Table, handshakes: pa.Table, first: pa.Table) -> None:
        self._cells = dict(groups(messages, CELL))
        self._kinds = dict(groups(with_total(handshakes), KIND))
        self._first = dict(groups(with_total(first), KIND))

    def message(self, *name: str | int, operation: str) -> Quantity:
        """A message: cold by the method, warm where corrected; `name` is a cell's but its gap."""
        warm = self._cells.get((*name, 0, operation))
        gap = next((gap for gap in reversed(METHOD_GAPS_MS) if (*name, gap, operation) in self._cells), None)
        cold = self._cells.get((*name, gap, operation), {})
        blocks = block_medians(warm, "total_ns") if warm else _NONE
        return _quantity(cold, "total_ns", METHOD_SAMPLES, blocks, gap)

    def handshake(self, group: str, end: str) -> Quantity:
        """A handshake: by the method the first of its process and with a certificate of space alone; where
        corrected one of many, with certificates of both ends.
        """
        kind: Key = ("quic-stream", "aws-lc", "aes-256-gcm", group, "ed25519")
        column = f"{end}_cpu_ns"
        mutual = self._kinds.get((*kind, True, "none"))
        blocks = block_medians(mutual, column) if mutual else _NONE
        return _quantity(self._first.get((*kind, False, "none"), {}), column, METHOD_HANDSHAKES, blocks, None)


def _quantity(rows: Columns, column: str, most: int, blocks: Values, gap: int | None) -> Quantity:
    values = rows[column][:most] if rows else _NONE
    if not values.size:
        return Quantity(blocks=blocks)
    return Quantity(float(np.mean(values)), len(values), gap, blocks)


def three_columns(messages: pa.Table, handshakes: pa.Table, first: pa.Table, memory: pa.Table) -> list[Row]:
    """A row a number that the study printed; what was not measured is none. `first` are handshakes that are
    the first of the processes of both ends.
    """
    measured = Measured(messages, handshakes, first)
    return [
        *_messages(measured),
        *_derived(measured),
        *_handshakes(measured),
        *_worth(measured),
        *_memory(memory),
    ]


_WORDS = {
    "apply": "encrypt or write",
    "process": "decrypt or read",
}


def _messages(measured: Measured) -> list[Row]:
    rows = []
    for printed in MESSAGES:
        cell = (printed.security, printed.provider, printed.cipher, printed.payload_octets)
        quantity = measured.message(*cell, operation=printed.operation)
        what = f"{_WORDS[printed.operation]}, {printed.payload_octets} octets"
        stands_for = f"{printed.security}, {printed.provider}, {printed.cipher}: {printed.operation}"
        rows.append(_row(Printed(printed.key, what, "us", stands_for, printed.microseconds), quantity))
    return rows


def _sdls(measured: Measured, operation: str, octets: int = UNIT_OCTETS) -> Quantity:
    return measured.message("sdls-gcm-aws-lc", "aws-lc", "aes-256-gcm", octets, operation=operation)


def _quic(measured: Measured, operation: str) -> Quantity:
    return measured.message("quic-stream", "aws-lc", "aes-256-gcm", UNIT_OCTETS, operation=operation)


def _derived(measured: Measured) -> list[Row]:
    long, short = (_sdls(measured, "apply", octets) for octets in (UNIT_OCTETS, 128))
    rows = [
        _row(
            Printed(
                "section-4.2/growth/apply",
                "what 1,024 octets take longer than 128",
                "us",
                "sdls-gcm-aws-lc: apply",
                GROWTH_US,
            ),
            _combined(long, short, lambda a, b: a - b),
            _difference(long.blocks, short.blocks),
        )
    ]
    for operation, printed in RATIOS.items():
        above, below = _quic(measured, operation), _sdls(measured, operation)
        rows.append(
            _row(
                Printed(
                    f"section-4.2/ratio/{'write' if operation == 'apply' else 'read'}",
                    f"{_WORDS[operation]}: QUIC by SDLS",
                    "ratio",
                    "quic-stream by sdls-gcm-aws-lc",
                    printed,
                ),
                _combined(above, below, lambda a, b: a / b),
                _ratio(above.blocks, below.blocks),
            )
        )
    return rows


def _handshakes(measured: Measured) -> list[Row]:
    rows = []
    for printed in HANDSHAKES:
        ends = (
            ("client", "ground", printed.client),
            ("server", "space", printed.server),
            ("total", "total", printed.printed_total),
        )
        for called, end, time in ends:
            rows.append(
                _row(
                    Printed(
                        f"table-4.3/{printed.group}/{called}",
                        f"handshake, {called}",
                        "us",
                        f"quic-stream, aws-lc, {printed.group}, ed25519",
                        time,
                    ),
                    measured.handshake(printed.group, end),
                )
            )
    return rows


def _worth(measured: Measured) -> list[Row]:
    rows = []
    for key, end, unit, printed in WORTH:
        handshake = measured.handshake("x25519", end)
        message = _sdls(measured, "apply") if unit.startswith("sdls") else _quic(measured, "apply")
        rows.append(
            _row(
                Printed(
                    key,
                    "messages sent that are worth a handshake",
                    "messages",
                    f"{end}'s handshake by {unit}: apply",
                    printed,
                ),
                _combined(handshake, message, lambda a, b: a / b),
                _ratio(handshake.blocks, message.blocks),
            )
        )
    return rows


def _memory(memory: pa.Table) -> list[Row]:
    found = {(row["security"], row["provider"]): row for row in memory.to_pylist()}
    base = found.get(("none", "-"))
    rows = []
    for called, security, provider, heap_kb, rss_kb in MEMORY:
        own = found.get((security, provider))
        for what, printed, column in (("heap", heap_kb, "heap"), ("rss", rss_kb, "rss_peak")):
            peak, least = (_peak(row, column) for row in (own, base))
            more = None if peak is None or least is None or own is base else peak - least
            rows.append(
                _row(
                    Printed(
                        f"table-4.4/{what}/{called}",
                        f"peak of {'the heap' if what == 'heap' else 'the resident set'}",
                        "kB",
                        f"flight-memory, {security}" + (f", {provider}" if provider != "-" else ""),
                        printed,
                    ),
                    Quantity(peak, 1 if peak is not None else 0),
                    Estimate(more, None, None) if more is not None else None,
                )
            )
    return rows


def _peak(row: Row | None, column: str) -> float | None:
    """The heap with that of C libraries, where valgrind told it."""
    if row is None:
        return None
    if column == "heap":
        octets = row["heap_peak_with_c"] if row["heap_peak_with_c"] is not None else row["heap_peak"]
    else:
        octets = row[column]
    return float(octets)


def _combined(above: Quantity, below: Quantity, combine: Callable[[float, float], float]) -> Quantity:
    if above.method is None or below.method is None:
        return Quantity()
    gap = below.gap_ms if above.gap_ms is None else above.gap_ms
    return Quantity(combine(above.method, below.method), min(above.n, below.n), gap)


def _ratio(above: Values, below: Values) -> Estimate | None:
    if not above.size or not below.size:
        return None
    low, value, high = ratio(above, below)
    return Estimate(value, low, high)


def _difference(above: Values, below: Values) -> Estimate | None:
    """Of two lengths whose blocks were measured in turn."""
    return estimate(above - below) if above.size and above.size == below.size else None


def _row(printed: Printed, quantity: Quantity, corrected: Estimate | None = None) -> Row:
    if corrected is None and quantity.blocks.size:
        corrected = estimate(quantity.blocks)
    scale = 1000.0 if printed.unit in ("us", "kB") else 1.0

    def scaled(value: float | None) -> float | None:
        return None if value is None else round(value / scale, 3)

    return {
        **asdict(printed),
        "method": scaled(quantity.method),
        "method_n": quantity.n,
        "method_gap_ms": quantity.gap_ms,
        "corrected": scaled(corrected.value) if corrected else None,
        "corrected_low": scaled(corrected.low) if corrected else None,
        "corrected_high": scaled(corrected.high) if corrected else None,
    }
