"""The contract of external stacks (docs/formats/external-stack.md): every end of a program is an outcome."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from gauntlet.engine import cores, guest
from tests.guest.conftest import Play, run_plan

READY = "echo GAUNTLET READY"
SLEEP = "exec sleep 1000"
GOOD_SERVER = f"{READY}; {SLEEP}"
LIMIT_S = 8.0


def flow(client: str, server: str = GOOD_SERVER, **changes: Any) -> dict[str, Any]:
    """An upload of a kilobyte between two shell scripts."""
    shell = ["/bin/sh", "-c"]
    base: dict[str, Any] = {
        "id": "f0",
        "stack": "external",
        "stack_params": {"name": "test", "client": [*shell, client], "server": [*shell, server]},
        "app": "bulk",
        "app_params": {"size_bytes": 1000},
        "from": "client",
        "to": "server",
        "start_s": 0.5,
    }
    return {**base, **changes}


def leave(**keys: Any) -> str:
    """A script that leaves a result with these keys; NOW in it becomes the present instant."""
    text = json.dumps({"format": "gauntlet-external-result", "version": 1, "clock": "realtime", **keys})
    return f'now=$(date +%s%N); echo \'{text}\' | sed "s/\\"NOW\\"/$now/g" > $GAUNTLET_RESULT'


@dataclass(frozen=True)
class Case:
    """Two programs, and what the record is to say of them."""

    client: str
    server: str
    outcome: str
    reason: str
    received_bytes: int = 0


def received(*steps: Any) -> str:
    """A server that has received bytes and stays."""
    return f"{READY}; {leave(received=list(steps))}; {SLEEP}"


ALL = received(["NOW", 1000])
HERE = {"object": "a", "size_bytes": 1000, "requested_ns": "NOW", "completed_ns": "NOW"}
GONE = {"object": "a", "size_bytes": 1000, "requested_ns": "NOW", "outcome": "gone"}
CASES = {
    "done": Case("true", ALL, "ok", "", 1000),
    "unsupported": Case(
        "echo no bulk >&2; exit 127", GOOD_SERVER, "unsupported", "the client does not do this: no bulk"
    ),
    "server-unsupported": Case(
        "true", "exit 127", "unsupported", "the server does not do this: it said nothing"
    ),
    "crash": Case(
        "echo first >&2; echo bad luck >&2; exit 3",
        GOOD_SERVER,
        "failed",
        "client failed: bad luck (exit code 3)",
    ),
    "signal": Case("kill -SEGV $$", GOOD_SERVER, "failed", "the client was ended by signal 11"),
    "hang": Case(SLEEP, GOOD_SERVER, "failed", "had not ended at the limit of 8 virtual s and was stopped"),
    "deaf": Case(
        "trap '' TERM; while :; do sleep 1; done", GOOD_SERVER, "failed", "had not ended at the limit of 8"
    ),
    "never-ready": Case(
        "true", SLEEP, "failed", 'the server never printed "GAUNTLET READY" before the limit'
    ),
    "gone-before-ready": Case("true", "true", "failed", "the server ended before it was ready"),
    "silent": Case("true", GOOD_SERVER, "failed", "the receiver had 0 of the 1000 bytes that were asked for"),
    "half": Case("true", received(["NOW", 400]), "failed", "the receiver had 400 of the 1000 bytes", 400),
    "no-json": Case(
        "echo { > $GAUNTLET_RESULT", ALL, "failed", "result file of the client is not right", 1000
    ),
    "unknown-key": Case(leave(speed=1), ALL, "failed", "unknown field `speed`", 1000),
    "wrong-clock": Case("true", received([1, 1000]), "failed", "the instant 1 is not within the run"),
    "falling": Case("true", received(["NOW", 1000], ["NOW", 5]), "failed", "neither may fall"),
    "failed-object": Case(leave(exchanges=[GONE]), ALL, "failed", 'object "a": gone', 1000),
    "one-object-of-two": Case(leave(exchanges=[GONE, HERE]), ALL, "ok", "", 1000),
}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, Any]]:
    """The records of all cases, played in one boot."""
    folder = tmp_path_factory.mktemp("cases")
    runs = [
        run_plan(id=name, limit_s=LIMIT_S, flows=[flow(case.client, case.server)])
        for name, case in CASES.items()
    ]
    machine = guest.Machine.installed()
    guest.boot(runs, folder / "out", seed=1, machine=machine, core=cores.usable_cores()[-1])
    return {name: json.loads((folder / "out" / name / "record.json").read_text()) for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_every_end_of_a_program_is_an_outcome_with_a_sentence(
    records: Mapping[str, Mapping[str, Any]], name: str
) -> None:
    case, record = CASES[name], records[name]
    assert record["outcome"] == "ok", record["reason"]
    (found,) = record["flows"]
    assert found["outcome"] == case.outcome, found["reason"]
    assert case.reason in (found["reason"] or "")
    assert found["received_bytes"] == case.received_bytes
    # The limit, then twice the time that a program has to end when it is asked to, and what settles.
    assert record["virtual_s"] < LIMIT_S + 6.0


def test_a_program_that_is_not_there_is_told(play: Play) -> None:
    wrong = flow("true")
    wrong["stack_params"]["client"] = ["/no/such"]
    (found,) = play(run_plan(flows=[wrong]))["run"]["flows"]
    assert found["outcome"] == "failed"
    assert 'the client "/no/such" was not found' in found["reason"]


def test_an_instant_is_put_on_the_clock_of_the_run(records: Mapping[str, Mapping[str, Any]]) -> None:
    (done,) = records["done"]["flows"]
    assert 0.0 < done["last_received_s"] < 0.5, "the server left its result before the client started"
    (programs,) = records["done"]["external"]
    assert programs["client"]["started_s"] == pytest.approx(0.5, abs=1e-3)
    assert programs["server"]["finished_s"] == pytest.approx(8.0, abs=2.1), "stopped at the limit"


def test_programs_are_told_what_to_do(play: Play) -> None:
    script = "env | sort | grep -E '^(GAUNTLET_|PATH|HOME)' >&2; exit 127"
    asked = flow(script, start_s=1.0)
    asked["stack_params"]["parameters"] = {"congestion_control": "bbr", "window": 12, "options": [1, "a"]}
    asked["app_params"] = {"size_bytes": 1000, "rate_bps": None}
    events: list[Mapping[str, Any]] = []
    play(run_plan(flows=[asked]), events=events)
    said = "".join(event["text"] for event in events if event["event"] == "output")
    told = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    for name, value in {
        "ROLE": "client", "APP": "bulk", "DIRECTION": "upload", "PORT": "5000", "SIZE_BYTES": "1000",
        "SERVER_ADDRESS": "10.0.2.1", "CLIENT_ADDRESS": "10.0.1.1", "SERVER_NAME": "server.gauntlet.test",
        "CONGESTION_CONTROL": "bbr", "WINDOW": "12", "OPTIONS": '[1,"a"]',
    }.items():  # fmt: skip
        assert told[f"GAUNTLET_{name}"] == value
    assert float(told["GAUNTLET_TIME_LEFT_S"]) == pytest.approx(119.0, abs=0.01)
    assert "GAUNTLET_RATE_BPS" not in told, "null is no value"
    assert "GAUNTLET_KEYLOG" not in told, "secrets are kept on request only"


def test_a_program_that_knows_nothing_of_gauntlet_is_wrapped(play: Play) -> None:
    server = (
        'cd "$GAUNTLET_SCRATCH"; head -c 30000 /dev/zero > page;'
        f' {sys.executable} -B -m http.server --bind "$GAUNTLET_SERVER_ADDRESS" "$GAUNTLET_PORT" &'
        f" sleep 0.1; {READY}; wait"
    )
    fetch = (
        "import os, urllib.request as r; e = os.environ;"
        "r.urlretrieve(f\"http://{e['GAUNTLET_SERVER_ADDRESS']}:{e['GAUNTLET_PORT']}/page\", 'page')"
    )
    exchange = {"object": "page", "size_bytes": 30000, "requested_ns": "BEGAN", "completed_ns": "NOW"}
    done = leave(exchanges=[exchange]).replace("sed ", 'sed -e "s/\\"BEGAN\\"/$began/g" -e ')
    client = f"""cd $GAUNTLET_SCRATCH; began=$(date +%s%N); {sys.executable} -B -c "$FETCH"; {done}"""
    asked = flow(client, server, app="files")
    asked["stack_params"] |= {"client_at": "to", "environment": {"FETCH": fetch}}
    asked |= {"from": "server", "to": "client", "app_params": {"size_bytes": 30000}}
    record = play(run_plan(flows=[asked]))["run"]
    (found,) = record["flows"]
    assert (found["outcome"], found["reason"]) == ("ok", None)
    assert found["received_bytes"] == 30000
    assert record["virtual_s"] < 40


def test_wrong_parameters_of_a_stack_are_refused_in_one_sentence(play: Play) -> None:
    for change, sentence in (
        ({"clients": []}, "unknown field `clients`"),
        ({"client": []}, "`client` of `stack_params` is empty"),
        ({"parameters": {"role": "x"}}, 'the parameter "role" has the name of a variable'),
        (
            {"parameters": {"size_bytes": 1}},
            'the parameter "size_bytes" is one of the application "bulk" too',
        ),
    ):
        wrong = flow("true")
        wrong["stack_params"] |= change
        record = play(run_plan(flows=[wrong]))["run"]
        assert record["outcome"] == "failed"
        assert sentence in record["reason"]
