"""What the nodes of runs in real time used up, for the report: one row a protocol, condition and node."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.metrics.numbers import counted, number
from gauntlet.report.evaluation import Evaluation
from gauntlet.results.nodes import SCHEMA

IDLE_SHARE = 0.1
"""A machine that is busier than this over all its cores, before or after a run, was not idle."""

COLUMNS = (
    "CPU time (s)",
    "CPU per byte (ns)",
    "memory (MB)",
    "socket memory (kB)",
    "context switches",
    "dropped by sockets",
)
"""What is shown of a node: means over the runs. CPU time is divided by the bytes that applications of the run
received; memory is the most at once; sockets drop datagrams for which their buffer has no room."""


@dataclass(frozen=True)
class Used:
    """A node, over the runs of a protocol under a condition."""

    protocol: str
    condition: str
    node: str
    runs: int
    values: tuple[str, ...]
    """In the order of `COLUMNS`; empty where the host could not tell."""


@dataclass(frozen=True)
class Usage:
    """The section of the report."""

    words: str
    rows: list[Used]


def usage(evaluation: Evaluation) -> Usage | None:
    """What nodes used that had something to do, protocols and conditions in the report's order; None for runs
    in virtual time, and where no run came to its end.
    """
    if not evaluation.results.manifest.in_real_time:
        return None
    nodes = evaluation.results.table("nodes").select(SCHEMA.names).to_pylist()
    if not nodes:
        return None
    received: dict[str, int] = {}
    place: dict[str, tuple[int, int]] = {}
    styles = {style.key: number for number, style in enumerate(evaluation.styles)}
    conditions = {condition: number for number, condition in enumerate(evaluation.conditions)}
    for row in evaluation.rows:
        received[row.run] = received.get(row.run, 0) + row.received_bytes
        # Of several protocols in one run the first in the report's order names it.
        here = (styles[row.protocol], conditions[row.condition])
        place[row.run] = min(here, place.get(row.run, here))
    grouped: dict[tuple[int, int, str], list[Mapping[str, Any]]] = {}
    for node in nodes:
        if node["cpu_ns"] is not None and node["run"] in place:
            found = {**node, "received_bytes": received[node["run"]]}
            grouped.setdefault((*place[node["run"]], node["node"]), []).append(found)
    rows = [
        Used(
            evaluation.styles[style].label,
            evaluation.label(evaluation.conditions[condition]),
            name,
            len(of),
            _values(of),
        )
        for (style, condition, name), of in sorted(grouped.items())
    ]
    return Usage(_words(nodes), rows)


def _values(nodes: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    of_bytes = [node["cpu_ns"] / node["received_bytes"] for node in nodes if node["received_bytes"]]
    return (
        _mean((node["cpu_ns"] for node in nodes), 1e-9),
        _mean(of_bytes, 1.0),
        _mean((node["peak_memory_bytes"] for node in nodes), 1e-6),
        _mean((node["peak_socket_memory_bytes"] for node in nodes), 1e-3),
        _mean((_switches(node) for node in nodes), 1.0),
        _mean((node["socket_dropped_packets"] for node in nodes), 1.0),
    )


def _switches(node: Mapping[str, Any]) -> int | None:
    either = (node["voluntary_context_switches"], node["involuntary_context_switches"])
    return None if None in either else sum(either)


def _mean(values: Iterable[float | None], factor: float) -> str:
    known = [value for value in values if value is not None]
    return number(factor * sum(known) / len(known)) if known else ""


def _words(nodes: Sequence[Mapping[str, Any]]) -> str:
    """By what was counted, and whether the machine had time for it."""
    by = " and ".join(sorted({str(node["accounting"]) for node in nodes}))
    counting = f"Counted by {by}; what a node's numbers hold stands in docs/guide/host-ground.md."
    return f"{_busy(nodes) or 'The machine was idle before and after each run.'} {counting}"


def busy(evaluation: Evaluation) -> str | None:
    """A warning where runs in real time shared the machine with something else; None where they did not."""
    if not evaluation.results.manifest.in_real_time:
        return None
    columns = ["run", "busy_share_before", "busy_share_after"]
    return _busy(evaluation.results.table("nodes").select(columns).to_pylist())


def _busy(nodes: Sequence[Mapping[str, Any]]) -> str | None:
    runs = {node["run"]: max(node["busy_share_before"], node["busy_share_after"]) for node in nodes}
    met = sum(share > IDLE_SHARE for share in runs.values())
    if not met:
        return None
    return (
        f"The machine was more than {100 * IDLE_SHARE:g} % busy with something else before or after {met} of "
        f"{counted(len(runs), 'run')} in real time: packets that came late may be its doing."
    )
