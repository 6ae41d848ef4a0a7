"""More flows than files, memory and mappings of a process are meant for: all of them are threads of one."""

import json
from collections.abc import Mapping
from typing import Any

from gauntlet.engine.guest import Machine
from tests.guest.conftest import Play, run_plan

FLOWS = 1000
MEMORY_MIB = 1024
"""The whole stacks of all threads, two a flow, would not fit."""
USUAL = "1024 4096"
"""Open files of a process, soft and hard, as the kernel has them for its first one (its file resource.h)."""
LIMITS = {
    "id": "limits",
    "node": "client",
    "argv": ["/bin/sh", "-c", "echo $(ulimit -Sn) $(ulimit -Hn)"],
    "working_directory": "/",
    "environment": {"PATH": "/usr/bin:/bin"},
    "start_s": 0.5,
    "wait": True,
}


def _flows(count: int) -> list[dict[str, Any]]:
    """Flows of one session with one message each, a millisecond apart."""
    message = {"message_size_bytes": 100, "interval_s": 1.0, "duration_s": 1.0, "connection": "fresh"}
    return [
        {
            "id": f"f{number}",
            "stack": "tls",
            "stack_params": {"congestion_control": "cubic"},
            "app": "periodic",
            "app_params": message,
            "from": "client",
            "to": "server",
            "start_s": 0.5 + number / 1000,
        }
        for number in range(count)
    ]


def test_a_run_has_what_its_flows_take_and_its_programs_are_spared_of_that(
    play: Play, machine: Machine
) -> None:
    many = run_plan(id="many", flows=_flows(FLOWS), programs=[LIMITS])
    few = run_plan(id="few", flows=_flows(1), programs=[LIMITS])
    told: list[Mapping[str, Any]] = []
    records = play(many, few, events=told, machine=machine.with_memory(MEMORY_MIB))
    assert records["many"]["outcome"] == "ok", json.dumps(records["many"].get("reason"))
    assert [flow["outcome"] for flow in records["many"]["flows"]] == ["ok"] * FLOWS
    printed = [event["text"].strip() for event in told if event.get("program") == "limits"]
    assert printed == [USUAL, USUAL]
