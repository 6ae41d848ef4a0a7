"""The line on which the kernel's stacks are measured: the path of D3.4 at a constant rate and delay."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from gauntlet.engine import guest
from gauntlet.errors import RunError
from gauntlet.experiment.sysctls import STOCK_SYSCTLS
from speed.turns import Contender, measured

RATE_BPS = 5_200_000
"""The line's maximum (D3.4 section 5.2)."""
DELAY_S = 0.025
"""One way."""
QUEUE_BYTES = 512_000

RUN_ID = "bench"

NOTHING: Mapping[str, Any] = {"messages": False, "packets": "none"}
EVERYTHING: Mapping[str, Any] = {"messages": True, "packets": "headers", "socket_interval_s": 0.1}
"""The delay of every message, every packet at every tap, the socket ten times a second."""


def run(flow: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """A run (docs/formats/plan.md) of one flow over eight links of `rail-d34`."""
    shaper = {"rate_bps": RATE_BPS, "queue_limit_bytes": QUEUE_BYTES}
    timeline = [{"at_s": 0.0, "link": link, **shaper} for link in ("rasa>ra", "rbsb>rb", "rcsc>rc")]
    timeline += [{"at_s": 0.0, "link": link, "delay_s": DELAY_S * 0.6} for link in ("ra>rabc", "rabc>ra")]
    timeline += [{"at_s": 0.0, "link": link, "delay_s": DELAY_S * 0.4} for link in ("rabc>rb", "rb>rabc")]
    return {
        "id": RUN_ID,
        "seed": 1,
        "limit_s": 3600.0,
        "network": {"preset": "rail-d34"},
        "timeline": timeline,
        "sysctls": dict(STOCK_SYSCTLS),
        "flows": [dict(flow)],
        "record": {"socket_interval_s": None, "taps": None, **record},
    }


def flow(
    stack: str, stack_params: Mapping[str, Any], app: str, app_params: Mapping[str, Any]
) -> dict[str, Any]:
    """A flow of a plan from the train to the trackside, after one second."""
    return {
        "id": "f0",
        "stack": stack,
        "stack_params": dict(stack_params),
        "app": app,
        "app_params": dict(app_params),
        "from": "tc1",
        "to": "tsb1",
        "start_s": 1.0,
    }


def play(
    run: Mapping[str, Any],
    out: Path,
    core: int,
    image: Path | None = None,
    guest_program: Path | None = None,
) -> float:
    """Play a run in a guest on one core; its record appears in `out`; returns its virtual seconds.

    The guest boots the kernel `image` and starts `guest_program`, else the installed ones. Raises RunError
    when it does not play the run, or not to its end.
    """
    installed = guest.Machine.installed()
    machine = replace(installed, kernel=image or installed.kernel, program=guest_program or installed.program)
    guest.boot([run], out, seed=1, machine=machine, core=core)
    record = json.loads((out / run["id"] / "record.json").read_text())
    failed = [record["reason"]] if record["outcome"] != "ok" else []
    failed += [flow["reason"] for flow in record["flows"] if flow["outcome"] != "ok"]
    if failed:
        raise RunError(f"The benchmark's own run failed: {failed[0]}")
    return float(record["virtual_s"])


def contender(
    run: Mapping[str, Any], core: int, image: Path | None = None, guest_program: Path | None = None
) -> Contender:
    """A contender that plays a run in a guest, boot and power-off included; as `play` otherwise."""
    return partial(measured, partial(_played, run, core, image, guest_program))


def _played(run: Mapping[str, Any], core: int, image: Path | None, guest_program: Path | None) -> float:
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder:
        return play(run, Path(folder), core, image, guest_program)
