"""One flow of one run as arrays, and the interval over which it is judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gauntlet.metrics.capacity import path_capacity
from gauntlet.metrics.steps import Floats, Steps
from gauntlet.results.reader import Run

Ints = npt.NDArray[np.int64]

NEVER_NS = -1
"""In `received_ns`: the message did not arrive."""

UNSUPPORTED = "unsupported"
"""Outcome of a flow that its programs cannot carry."""

NS_PER_S = 1_000_000_000

_WITHOUT_SESSIONS = frozenset({"udp", "sdls"})
"""Stacks that open none: they are never established, and send all the same."""


@dataclass(frozen=True)
class FlowData:
    """What one flow did.

    The flow is judged from `observed_from_s` (its establishment; for UDP, which has none, its start; so for a
    flow that was never established, whose whole time passed without a byte) to `observed_until_s`: for a flow
    of fixed duration the end of that duration, whatever happened to it; for a transfer the arrival of its
    last byte, or the end of the run when it was not completed.
    """

    run: str
    index: int
    record: Mapping[str, Any]
    plan: Mapping[str, Any]
    protocol: str | None
    """Key of the protocol in the experiment; None when the specification names none for this flow."""
    run_end_s: float
    sent_ns: Ints
    received_ns: Ints
    size_bytes: Ints
    capacity_bps: Steps | None = None
    """IP-layer rate of the narrowest link on the flow's way over time; None where no link is limited."""
    sockets: Mapping[str, Floats] = field(default_factory=dict)
    """Samples of the sender's socket by column name; NaN where a value is unset."""
    exchanges: Sequence[Mapping[str, Any]] = ()
    """The objects that the flow exchanged, in order (docs/formats/record.md, exchanges.arrow)."""
    limit_s: float | None = None
    """Instant of the run at which it would have been ended; None where the plan names none."""
    wire_bytes: int | None = None
    """Bytes that entered the line in both directions, IP headers and tunnels included; None where the run has
    other flows too, whose bytes are counted with them.
    """

    @property
    def arrived(self) -> npt.NDArray[np.bool_]:
        """Which messages arrived."""
        arrived: npt.NDArray[np.bool_] = self.received_ns != NEVER_NS
        return arrived

    @property
    def never_established(self) -> bool:
        """Whether its session never came about. Not so of UDP and SDLS, which have none, nor of a flow that
        its programs could not carry (`unsupported`), of which nothing was tried.
        """
        return (
            self.record.get("established_s") is None
            and self.record.get("stack") not in _WITHOUT_SESSIONS
            and self.record.get("outcome") != UNSUPPORTED
        )

    @property
    def goes_on(self) -> bool:
        """Whether its objects are those of a source that goes on for a time, whatever becomes of single ones:
        messages at an interval, frames at a rate.
        """
        params = self.plan.get("app_params", {})
        return "interval_s" in params or "frame_rate_hz" in params

    @property
    def completed(self) -> bool:
        """Whether it did what it was to do: no failure, and all of a transfer, a page or files came."""
        if self.record.get("outcome", "ok") != "ok":
            return False
        params = self.plan.get("app_params", {})
        if self.exchanges and not self.goes_on:
            return all(exchange["outcome"] == "ok" for exchange in self.exchanges)
        return self.complete if params.get("size_bytes") is not None else True

    @property
    def given_s(self) -> float | None:
        """How long it had, from its start to the limit of its run (where no limit is known, to its end)."""
        start_s = self.record.get("start_s")
        return None if start_s is None else (self.limit_s or self.run_end_s) - float(start_s)

    @property
    def observed_from_s(self) -> float | None:
        """Start of the observation; None for a flow of which nothing was tried."""
        if self.record.get("outcome") == UNSUPPORTED:
            return None
        established_s = self.record.get("established_s")
        from_s = self.record.get("start_s") if established_s is None else established_s
        return None if from_s is None else float(from_s)

    @property
    def observed_until_s(self) -> float | None:
        """End of the observation; None for a flow of which nothing was tried."""
        if self.observed_from_s is None:
            return None
        duration_s = self.plan.get("app_params", {}).get("duration_s")
        if duration_s is not None:
            end_s = float(self.record.get("start_s", self.plan.get("start_s", 0.0))) + float(duration_s)
        elif self.complete:
            end_s = float(self.record["last_received_s"])
        else:
            end_s = self.run_end_s
        return end_s if end_s > self.observed_from_s else None

    @property
    def complete(self) -> bool:
        """Whether all that was handed over arrived, and for a transfer whether that was the whole of it."""
        whole_bytes = self.plan.get("app_params", {}).get("size_bytes")
        if whole_bytes is not None and self.record.get("received_bytes", 0) < whole_bytes:
            return False
        return self.record.get("last_received_s") is not None and self.record.get(
            "received_messages"
        ) == self.record.get("sent_messages")

    def edges_s(self, window_s: float) -> Floats | None:
        """Window edges over the observation: whole windows, and the rest as a shorter last one."""
        start_s, end_s = self.observed_from_s, self.observed_until_s
        if start_s is None or end_s is None:
            return None
        whole = int((end_s - start_s) / window_s + 1e-9)
        edges: Floats = np.float64(start_s) + window_s * np.arange(whole + 1, dtype=np.float64)
        if end_s - edges[-1] > 1e-6 * window_s:
            edges = np.append(edges, end_s)
        return edges


def flows_of(run: Run) -> list[FlowData]:
    """The flows of a run, in the order of its record; empty for a run without a record."""
    messages, sockets, exchanges = run.messages(), run.sockets(), run.exchanges()
    flows = []
    protocols = [flow.get("protocol") for flow in run.spec.get("flows", [])]
    plans = {flow["id"]: flow for flow in run.plan.get("flows", [])}
    for index, record in enumerate(run.record.get("flows", [])):
        sent_ns, received_ns, size_bytes = _messages_of(messages, index)
        flows.append(
            FlowData(
                run=run.id,
                index=index,
                record=record,
                plan=plans.get(record["id"], {}),
                protocol=protocols[index] if index < len(protocols) else None,
                run_end_s=float(run.record.get("virtual_s") or 0.0),
                sent_ns=sent_ns,
                received_ns=received_ns,
                size_bytes=size_bytes,
                capacity_bps=path_capacity(run.record, record["id"]),
                sockets=_sockets_of(sockets, index),
                exchanges=_exchanges_of(exchanges, index),
                limit_s=run.plan.get("limit_s"),
                wire_bytes=wire_bytes(run.record) if len(run.record["flows"]) == 1 else None,
            )
        )
    return flows


def wire_bytes(record: Mapping[str, Any]) -> int | None:
    """What the first counted link of each way of the run's only flow sent; None when none is counted."""
    sent_bytes = {link["link"]: int(link["sent_bytes"]) for link in record.get("links", [])}
    ways = [path[side] for path in record.get("paths", []) for side in ("forward", "return")]
    first = {next((link for link in way if link in sent_bytes), None) for way in ways} - {None}
    return sum(sent_bytes[link] for link in first if link is not None) if first else None


def _messages_of(table: pa.Table | None, index: int) -> tuple[Ints, Ints, Ints]:
    if table is None:
        empty = np.empty(0, dtype=np.int64)
        return empty, empty, empty
    flow = table.column("flow").to_numpy()
    rows = slice(int(np.searchsorted(flow, index)), int(np.searchsorted(flow, index, side="right")))
    part = table.slice(rows.start, rows.stop - rows.start)
    return (
        part.column("sent_ns").to_numpy().astype(np.int64),
        part.column("received_ns").combine_chunks().fill_null(NEVER_NS).to_numpy().astype(np.int64),
        part.column("size_bytes").to_numpy().astype(np.int64),
    )


def _sockets_of(table: pa.Table | None, index: int) -> dict[str, Floats]:
    if table is None:
        return {}
    mine = table.column("flow").to_numpy() == index
    return {
        name: table.column(name).to_numpy(zero_copy_only=False).astype(np.float64)[mine]
        for name in table.column_names
        if name != "flow"
    }


def _exchanges_of(table: pa.Table | None, index: int) -> list[dict[str, Any]]:
    if table is None:
        return []
    return [row for row in table.to_pylist() if row["flow"] == index]
