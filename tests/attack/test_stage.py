"""Processes of a run: what they say is heard, and whoever started them ends them, with their children."""

import os
import sys
import time
from pathlib import Path

import pytest

from gauntlet.attack import counters
from gauntlet.attack.stage import Stage

SAYS = """
import json, sys
print("for people")
print("[1, 2]")
print(json.dumps({"two": 1, "keys": 2}))
print(json.dumps({"ready": {"port": 4}}), flush=True)
sys.stdout.write('{"request": {"n"'); sys.stdout.flush()
import time; time.sleep(0.1)
print(": 1}}", flush=True)
time.sleep(60)
"""
# The handler writes past `print`: the signal may come while the line before is still being printed.
LAST_WORDS = """
import os, signal, sys, time
def end(*_):
    os.write(1, b'{"done": {"cpu_ns": 5}}\\n')
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print('{"ready": {}}', flush=True)
time.sleep(60)
"""
CHILD = """
import json, subprocess, time
child = subprocess.Popen(["sleep", "60"])
print(json.dumps({"ready": {"pid": child.pid}}), flush=True)
time.sleep(60)
"""
CORES = """
import json, os
print(json.dumps({"ready": {"cores": sorted(os.sched_getaffinity(0))}}), flush=True)
"""
DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('{"ready": {}}', flush=True)
time.sleep(60)
"""


def python(text: str) -> list[str]:
    """A command that runs Python."""
    return [sys.executable, "-c", text]


def gone(pid: int) -> bool:
    """Whether a process is no more (or only waits to be forgotten)."""
    try:
        return "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True


def test_lines_with_one_key_are_heard_and_all_else_is_for_people(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        actor = stage.start("server", python(SAYS))
        assert stage.listen(lambda: actor.last("request") is not None, 10)
        assert [it.kind for it in actor.said] == ["ready", "request"]
        assert actor.last("ready") == {"port": 4}
        assert actor.all("request") == [{"n": 1}]
        assert actor.last("done") is None
        assert not stage.listen(lambda: False, 0.05)


def test_last_words_are_heard(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        actor = stage.start("server", python(LAST_WORDS))
        stage.listen(lambda: actor.last("ready") is not None, 10)
        stage.end(actor)
        assert actor.last("done") == {"cpu_ns": 5}
        assert not actor.died, "it was asked to end"


def test_leaving_the_stage_ends_processes_and_what_they_started(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        actor = stage.start("server", python(CHILD))
        assert stage.listen(lambda: actor.last("ready") is not None, 10)
        child = int((actor.last("ready") or {})["pid"])
        assert counters.session(actor.process.pid) == sorted([actor.process.pid, child])
    assert gone(actor.process.pid)
    assert gone(child)


def test_a_process_that_ends_by_itself_with_an_error_has_died_and_says_why(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        actor = stage.start("server", python("import sys; sys.exit('no such certificate.')"))
        assert stage.listen(lambda: not actor.running, 10)
        assert actor.died
        assert actor.complaint() == "no such certificate"
        silent = stage.start("other", python("import sys; sys.exit(3)"))
        stage.listen(lambda: not silent.running, 10)
        assert silent.complaint() == "it ended with code 3 and no word"


def test_a_process_stays_on_its_cores(tmp_path: Path) -> None:
    (core,) = sorted(os.sched_getaffinity(0))[-1:]
    with Stage(tmp_path) as stage:
        actor = stage.start("attacker", python(CORES), cores={core})
        stage.listen(lambda: actor.last("ready") is not None, 10)
        assert (actor.last("ready") or {})["cores"] == [core]


def test_one_that_does_not_want_to_end_is_ended(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        actor = stage.start("server", python(DEAF))
        stage.listen(lambda: actor.last("ready") is not None, 10)
        stage.end(actor, within_s=0.2)
        assert actor.process.returncode == -9


@pytest.mark.parametrize("computes", [True, False])
def test_computing_time_of_a_session_is_counted(tmp_path: Path, computes: bool) -> None:
    text = "while True: pass" if computes else "import time; time.sleep(60)"
    with Stage(tmp_path) as stage:
        actor = stage.start("server", python(f"print('{{\"ready\": {{}}}}', flush=True)\n{text}"))
        stage.listen(lambda: actor.last("ready") is not None, 10)
        pids = counters.session(actor.process.pid)
        before_s = counters.cpu_s(pids)
        time.sleep(0.3)
        spent_s = counters.cpu_s(pids) - before_s
        assert spent_s > 0.02 if computes else spent_s < 0.02
        assert counters.memory(pids).resident >= counters.memory(pids).proportional > 1_000_000
