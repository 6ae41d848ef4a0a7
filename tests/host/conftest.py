"""What tests of the host ground share: the engine, runs at a low rate, and why they may be skipped."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gauntlet import engine
from gauntlet.engine.contract import Place
from gauntlet.engine.host import Host, ask
from gauntlet.errors import RunError
from gauntlet.experiment.sysctls import STOCK_SYSCTLS


@pytest.fixture(scope="session")
def ability() -> Mapping[str, Any]:
    """What the host ground can do here; where the host allows no namespaces there is nothing to test."""
    try:
        found: Mapping[str, Any] = ask(engine.player_binary(), "--doctor")
    except RunError as error:
        if "no user namespace" in str(error) or "nobody make a network namespace" in str(error):
            pytest.skip(f"this host lets nobody make namespaces: {error}")
        raise
    return found


@pytest.fixture(scope="session")
def host(ability: Mapping[str, Any]) -> Host:
    """The engine of the host ground."""
    missing = [it["name"] for it in ability["modules"] if it["missing"] is not None]
    needed = {"veth", "sch_tbf"} & set(missing)
    if needed:
        pytest.skip(f"this host's kernel has no {', '.join(sorted(needed))}")
    return Host.installed(STOCK_SYSCTLS)


def run_plan(**changes: Any) -> dict[str, Any]:
    """A run over the `wire` network: 10 Mbit/s, 5 ms one way, nothing sent until the test says what."""
    shaper = {"at_s": 0.0, "rate_bps": 10_000_000, "queue_limit_bytes": 512_000}
    base: dict[str, Any] = {
        "id": "run",
        "seed": 1,
        "limit_s": 30.0,
        "network": {"preset": "wire"},
        "timeline": [
            {"link": "west>mid", **shaper},
            {"link": "east>mid", **shaper},
            {"at_s": 0.0, "link": "mid>east", "delay_s": 0.005},
            {"at_s": 0.0, "link": "mid>west", "delay_s": 0.005},
        ],
        "drops": [],
        "sysctls": dict(STOCK_SYSCTLS),
        "flows": [],
        "record": {"messages": True, "socket_interval_s": None, "packets": "headers", "taps": None},
    }
    return {**base, **changes}


def flow(stack: str = "tcp", size_bytes: int = 200_000, **changes: Any) -> dict[str, Any]:
    """A transfer of so many bytes from client to server."""
    params = {"congestion_control": "cubic"} if stack in ("tcp", "tls") else {}
    usual: dict[str, Any] = {
        "id": "f0",
        "stack": stack,
        "stack_params": params,
        "app": "bulk",
        "app_params": {"size_bytes": size_bytes},
        "from": "client",
        "to": "server",
        "start_s": 0.3,
    }
    return {**usual, **changes}


def datagrams(**changes: Any) -> dict[str, Any]:
    """300 messages of 500 bytes over UDP."""
    params = {"rate_bps": 1_200_000, "message_size_bytes": 500, "duration_s": 1.0}
    return flow("udp", app="cbr", app_params=params, **changes)


Play = Callable[..., Mapping[str, Any]]


@pytest.fixture
def play(host: Host, tmp_path: Path) -> Play:
    """Plays a run and returns its record; its files are in `tmp_path / "out" / "run"`."""

    def played(**changes: Any) -> Mapping[str, Any]:
        events = changes.pop("on_event", None)
        folder = host.play(run_plan(**changes), tmp_path / "out", place=Place(), on_event=events)
        record: Mapping[str, Any] = json.loads((folder / "record.json").read_text())
        return record

    return played
