"""Tests that boot the virtual-time kernel: what they share."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import cores, guest
from gauntlet.evidence import Trial, trials
from gauntlet.experiment.sysctls import STOCK_SYSCTLS

ROOT = Path(__file__).resolve().parents[2]
EXPERIMENTS = ROOT / "experiments"


os.environ.setdefault("GAUNTLET_CACHE_LIMIT", "0B")
"""Tests play their runs: what compares two campaigns would else compare one with its copy."""

HOST_CORES = cores.usable_cores()

_SHARED = ("line_campaigns", "constant_results", "records", "checked")
"""Fixtures that are made once and serve several tests, those that take longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder boots guests, takes longest and therefore comes first.

    Where tests run side by side each worker begins with a stretch of this order, and who is through takes
    tests from the end of another one's: so tests that share what was made for them stay together.
    """
    place: dict[pytest.Item, int] = {}
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        item.add_marker(pytest.mark.guest)
        fixtures = set(getattr(item, "fixturenames", ()))
        shared = (number for number, name in enumerate(_SHARED) if name in fixtures)
        place[item] = next(shared, len(_SHARED))
    items.sort(key=lambda item: place.get(item, len(_SHARED) + 1))


@pytest.fixture(scope="session", autouse=True)
def _own_core() -> None:
    """Tests side by side (`pytest --numprocesses`) keep to a core each, and so do the guests that they boot.

    A guest on the core of another one would be right, and twice as slow.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if worker:
        number = int(worker.removeprefix("gw"))
        os.sched_setaffinity(0, {HOST_CORES[number % len(HOST_CORES)]})


@contextlib.contextmanager
def all_cores() -> Iterator[int]:
    """What is started within may run on every core of the host, as outside of tests; yields how many."""
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(HOST_CORES))
    try:
        yield len(HOST_CORES)
    finally:
        os.sched_setaffinity(0, own)


@pytest.fixture(scope="session")
def machine() -> guest.Machine:
    """The built kernel and the installed guest program; their absence is an error, not a reason to skip."""
    return guest.Machine.installed()


def run_plan(**changes: Any) -> dict[str, Any]:
    """A run over the `wire` network: 5.2 Mbit/s, 25 ms one way, nothing sent until the test says what."""
    shaper = {"rate_bps": 5_200_000, "queue_limit_bytes": 512_000}
    base: dict[str, Any] = {
        "id": "run",
        "seed": 1,
        "limit_s": 120.0,
        "network": {"preset": "wire"},
        "timeline": [
            {"at_s": 0.0, "link": "west>mid", **shaper},
            {"at_s": 0.0, "link": "east>mid", **shaper},
            {"at_s": 0.0, "link": "mid>east", "delay_s": 0.025},
            {"at_s": 0.0, "link": "mid>west", "delay_s": 0.025},
        ],
        "sysctls": dict(STOCK_SYSCTLS),
        "flows": [],
        "record": {"messages": True, "socket_interval_s": None, "packets": "headers", "taps": None},
    }
    return {**base, **changes}


def tcp_flow(size_bytes: int = 1_000_000, **changes: Any) -> dict[str, Any]:
    """A TCP CUBIC flow of so many bytes from client to server."""
    flow: dict[str, Any] = {
        "id": "f0",
        "stack": "tcp",
        "stack_params": {"congestion_control": "cubic"},
        "app": "bulk",
        "app_params": {"size_bytes": size_bytes},
        "from": "client",
        "to": "server",
        "start_s": 0.5,
    }
    return {**flow, **changes}


Play = Callable[..., dict[str, Mapping[str, Any]]]


@pytest.fixture
def play(machine: guest.Machine, tmp_path: Path) -> Play:
    """Plays runs in one boot and returns their records by id; `events` collects what the guest reported."""

    def boot(*runs: Mapping[str, Any], events: list[Mapping[str, Any]] | None = None, **options: Any) -> Any:
        usual: dict[str, Any] = {
            "machine": machine,
            "core": cores.usable_cores()[-1],
            "on_event": None if events is None else events.append,
        }
        guest.boot(runs, tmp_path / "out", seed=runs[0]["seed"] if runs else 0, **(usual | options))
        return {
            run["id"]: json.loads((tmp_path / "out" / run["id"] / "record.json").read_text()) for run in runs
        }

    return boot


@dataclass(frozen=True)
class Answer:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


def gauntlet(*words: str | Path, cwd: Path | None = None) -> Answer:
    """Runs the command line as a user does."""
    done = subprocess.run(
        [sys.executable, "-m", "gauntlet", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def parquet_bytes(results: Path) -> dict[str, bytes]:
    """Every Parquet file of a results folder, by its place in it."""
    return {str(path.relative_to(results)): path.read_bytes() for path in sorted(results.rglob("*.parquet"))}


@dataclass(frozen=True)
class LineCampaigns:
    """The same experiment on the line, once on one worker and once on all."""

    one_worker: Path
    all_workers: Path


@pytest.fixture(scope="session")
def line_campaigns(tmp_path_factory: pytest.TempPathFactory) -> LineCampaigns:
    """`hsr-cbr.toml` with fewer conditions, seed 7 and one repetition, twice."""
    folder = tmp_path_factory.mktemp("line")
    text = (EXPERIMENTS / "hsr-cbr.toml").read_text()
    fewer = text.replace('["25ms", "50ms", "150ms"]', '["25ms", "50ms"]')
    fewer = fewer.replace('["0%", "0.1%", "1%"]', '["0%", "1%"]')
    assert len(text) - len(fewer) == len(', "150ms"') + len(', "0.1%"')
    file = folder / "line.toml"
    file.write_text(fewer)
    with all_cores() as cores:
        for name, workers in (("one", 1), ("all", cores)):
            answer = gauntlet(
                "run", file, "--seed", "7", "--repetitions", "1", "--workers", str(workers),
                "--out", folder / name, "--quiet",
            )  # fmt: skip
            assert answer.code == 0, answer.err
    return LineCampaigns(folder / "one", folder / "all")


@pytest.fixture(scope="session")
def constant_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`constant.toml` with two repetitions."""
    out = tmp_path_factory.mktemp("constant") / "results"
    answer = gauntlet("run", EXPERIMENTS / "constant.toml", "--repetitions", "2", "--out", out, "--quiet")
    assert answer.code == 0, answer.err
    return out


def played_trials(text: str, folder: Path) -> list[Trial]:
    """The trials of one repetition of an experiment, each of a trusted run."""
    file, out = folder / "experiment.toml", folder / "results"
    file.write_text(text)
    answer = gauntlet("run", file, "--repetitions", "1", "--out", out, "--quiet")
    assert answer.code == 0, answer.err
    found = list(trials(out))
    untrusted = [trial.run.id for trial in found if not trial.run.trusted]
    assert not untrusted
    return found
