"""What a link's security takes of memory, both ends in one process (crate `flight-links`)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import pyarrow as pa

from gauntlet.benches import grouped
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.grouped import Row
from gauntlet.benches.parts import Parts
from gauntlet.benches.space_link import (
    BEYOND,
    PROVIDERS,
    S2N,
    SECURITIES,
    UNDER_RUSTLS,
    facts,
    machine,
    ready_with_openssl,
    ready_without_openssl,
    values,
)
from gauntlet.experiment.runspec import Factor
from gauntlet.metrics.kpi import Kpi
from gauntlet.space import footprint

_TIMES = (5, 3)
"""How often it is measured, in full and quick: a process each time."""


def _measure(pairs: Sequence[footprint.Pair], quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    times, same = _TIMES[quick], facts()
    found = []
    for time in range(times):
        tell(f"{time + 1} of {times}: a process for each security.")
        one = parts.take(f"memory-{time}", same, lambda: footprint.memory(quick, tell, pairs))
        found.append(one.append_column(grouped.BLOCK, pa.array([time] * one.num_rows)))
    samples = pa.concat_tables(found, promote_options="permissive")
    return Measured(table(samples), machine(), {"memory": samples})


def table(samples: pa.Table) -> pa.Table:
    """A row for each security and time that `flight-memory` was run."""
    columns = {
        "heap_peak_bytes": "heap_peak",
        "heap_peak_with_c_bytes": "heap_peak_with_c",
        "heap_a_link_bytes": "heap_a_link",
        "heap_a_further_link_with_c_bytes": "heap_a_further_link_with_c",
        "rss_peak_bytes": "rss_peak",
        "pss_bytes": "pss",
        "rss_a_further_link_bytes": "rss_a_further_link",
    }
    return grouped.rows(
        samples,
        {"security": lambda row: row["security"], "provider": lambda row: row["provider"]},
        {name: partial(_first, column) for name, column in columns.items()},
    )


def _first(column: str, of: Sequence[Row]) -> float | None:
    """The one sample of a process."""
    value: float | None = of[0][column]
    return value


def _octets(name: str, label: str, definition: str) -> Kpi:
    return Kpi(name, label, "kB", 1e-3, False, definition)


_MEASURES = (
    _octets("heap_peak_bytes", "Peak of the heap", "What Rust takes, by a counting allocator."),
    _octets(
        "heap_peak_with_c_bytes",
        "Peak of the heap, C too",
        "By valgrind's massif, which sees C libraries too, while links are opened and used; none without "
        "valgrind.",
    ),
    _octets("heap_a_link_bytes", "Heap of a link", "What one link holds, both ends together."),
    _octets(
        "heap_a_further_link_with_c_bytes",
        "Heap of a further link, C too",
        "The slope of massif's peak from 1 link to 33, both ends; none without valgrind.",
    ),
    _octets("rss_peak_bytes", "Peak of the resident set", "Of the process with both ends."),
    _octets("pss_bytes", "Proportional set", "Of the process with both ends, at its end."),
    replace(
        _octets(
            "rss_a_further_link_bytes",
            "Resident set of a further link",
            "The slope from 1 link to 33, both ends; small ones drown in pages that come and go.",
        ),
        least=-inf,
    ),
)

_DETAILS = {"credentials": "of another process", "heap": "above what it was before the work"}
"""Who makes keys has a library of cryptography in his process, which is AWS-LC; and the reading of options
takes more of the heap than some securities do.
"""

_PLANNED = {
    "security": values(SECURITIES),
    "provider": values(PROVIDERS),
}

BENCH = Bench(
    name="space-memory",
    about="Heap and resident set of a process that holds both ends of a link, by security.",
    measures=_MEASURES,
    full=Plan(_PLANNED, _TIMES[0], _DETAILS),
    quick=Plan(_PLANNED, _TIMES[1], _DETAILS),
    measure=partial(_measure, footprint.SECURITIES),
    ready=ready_without_openssl,
    labels={"security": SECURITIES, "provider": PROVIDERS},
)


def _later(
    name: str,
    under: str,
    names: dict[Any, str],
    pairs: Sequence[footprint.Pair],
    ready: Callable[[], None] = ready_without_openssl,
) -> Bench:
    """The bench of what came after the registration."""
    # The program tells no provider where there is no security.
    providers: list[Factor] = [*dict.fromkeys("-" if name == "none" else it for name, it in pairs)]
    planned: dict[str, list[Factor]] = {"security": values(names), "provider": providers}
    return Bench(
        name=name,
        about=f"Heap and resident set of a process that holds both ends of a link under {under}.",
        measures=_MEASURES,
        full=Plan(planned, _TIMES[0], _DETAILS),
        quick=Plan(planned, _TIMES[1], _DETAILS),
        measure=partial(_measure, pairs),
        ready=ready,
        labels={"security": names, "provider": PROVIDERS | UNDER_RUSTLS},
    )


DTLS = _later("space-memory-dtls", "DTLS", BEYOND, footprint.BEYOND)

S2N_QUIC = _later("space-memory-s2n", "QUIC by s2n-quic", S2N, footprint.S2N)

OPENSSL = _later(
    "space-memory-openssl",
    "QUIC by OpenSSL, AWS-LC and ring, and under nothing",
    {name: SECURITIES[name] for name in ("none", "quic-stream")},
    footprint.OPENSSL,
    ready_with_openssl,
)
