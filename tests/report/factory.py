"""Made-up runs for tests of the store, the metrics and the report: a fluid queue on a varying link, no real
stack.

Nothing here is a measurement. A protocol is one number (how strongly loss holds it back) and a queue; that is
enough physics for tables and figures to have the right shapes.
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from gauntlet.metrics.tables import finalize
from gauntlet.results import pack, store
from gauntlet.results.files import failures_named
from gauntlet.results.manifest import Manifest
from gauntlet.scenario import Scenario, line_figure_data, load_scenario

KEPT_AT_ONE_PERCENT = {"tcp-cubic": 0.45, "tcp-bbr": 0.97, "tcp-reno": 0.4, "sctp": 0.38, "udp": 0.99}
STANDING_QUEUE_S = {"tcp-cubic": 0.8, "tcp-bbr": 0.08, "tcp-reno": 0.6, "sctp": 0.7, "udp": 0.4}
MESSAGE_BYTES = 1448
INTERVAL_S = 3.0
"""From one message of a periodic flow to the next."""
EXPERIMENT = '[experiment]\nname = "made-up"\nseed = 7\n'


@dataclass(frozen=True)
class Campaign:
    """What to make up."""

    protocols: Sequence[str] = ("tcp-cubic", "tcp-bbr", "tcp-reno", "sctp", "udp")
    delays_s: Sequence[float] = (0.025, 0.05, 0.15)
    losses: Sequence[float] = (0.0, 0.01)
    repetitions: int = 3
    duration_s: float = 60.0
    untrusted: frozenset[str] = frozenset()
    """Ids of runs whose certificate fails."""
    failed: frozenset[str] = frozenset()
    """Ids of runs that left no record."""
    kept: dict[str, float] = field(default_factory=lambda: dict(KEPT_AT_ONE_PERCENT))
    periodic: bool = False
    """Whether the flows are periodic: each message over a session that takes two round trips to set up."""

    udp_drops: float = 0.0
    """Share of the messages that UDP's own sender drops; they are among those that loss takes anyway."""

    @property
    def app(self) -> str:
        """The application of its flows."""
        return "periodic" if self.periodic else "cbr"

    @property
    def asked(self) -> Mapping[str, Any]:
        """What its flows are to do, as their specification has it."""
        return {"size_bytes": 200, "interval_s": INTERVAL_S} if self.periodic else {}

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.protocols) * len(self.delays_s) * len(self.losses) * self.repetitions


class Place(NamedTuple):
    """A point of the matrix."""

    protocol: str
    delay_s: float
    loss: float
    repetition: int

    @property
    def run(self) -> str:
        """The id of its run."""
        conditions = f"delay-{self.delay_s * 1e3:.0f}ms_loss-{self.loss * 100:g}pct"
        return f"{self.protocol}_{conditions}_rep-{self.repetition:03d}"


def manifest(campaign: Campaign) -> Manifest:
    """A manifest as a campaign would write it."""
    return Manifest.new(
        experiment=EXPERIMENT,
        seed=7,
        runs_planned=campaign.runs,
        name="made-up",
        title="A made-up campaign",
        command=["gauntlet", "run", "made-up.toml"],
        engine={"kernel": "6.12.0", "kernel_sha256": "0" * 64, "guest_sha256": "1" * 64},
        workers=2,
    )


def build(results: Path, scratch: Path, campaign: Campaign | None = None) -> Path:
    """Write a whole results folder through the store and return it."""
    campaign = campaign or Campaign()
    store.create(results, EXPERIMENT, manifest(campaign), scenario=line())
    for place in places(campaign):
        write(results, scratch, campaign, place)
    finalize(results)
    return results


FAILED, UNTRUSTED = "tcp-bbr_delay-25ms_loss-1pct_rep-002", "tcp-cubic_delay-25ms_loss-0pct_rep-003"
"""Two runs of `doubtful`: one that failed, one whose certificate does not hold."""


def doubtful(results: Path, scratch: Path) -> Path:
    """A small campaign of which not every run can be taken for true."""
    made = Campaign(
        protocols=("tcp-cubic", "tcp-bbr"),
        delays_s=(0.025,),
        duration_s=5.0,
        failed=frozenset({FAILED}),
        untrusted=frozenset({UNTRUSTED}),
    )
    return build(results, scratch, made)


def places(campaign: Campaign) -> list[Place]:
    """All points of a campaign's matrix."""
    return [
        Place(protocol, delay_s, loss, repetition)
        for protocol in campaign.protocols
        for delay_s in campaign.delays_s
        for loss in campaign.losses
        for repetition in range(1, campaign.repetitions + 1)
    ]


def write(results: Path, scratch: Path, campaign: Campaign, place: Place) -> None:
    """Make up one run and store it."""
    name = place.run
    protocol, delay_s, loss, repetition = place
    start_s = stretch_start_s(repetition)
    trace = trace_table(start_s, campaign.duration_s + 10)
    spec = {
        "id": name,
        "factors": {
            "protocol": protocol,
            "channel_delay_s": delay_s,
            "loss": loss,
            "repetition": repetition,
        },
        "labels": {"channel_delay_s": f"{delay_s * 1e3:.0f} ms", "loss": f"{loss * 100:g} %"},
        "start_s": start_s,
        "duration_s": campaign.duration_s + 10,
        "flows": [{"protocol": protocol, "app": campaign.app, "direction": "up", **campaign.asked}],
    }
    plan: dict[str, Any] = {
        "id": name,
        "seed": repetition,
        "limit_s": 200.0,
        "flows": [{"id": "f0", "app": campaign.app, "app_params": {"duration_s": campaign.duration_s}}],
        "record": {"packets": "headers"},
    }
    if campaign.periodic:
        plan["flows"][0]["app_params"]["interval_s"] = INTERVAL_S
    if name in campaign.failed:
        store.write_failure(results, spec, plan, "the guest gave no sign of life for 60 s and was ended")
        return
    record_dir = scratch / name
    write_record(record_dir, campaign, place, trace)
    put(
        results,
        spec,
        plan,
        record_dir,
        {"lte": trace},
        certificate=certificate(name, name not in campaign.untrusted),
    )


def put(
    results: Path,
    spec: Mapping[str, Any],
    plan: Mapping[str, Any],
    record_dir: Path,
    traces: Mapping[str, pa.Table],
    *,
    certificate: Mapping[str, Any],
) -> Path:
    """Put a run into the results from the folder that a guest would leave, as a campaign does, without a key
    and without measures, which are then made with the tables.
    """
    with (
        tempfile.TemporaryDirectory(prefix="gauntlet-test-") as name,
        failures_named(f"store the run {spec['id']}"),
    ):
        pack.pack(plan, record_dir, Path(name), certificate)
        return store.place_run(results, spec, plan, Path(name), traces, key={})


def write_record(folder: Path, campaign: Campaign, place: Place, trace: pa.Table) -> None:
    """What the guest would leave: record.json, messages.arrow, sockets.arrow."""
    folder.mkdir(parents=True, exist_ok=True)
    protocol, delay_s, loss, repetition = place
    name = place.run
    rng = np.random.default_rng([sum(map(ord, name)), repetition])
    kept = 1.0 if loss == 0 else campaign.kept[protocol] ** (loss / 0.01) * (0.05 / max(delay_s, 0.05)) ** 0.3
    if protocol in ("udp", "tcp-bbr") and loss > 0:
        kept = campaign.kept[protocol]
    ends_s, rates_bps = trace["t_s"].to_numpy(), trace["rate_up_bps"].to_numpy()
    t_s = np.arange(1.0, 1.0 + campaign.duration_s, 0.01)
    rate_bps = rates_bps[np.searchsorted(ends_s, t_s, side="right") - 1] * 0.95 * kept
    rate_bps *= 1 + 0.05 * rng.standard_normal(len(t_s) // 100 + 1).repeat(100)[: len(t_s)]
    offered = np.cumsum(rate_bps * 0.01 / 8 / MESSAGE_BYTES)
    count = int(offered[-1])
    received_s = np.interp(np.arange(1, count + 1), offered, t_s + 0.01) + delay_s
    queue_s = (
        STANDING_QUEUE_S[protocol] * (0.4 + 0.6 * kept) * (1 + 0.3 * np.sin(received_s / 4 + repetition))
    )
    sent_s = np.maximum(received_s - delay_s - np.abs(queue_s) - 0.002 * rng.random(count), 1.0)
    lost = rng.random(count) < (loss if protocol == "udp" else 0.0)
    table = pa.table(
        {
            "flow": pa.array(np.zeros(count, dtype=np.uint16)),
            "seq": pa.array(np.arange(count, dtype=np.uint32)),
            "size_bytes": pa.array(np.full(count, MESSAGE_BYTES, dtype=np.uint32)),
            "sent_ns": pa.array((np.sort(sent_s) * 1e9).astype(np.int64)),
            "received_ns": pa.array((received_s * 1e9).astype(np.int64), mask=lost),
        }
    )
    write_arrow(table, folder / "messages.arrow")
    if protocol != "udp":
        sample_s = np.arange(1.0, 1.0 + campaign.duration_s, 0.1)
        rtt_s = 2 * delay_s + np.interp(sample_s, received_s, np.abs(queue_s))
        cwnd = np.interp(sample_s, t_s, rate_bps) * rtt_s / 8
        sockets = {
            "flow": pa.array(np.zeros(len(sample_s), dtype=np.uint16)),
            "t_ns": pa.array((sample_s * 1e9).astype(np.int64)),
            "cwnd_bytes": pa.array(cwnd.astype(np.uint64)),
            "srtt_ns": pa.array((rtt_s * 1e9).astype(np.int64)),
            "retransmitted_packets": pa.array(
                np.cumsum(rng.poisson(loss * count / len(sample_s), len(sample_s))).astype(np.uint64)
            ),
        }
        write_arrow(pa.table(sockets), folder / "sockets.arrow")
    if campaign.periodic:
        write_arrow(exchanges(campaign.duration_s, delay_s), folder / "exchanges.arrow")
    received = int(count - lost.sum())
    changes = [
        {"at_s": float(at_s), "link": "rasa>ra", "rate_bps": int(bps)}
        for at_s, bps in zip(ends_s, rates_bps, strict=True)
    ]
    record: dict[str, Any] = {
        "format": "gauntlet-record",
        "version": 1,
        "run": name,
        "seed": repetition,
        "outcome": "ok",
        "reason": None,
        "virtual_s": campaign.duration_s + 3,
        "guest": {"kernel": "6.12.0"},
        "flows": [
            {
                "id": "f0",
                "stack": protocol.partition("-")[0],
                "app": campaign.app,
                "outcome": "ok",
                "reason": None,
                "start_s": 1.0,
                "established_s": 1.0 + 2 * delay_s,
                "first_received_s": float(received_s[0]),
                "last_received_s": float(received_s[-1]),
                "sent_messages": count,
                "received_messages": received,
                "received_bytes": received * MESSAGE_BYTES,
                "delivery_instants": "wire",
            }
        ],
        "links": [],
        "taps": [{"tap": 0, "link": "rasa>ra", "captured_packets": 0, "missed_packets": 0}],
        "paths": [{"flow": "f0", "forward": ["sa>rasa", "rasa>ra"], "return": []}],
        "timeline": changes,
    }
    if protocol == "udp":
        record["flows"][0]["sender_dropped_messages"] = int(campaign.udp_drops * count)
    (folder / "record.json").write_text(json.dumps(record))


def exchanges(duration_s: float, delay_s: float) -> pa.Table:
    """Messages over sessions of their own: TCP's round trip, that of TLS, then the way to the receiver."""
    requested_ns = (np.arange(1.0, 1.0 + duration_s, INTERVAL_S) * 1e9).astype(np.int64)
    way_ns, count = round(delay_s * 1e9), len(requested_ns)
    return pa.table(
        {
            "flow": pa.array(np.zeros(count, dtype=np.uint16)),
            "seq": pa.array(np.arange(count, dtype=np.uint32)),
            "object": pa.array(["message"] * count),
            "size_bytes": pa.array(np.full(count, 1000, dtype=np.uint64)),
            "requested_ns": pa.array(requested_ns),
            "connected_ns": pa.array(requested_ns + 2 * way_ns),
            "secured_ns": pa.array(requested_ns + 4 * way_ns),
            "first_byte_ns": pa.array(requested_ns + 5 * way_ns),
            "completed_ns": pa.array(requested_ns + 5 * way_ns),
            "outcome": pa.array(["ok"] * count),
        }
    )


def write_arrow(table: pa.Table, path: Path) -> None:
    """An Arrow IPC file, as the guest writes it."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def stretch_start_s(repetition: int) -> float:
    """Where on the line a repetition rides: the same for every protocol."""
    return 300.0 + 700.0 * ((repetition - 1) % 5)


def trace_table(start_s: float, duration_s: float) -> pa.Table:
    """A stretch of the high-speed line's only bearer."""
    return _line().bearers["lte"].window(start_s, duration_s).table


def line() -> dict[str, Any]:
    """The whole line as the scenario part gives it for figures."""
    return line_figure_data(_line())


@cache
def _line() -> Scenario:
    return load_scenario("hsr", {}, seed=7)


def certificate(name: str, trusted: bool) -> dict[str, Any]:
    """What the certificate part writes, with one failed check when not trusted."""
    check = {
        "name": "rate",
        "link": "rasa>ra",
        "answer": "confirmed" if trusted else "contradicted",
        "passed": trusted,
        "missing": None,
        "sentence": "No window of rasa>ra was faster than its rate."
        if trusted
        else "rasa>ra carried 2.1 % more than its rate allows in the window from 12.0 s to 13.0 s.",
        "measured": {"excess": 0.0 if trusted else 0.021},
        "expected": {"excess": 0.0},
    }
    return {
        "format": "gauntlet-certificate",
        "version": 2,
        "run": name,
        "verdict": "confirmed" if trusted else "contradicted",
        "trusted": trusted,
        "impairments": [],
        "checks": [check],
        "undecided": [],
    }
