"""Campaigns on the workers of a cluster: the same bytes as alone, whatever happens to workers.

Workers here are processes on the same host; in the first test in namespaces of their own, at a bridge,
without the client's folders.
"""

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from gauntlet.engine import player_binary
from tests.guest.conftest import EXPERIMENTS, all_cores, gauntlet
from tests.guest.machines import CLIENT, Machines, command, scheduler, wait_for

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

TEXT = """\
[experiment]
name = "shared"
repetitions = 3
[scenario]
name = "constant"
rate = "5.2Mbit/s"
[link]
channel_delay = "25ms"
[stack.example]
client = ["{python}", "own-stack/client.py"]
server = ["{python}", "own-stack/server.py"]
parameters = { block_bytes = 16384 }
[matrix]
protocols = ["example", "tcp-cubic", "quic-quinn-cubic"]
loss = ["0%", "1%"]
[workload]
app = "bulk"
size = "2MB"
"""
"""18 runs; the stack `example` has programs that lie beside this file."""


def written(folder: Path) -> Path:
    """The experiment with its programs, in a new folder."""
    folder.mkdir()
    shutil.copytree(EXPERIMENTS / "own-stack", folder / "own-stack")
    (folder / "shared.toml").write_text(TEXT)
    return folder / "shared.toml"


def hashes(results: Path) -> dict[str, str]:
    """Hash of every file of the runs and tables, by its place."""
    found = [path for part in ("runs", "tables") for path in (results / part).rglob("*") if path.is_file()]
    return {
        str(path.relative_to(results)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(found)
    }


def says(log: Path, words: str) -> bool:
    """Whether a command has said something."""
    return words in log.read_text()


def finished(results: Path) -> int:
    """How many runs have come to their end."""
    return len(list(results.glob("runs/[!.]*/key.json")))


def test_two_machines_one_of_them_lost_give_the_bytes_of_one(tmp_path: Path) -> None:
    """The client's folder is hidden from the workers: programs come with the plans."""
    file = written(tmp_path / "client")
    alone, shared = tmp_path / "client" / "alone", tmp_path / "client" / "shared"
    logs = {name: tmp_path / f"{name}.log" for name in ("scheduler", "first", "second", "client")}
    address = f"tcp://{CLIENT}:8786"
    with Machines() as machines, all_cores():
        answer = gauntlet("run", file, "--out", alone, "--quiet")
        assert answer.code == 0, answer.err
        machines.start(machines.client, scheduler(CLIENT, 8786), logs["scheduler"].open("wb"))
        workers = {
            name: machines.start(
                machines.add(),
                command("worker", address, "--workers", "1"),
                logs[name].open("wb"),
                hidden=tmp_path / "client",
            )
            for name in ("first", "second")
        }
        for name in workers:
            wait_for(f"the worker {name}", partial(says, logs[name], "Ready"), logs)
        play = machines.start(
            machines.client,
            command("run", file, "--out", shared, "--quiet", "--scheduler", address),
            logs["client"].open("wb"),
        )
        # A guest that stands still cannot come to its end before its worker is lost.
        frozen: list[int] = []
        wait_for("a guest of the first", lambda: freeze(workers["first"].pid, frozen), logs)
        wait_for("a quarter of the campaign", lambda: finished(shared) >= 5, logs)
        workers["first"].kill()
        wait_for("the end of its guest", lambda: not any(map(alive, frozen)), logs)
        wait_for("the end of the campaign", lambda: play.poll() is not None, logs)
        said = logs["client"].read_text()
        assert play.returncode == 0, said
        assert said.count("The worker tcp://10.77.0.2:") == 1, said
        assert "went away" in said
    assert len(hashes(alone)) > 18 * 5
    assert hashes(shared) == hashes(alone)
    one, other = (json.loads((results / "manifest.json").read_text()) for results in (alone, shared))
    assert {name for name in one if one[name] != other[name]} == {"command", "sessions"}
    assert other["sessions"][0]["workers"] == 2


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture
def started(tmp_path: Path) -> Iterator["Started"]:
    """Starts commands on this machine and ends them with the test."""
    them = Started(tmp_path)
    yield them
    for process in them.processes:
        process.terminate()
    for process in them.processes:
        process.wait()


class Started:
    """Commands under way, each with the file that has what it said."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.logs: dict[str, Path] = {}

    def __call__(self, name: str, words: list[str], **environment: str) -> subprocess.Popen[bytes]:
        """Start one, as a terminal does: in a process group of its own."""
        self.logs[name] = self._folder / f"{name}.log"
        with self.logs[name].open("wb") as log:
            process = subprocess.Popen(
                words,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                process_group=0,
            )
        self.processes.append(process)
        return process

    def wait(self, name: str, words: str) -> None:
        """Wait until a command has said something."""
        wait_for(f"'{words}' of {name}", partial(says, self.logs[name], words), self.logs)


def test_a_campaign_that_is_stopped_stops_its_workers_and_continues(
    tmp_path: Path, started: Started, free_port: int
) -> None:
    file = written(tmp_path / "client")
    long = tmp_path / "client" / "long.toml"
    long.write_text(TEXT.replace('"2MB"', '"200MB"').replace("repetitions = 3", "repetitions = 1"))
    address = f"tcp://127.0.0.1:{free_port}"
    started("scheduler", scheduler("127.0.0.1", free_port))
    started("worker", command("worker", address, "--workers", "1"))
    started.wait("worker", "Ready")
    out = tmp_path / "long"
    stopped = started("stopped", command("run", long, "--out", out, "--quiet", "--scheduler", address))
    wait_for("a guest", lambda: bool(guests(started.processes[1].pid)), started.logs)
    stopped.send_signal(signal.SIGINT)
    assert stopped.wait(timeout=120) == 130
    assert "the same command continues" in started.logs["stopped"].read_text()
    wait_for("the end of the guest", lambda: not guests(started.processes[1].pid), started.logs)
    results = tmp_path / "results"
    whole = ("run", file, "--out", results, "--quiet", "--scheduler", address)
    again = started("again", command(*whole))
    wait_for("the first runs", lambda: finished(results) >= 2, started.logs)
    again.send_signal(signal.SIGINT)
    assert again.wait(timeout=120) == 130
    there = finished(results)
    answer = gauntlet(*whole[:-3], "--json", *whole[-2:])
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert (told["present_before"], told["finished"], told["notes"]) == (there, 18 - there, [])


def test_a_run_whose_process_is_killed_is_played_again(
    tmp_path: Path, started: Started, free_port: int
) -> None:
    """By a worker that has begun anew; the scheduler's end then ends the worker and the next campaign."""
    file = written(tmp_path / "client")
    text = TEXT.replace('"2MB"', '"50MB"').replace("repetitions = 3", "repetitions = 1")
    file.write_text(text.replace('["example", "tcp-cubic", "quic-quinn-cubic"]', '["tcp-cubic"]'))
    address = f"tcp://127.0.0.1:{free_port}"
    of_scheduler = started("scheduler", scheduler("127.0.0.1", free_port))
    worker = started("worker", command("worker", address, "--workers", "1"))
    started.wait("worker", "Ready")
    out = tmp_path / "results"
    play = started("play", command("run", file, "--out", out, "--quiet", "--scheduler", address))
    wait_for("a guest", lambda: kill_player(worker.pid), started.logs)
    assert play.wait(timeout=300) == 0, started.logs["play"].read_text()
    assert finished(out) == 2
    assert "The worker process died (ended by SIGKILL)" in started.logs["worker"].read_text()
    again = started("again", command("run", file, "--out", tmp_path / "b", "--scheduler", address))
    wait_for("a guest", lambda: bool(guests(worker.pid)), started.logs)
    of_scheduler.kill()
    assert again.wait(timeout=300) == 1
    said = started.logs["again"].read_text()
    assert f"The scheduler at {address} is gone." in said
    assert "Traceback" not in said
    assert worker.wait(timeout=300) == 0


def test_a_worker_that_is_stopped_gives_its_run_to_another(
    tmp_path: Path, started: Started, free_port: int
) -> None:
    """By Ctrl-C, which reaches all of its processes."""
    file = written(tmp_path / "client")
    address = f"tcp://127.0.0.1:{free_port}"
    started("scheduler", scheduler("127.0.0.1", free_port))
    worker = started("worker", command("worker", address, "--workers", "1"))
    started.wait("worker", "Ready")
    out = tmp_path / "results"
    play = started("play", command("run", file, "--out", out, "--quiet", "--scheduler", address))
    frozen: list[int] = []
    wait_for("a guest", lambda: freeze(worker.pid, frozen), started.logs)
    os.killpg(worker.pid, signal.SIGINT)
    assert worker.wait(timeout=120) == 0
    assert started.logs["worker"].read_text().splitlines()[1:] == ["Stopped."]
    wait_for("the end of its guest", lambda: not any(map(alive, frozen)), started.logs)
    started("other", command("worker", address, "--workers", "1"))
    assert play.wait(timeout=300) == 0, started.logs["play"].read_text()
    assert finished(out) == 18
    assert "went away" in started.logs["play"].read_text()


def status(pid: int) -> tuple[str, int] | None:
    """State of a process, as proc_pid_stat(5) has it, and the process above; None of one that is gone."""
    try:
        _, _, behind = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:
        return None
    state, parent = behind.split()[:2]
    return None if state in "ZX" else (state, int(parent))


def alive(pid: int) -> bool:
    """Whether a process has not ended."""
    return status(pid) is not None


def is_guest(pid: int) -> bool:
    """Whether a process is part of a guest."""
    try:
        return b"umid=guest" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def below(worker: int) -> dict[int, int]:
    """Processes that descend from a worker, each with the one above."""
    found = {int(folder.name): status(int(folder.name)) for folder in Path("/proc").glob("[0-9]*")}
    parents = {pid: known[1] for pid, known in found.items() if known is not None}

    def descends(pid: int) -> bool:
        while pid in parents and pid != worker:
            pid = parents[pid]
        return pid == worker

    return {pid: parent for pid, parent in parents.items() if pid != worker and descends(pid)}


def guests(worker: int) -> list[int]:
    """Process ids of guests that descend from a worker."""
    return [pid for pid in below(worker) if is_guest(pid)]


def freeze(worker: int, frozen: list[int]) -> bool:
    """Have the guest of a worker stand still, if it has one, and keep the ids of its processes."""
    for pid in guests(worker):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            frozen.append(pid)
    frozen[:] = filter(alive, frozen)
    return bool(frozen)


def kill_player(worker: int) -> bool:
    """Kill the process that plays for a worker: the nearest one above its guest, if it has one."""
    parents = below(worker)
    for guest in filter(is_guest, parents):
        player = parents[guest]
        while is_guest(player):
            player = parents[player]
        if player in parents:
            os.kill(player, signal.SIGKILL)
            return True
    return False


def test_a_worker_with_another_engine_plays_nothing_and_says_so(
    tmp_path: Path, started: Started, free_port: int
) -> None:
    other = tmp_path / "gauntlet-player"
    shutil.copyfile(player_binary(), other)
    other.chmod(0o755)
    with other.open("ab") as program:
        program.write(b"\0")
    file = written(tmp_path / "client")
    address = f"tcp://127.0.0.1:{free_port}"
    started("scheduler", scheduler("127.0.0.1", free_port))
    started("other", command("worker", address, "--workers", "1"), GAUNTLET_PLAYER=str(other))
    started.wait("other", "Ready")
    out = tmp_path / "results"
    refused = gauntlet("run", file, "--out", out, "--quiet", "--scheduler", address)
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert "No worker" in refused.err
    assert "has another guest program (" in refused.err
    assert finished(out) == 0
    started.wait("other", "This worker has another guest program (")
    # One that fits plays everything; the first is named. It is a plain Dask worker, as a queue starts them.
    plain = [sys.executable, "-m", "dask", "worker", address, "--nthreads", "1", "--no-dashboard"]
    started("fits", [*plain, "--preload", "gauntlet.worker"], DASK_DISTRIBUTED__WORKER__DAEMON="False")
    started.wait("fits", "Registered to")
    played = gauntlet("run", file, "--out", out, "--quiet", "--scheduler", address)
    assert played.code == 0, played.err
    assert finished(out) == 18
    assert "it was given no runs" in played.err


def test_tls_is_spoken_by_all_three_and_demanded(tmp_path: Path, started: Started, free_port: int) -> None:
    from distributed.security import Security

    made = Security.temporary()
    ca, own, key = tmp_path / "ca.pem", tmp_path / "own.pem", tmp_path / "own.key"
    for place, text in ((ca, made.tls_ca_file), (own, made.tls_client_cert), (key, made.tls_client_key)):
        place.write_text(text)
    tls = ("--tls-ca", ca, "--tls-cert", own, "--tls-key", key)
    file = written(tmp_path / "client")
    address = f"tls://127.0.0.1:{free_port}"
    names = ("--tls-ca-file", ca, "--tls-cert", own, "--tls-key", key)
    started("scheduler", scheduler("127.0.0.1", free_port, "--protocol", "tls", *names))
    started("worker", command("worker", address, "--workers", "1", *tls))
    started.wait("worker", "Ready")
    played = gauntlet("run", file, "--out", tmp_path / "out", "--quiet", "--scheduler", address, *tls)
    assert played.code == 0, played.err
    assert finished(tmp_path / "out") == 18
    plain = address.replace("tls:", "tcp:")
    refused = gauntlet("run", file, "--out", tmp_path / "plain", "--quiet", "--scheduler", plain)
    assert refused.code == 1
    assert f"No scheduler answers at {plain}" in refused.err
