"""Constructed results folders: a test says of each flow of each run what it did, and nothing more.

Nothing here is a measurement. Each flow leaves one message a second (or none), so that throughput, delay and
download time are what the test wrote down.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from gauntlet.metrics.tables import finalize
from gauntlet.results import store
from gauntlet.results.manifest import Manifest
from tests.report.factory import certificate, put, write_arrow

EXPERIMENT = '[experiment]\nname = "constructed"\nseed = 1\n'
LIMIT_S = 100.0


@dataclass(frozen=True)
class Did:
    """What a flow did: a message each second until `until_s`, the last at that very instant; None: nothing
    ever arrived, and no session was there.
    """

    until_s: float | None
    whole: bool = True
    """Whether that was all that it had to do; if not, it failed."""
    bytes_a_second: int = 100_000
    delay_s: float = 0.05
    reason: str = "no acknowledgement came for 60 s"
    lost_messages: int = 0
    """Handed over beside those that arrived."""


@dataclass(frozen=True)
class Flow:
    """What a flow has to do, as its specification and its plan have it."""

    app: str = "bulk"
    direction: str = "up"
    name: str | None = None
    rate_bps: int | None = None
    interval_s: float | None = None
    size_bytes: int | None = None
    judge: Mapping[str, Any] | None = None
    background: bool | None = None


Done = Callable[[str, int, int, float], Did]
"""(protocol of the flow, its place, repetition, loss) -> what it did."""


@dataclass(frozen=True)
class Constructed:
    """A campaign: every protocol (`a+b`: one each) under every loss, in every repetition."""

    protocols: Sequence[str]
    done: Done
    repetitions: int = 10
    losses: Sequence[float] = (0.0,)
    flows: Sequence[Flow] = field(default_factory=lambda: (Flow(),))
    duration_s: float = 20.0
    """Of flows that are no transfer."""
    about: str = ""
    """Further keys of [experiment]."""
    links: Mapping[float, Mapping[str, Any]] = field(default_factory=dict)
    """What the link does besides, by its loss, as specifications have it."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the experiment calls its entries (`a+b`), where it has words for them."""
    factor: str = "loss"
    """The key of the matrix that the losses are values of."""


class Point(NamedTuple):
    """A run's place in the matrix."""

    entry: str
    loss: float
    repetition: int


def build(results: Path, scratch: Path, made: Constructed) -> Path:
    """Write the results folder and return it."""
    runs = len(made.protocols) * len(made.losses) * made.repetitions
    experiment = f"{EXPERIMENT}{made.about}"
    manifest = Manifest.new(
        experiment=experiment,
        seed=1,
        runs_planned=runs,
        name="constructed",
        title="A constructed campaign",
        command=["gauntlet", "run", "constructed.toml"],
        engine={"kernel": "6.12.0"},
    )
    store.create(results, experiment, manifest)
    for entry in made.protocols:
        for loss in made.losses:
            for repetition in range(1, made.repetitions + 1):
                _write(results, scratch, made, Point(entry, loss, repetition))
    finalize(results)
    return results


def _write(results: Path, scratch: Path, made: Constructed, point: Point) -> None:
    entry, loss, repetition = point
    run = f"{entry.replace('+', '-with-')}_loss-{loss * 100:g}pct_rep-{repetition:03d}"
    carried = entry.split("+") * (len(made.flows) if "+" not in entry else 1)
    did = [made.done(protocol, place, repetition, loss) for place, protocol in enumerate(carried)]
    spec = {
        "id": run,
        "factors": {"protocol": entry, made.factor: loss, "repetition": repetition},
        "labels": {
            made.factor: f"{loss * 100:g} %",
            **({"protocol": made.labels[entry]} if entry in made.labels else {}),
        },
        "start_s": 0.0,
        **({"link": {"loss": loss, **made.links[loss]}} if loss in made.links else {}),
        "flows": [
            {
                "protocol": protocol,
                "app": flow.app,
                "direction": flow.direction,
                "name": flow.name,
                "rate_bps": flow.rate_bps,
                "interval_s": flow.interval_s,
                "size_bytes": flow.size_bytes,
                "judge": flow.judge,
                "background": flow.background,
            }
            for protocol, flow in zip(carried, made.flows, strict=True)
        ],
    }
    plan = {
        "id": run,
        "limit_s": LIMIT_S,
        "flows": [
            {"id": f"f{place}", "app": flow.app, "app_params": _params(made, flow, it)}
            for place, (flow, it) in enumerate(zip(made.flows, did, strict=True))
        ],
    }
    folder = scratch / run
    folder.mkdir(parents=True)
    messages = [_messages(it, place) for place, it in enumerate(did)]
    write_arrow(pa.concat_tables(messages), folder / "messages.arrow")
    record = {
        "format": "gauntlet-record",
        "version": 1,
        "run": run,
        "seed": repetition,
        "outcome": "ok",
        "reason": None,
        "virtual_s": LIMIT_S,
        "guest": {"kernel": "6.12.0"},
        "flows": [
            _record(place, flow, protocol, it, messages[place].num_rows)
            for place, (flow, protocol, it) in enumerate(zip(made.flows, carried, did, strict=True))
        ],
        "links": [],
        "taps": [],
        "paths": [{"flow": f"f{place}", "forward": ["a>b"], "return": []} for place in range(len(did))],
        "timeline": [{"at_s": 0.0, "link": "a>b", "rate_bps": 1_000_000}],
    }
    (folder / "record.json").write_text(json.dumps(record))
    put(results, spec, plan, folder, {}, certificate=certificate(run, trusted=True))


def _params(made: Constructed, flow: Flow, did: Did) -> Mapping[str, Any]:
    if flow.app != "bulk":
        params: dict[str, Any] = {"duration_s": made.duration_s}
        return params if flow.interval_s is None else {**params, "interval_s": flow.interval_s}
    arrived = _count(did) * did.bytes_a_second
    return {"size_bytes": arrived if did.whole else arrived + 1}


def _count(did: Did) -> int:
    return 0 if did.until_s is None else max(int(did.until_s), 1)


def _messages(did: Did, place: int) -> pa.Table:
    count = _count(did)
    received_ns = ((did.until_s or 0.0) - np.arange(count)[::-1]) * 1e9
    return pa.table(
        {
            "flow": pa.array(np.full(count, place, dtype=np.uint16)),
            "seq": pa.array(np.arange(count, dtype=np.uint32)),
            "size_bytes": pa.array(np.full(count, did.bytes_a_second, dtype=np.uint32)),
            "sent_ns": pa.array((received_ns - did.delay_s * 1e9).astype(np.int64)),
            "received_ns": pa.array(received_ns.astype(np.int64)),
        }
    )


def _record(place: int, flow: Flow, protocol: str, did: Did, count: int) -> Mapping[str, Any]:
    never = did.until_s is None
    failed = never or not did.whole
    return {
        "id": f"f{place}",
        "stack": protocol.partition("-")[0],
        "app": flow.app,
        "outcome": "failed" if failed else "ok",
        "reason": did.reason if failed else None,
        "start_s": 0.0,
        "established_s": None if never else 0.0,
        "first_received_s": None if never else 1.0,
        "last_received_s": did.until_s,
        "sent_messages": count + did.lost_messages,
        "received_messages": count,
        "received_bytes": count * did.bytes_a_second,
        "delivery_instants": "wire",
    }
