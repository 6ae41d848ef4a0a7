"""A stack of one's own from the command line: what it cannot do is told, what it does is judged by time."""

import json
from pathlib import Path

import pytest

from gauntlet.experiment.external import NO_RDRAND

from .conftest import gauntlet

FILE = """
[experiment]
name = "own"
repetitions = 2
[scenario]
name = "constant"
rate = "5.2Mbit/s"
[stack.mine]
label = "Mine, 2.0"
client = {client}
server = {server}
[matrix]
protocols = ["mine"]
[workload]
{workload}
"""
BULK = 'app = "bulk"\nsize = "10kB"'

# Both ends: each exchange is a session, in which the client says how much it sends and how much it wants.
PROGRAM = """
import json, os, socket, sys, time

def receive(peer, count):
    while count:
        count -= len(peer.recv(min(count, 65536)) or sys.exit("the session broke"))

def exchange(name, up, down):
    started = time.monotonic_ns()
    with socket.create_connection(address) as peer:
        peer.sendall(f"{name:20}{up:10}{down:10}".encode() + bytes(up))
        receive(peer, down)
    ended = time.monotonic_ns()
    told.append({"object": name, "size_bytes": up or down, "requested_ns": started, "completed_ns": ended})

def client():
    size = int(variables.get("GAUNTLET_MESSAGE_SIZE_BYTES", 0))
    if variables["GAUNTLET_APP"] == "periodic":
        interval, lasts = (float(variables[f"GAUNTLET_{it}_S"]) for it in ("INTERVAL", "DURATION"))
        for number in range(round(lasts / interval)):
            exchange(f"message-{number}", size, 1)
            time.sleep(interval)
    else:
        for wanted in json.loads(variables["GAUNTLET_OBJECTS"]):
            exchange(wanted["object"], 0, wanted["size_bytes"])
    with socket.create_connection(address) as peer:
        peer.sendall(b" " * 40)

def server():
    with socket.create_server(address) as listening:
        print("GAUNTLET READY", flush=True)
        while True:
            peer, _ = listening.accept()
            asked = peer.recv(40, socket.MSG_WAITALL).decode()
            if not asked.strip():
                return
            name, up, down = asked[:20].strip(), int(asked[20:30]), int(asked[30:])
            receive(peer, up)
            completed = time.monotonic_ns()
            peer.sendall(bytes(down))
            peer.close()
            if up:
                told.append({"object": name, "size_bytes": up, "completed_ns": completed})

variables = os.environ
address = (variables["GAUNTLET_SERVER_ADDRESS"], int(variables["GAUNTLET_PORT"]))
told = []
(client if variables["GAUNTLET_ROLE"] == "client" else server)()
result = {"format": "gauntlet-external-result", "version": 1, "clock": "monotonic", "exchanges": told}
with open(variables["GAUNTLET_RESULT"], "w") as file:
    json.dump(result, file)
"""


def experiment(folder: Path, workload: str, client: list[str], server: list[str]) -> Path:
    path = folder / "own.toml"
    path.write_text(FILE.format(workload=workload, client=client, server=server))
    return path


@pytest.mark.parametrize(
    ("end", "tried"), [("exit 3", "client failed: no route"), ("exit 127", "does not do this: no route")]
)
def test_a_stack_that_cannot_is_refused_and_else_its_reason_stands_everywhere(
    tmp_path: Path, end: str, tried: str
) -> None:
    client = ["sh", "-c", f"echo no route >&2; {end}"]
    server = ["sh", "-c", "echo GAUNTLET READY; exec sleep 1000"]
    file = experiment(tmp_path, BULK, client, server)
    refused = gauntlet("run", file.name, cwd=tmp_path)
    assert (refused.code, refused.out) == (2, "")
    assert tried in refused.err
    assert not (tmp_path / "results").exists()

    played = gauntlet("run", file.name, "--no-rehearsal", "--out", "one", cwd=tmp_path)
    assert played.code == 1
    shown = " ".join(played.out.split())
    assert "2 x Mine, 2.0: " in shown
    assert "no route" in shown
    assert "No run gave a number: " in played.err
    assert "no route" in played.err.splitlines()[-1]
    data = gauntlet("run", file.name, "--no-rehearsal", "--out", "other", "--json", cwd=tmp_path)
    assert data.code == 1
    told = json.loads(data.out)["answer"]["trust"]["flows_failed"]
    assert len(told) == 2
    for flow in told:
        assert flow["reason"].startswith("Mine, 2.0: ")
        assert "no route" in flow["reason"]


@pytest.mark.parametrize(
    ("workload", "kpi"),
    [
        ('app = "files"\nsize = "10kB"', "download_time_s"),
        ('app = "page"\npage = "kepler"\nhttp = "1.1-fresh"', "download_time_s"),
        (
            'app = "periodic"\nsize = "1kB"\ninterval = "500ms"\ncount = 4\nconnection = "fresh"',
            "message_delay_with_setup_s",
        ),
    ],
    ids=["files", "page", "periodic"],
)
def test_files_pages_and_messages_are_judged_by_their_time(tmp_path: Path, workload: str, kpi: str) -> None:
    (tmp_path / "mine.py").write_text(PROGRAM)
    file = experiment(tmp_path, workload, *[["{python}", "-B", "mine.py"]] * 2)
    played = gauntlet("run", file.name, "--out", "results", "--json", cwd=tmp_path)
    assert played.code == 0, played.err
    told = json.loads(played.out)
    assert told["untrusted"] == []
    answer = told["answer"]
    assert answer["trust"]["flows_failed"] == []
    assert answer["main_kpi"] == kpi
    (cell,) = (it for it in answer["cells"] if it["kpi"] == kpi)
    assert cell["completed"] == 2
    sentences = " ".join(it["text"] for it in answer["answer"])
    assert "Mine, 2.0" in sentences
    assert "capacity" not in sentences


def test_programs_of_exec_do_not_ask_the_processor_for_random_numbers_either() -> None:
    (name,) = NO_RDRAND
    answer = gauntlet("exec", "--scenario", "constant", "--", "sh", "-c", f"echo ${name}")
    assert (answer.code, answer.out.strip()) == (0, NO_RDRAND[name])
