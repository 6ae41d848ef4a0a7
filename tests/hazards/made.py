"""A results folder whose messages are made up, so that what they met is known."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gauntlet.results.manifest import Manifest

S = 1_000_000_000
MESSAGES = 10
"""Of a session, one a second."""

Losses = Mapping[tuple[str, int], Iterable[int]]
"""By protocol and repetition: numbers of messages that never come."""


def folder(place: Path, lost: Losses, *, late: Losses | None = None, **changes: Any) -> Path:
    """A run for each protocol and repetition of `lost`, its messages sent to two receivers, without freshness
    check and with; all come after 0.1 s but for these. `changes` are of every plan.
    """
    place.mkdir(parents=True)
    manifest = Manifest.new(
        experiment="", seed=1, runs_planned=len(lost), name="hazard-made", title="Made up"
    )
    (place / "manifest.json").write_text(manifest.model_dump_json())
    for (protocol, repetition), missing in lost.items():
        run = place / "runs" / f"{protocol}_rep-{repetition:03}"
        run.mkdir(parents=True)
        _write_documents(run, protocol, repetition, changes)
        _write_tables(run, repetition, set(missing), set((late or {}).get((protocol, repetition), ())))
    return place


def _write_documents(run: Path, protocol: str, repetition: int, changes: dict[str, Any]) -> None:
    flows = [
        {"id": f"f{n}", "app": "safety", "app_params": {
            "bound_s": 0.5, "interval_s": 1.0, "duration_s": float(MESSAGES), "freshness": checked,
        }}
        for n, checked in enumerate((False, True))
    ]  # fmt: skip
    said = {
        "spec": {
            "factors": {"protocol": protocol, "repetition": repetition},
            "labels": {"protocol": protocol, "repetition": str(repetition)},
            "link": {},
            "flows": [{"app": "safety", "name": name} for name in ("unchecked", "checked")],
        },
        "plan": {"id": run.name, "flows": flows, **changes},
        "record": {"outcome": "ok"},
        "certificate": {"trusted": True},
    }
    for name, content in said.items():
        (run / f"{name}.json").write_text(json.dumps(content))


def _write_tables(run: Path, repetition: int, missing: set[int], late: set[int]) -> None:
    # A nanosecond a repetition apart: repetitions that are alike to the nanosecond are copies.
    sent = {number: number * S + repetition for number in range(MESSAGES)}
    messages = [
        {"flow": flow, "seq": number, "sent_ns": t_ns} for flow in (0, 1) for number, t_ns in sent.items()
    ]
    pq.write_table(pa.Table.from_pylist(messages), run / "messages.parquet")
    safety = [
        {
            "flow": flow, "event": "message", "t_ns": t_ns + (S * 7 // 10 if number in late else S // 10),
            "verdict": _verdict(number, missing, late, checked=bool(flow)),
            "number": number, "stamp_ns": t_ns, "genuine": True,
        }
        for flow in (0, 1)
        for number, t_ns in sent.items()
        if number not in missing
    ]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(safety), run / "safety.parquet")


def _verdict(number: int, missing: set[int], late: set[int], *, checked: bool) -> str:
    if checked and number in late:
        return "late"
    return "gap" if checked and number - 1 in missing else "accepted"
