"""Stacks of one's own in an experiment: what they carry, and the environment of their programs."""

import json
from pathlib import Path
from typing import Any

import pytest

from gauntlet.errors import UserError
from gauntlet.experiment import expand, parse_experiment, plan_run

FILE = """
[experiment]
name = "own"
repetitions = 1
[scenario]
name = "constant"
rate = "5.2Mbit/s"
[stack.mine]
label = "Mine, 2.0"
client = ["sh", "client.sh"]
server = ["sh", "server.sh"]
{stack}
[matrix]
protocols = ["{protocol}"]
[workload]
{workload}
"""
PAGE = 'app = "page"\npage = "kepler"\nhttp = "3"'


BULK = 'app = "bulk"\nsize = "1kB"'


def flow(stack: str = "", workload: str = BULK, protocol: str = "mine") -> dict[str, Any]:
    """The only flow of the plan."""
    text = FILE.format(stack=stack, workload=workload, protocol=protocol)
    (spec,) = expand(parse_experiment(text, "own.toml", Path()))
    (found,) = plan_run(spec)["flows"]
    assert spec.labels["protocol"] == "Mine, 2.0"
    return dict(found)


def test_the_processors_random_numbers_are_hidden_unless_it_is_asked_otherwise() -> None:
    """Bit 62 of the first vector is RDRAND: bit 30 of ECX, which is its upper half."""
    hidden = flow()["stack_params"]["environment"]
    assert hidden == {"OPENSSL_ia32cap": "~0x4000000000000000"}
    assert int(hidden["OPENSSL_ia32cap"].removeprefix("~"), 16) == 1 << (32 + 30)
    own = flow('environment = { OPENSSL_ia32cap = "0", PATH = "/usr/bin:/bin" }')
    assert own["stack_params"]["environment"] == {"OPENSSL_ia32cap": "0", "PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize("http", ["1.1-fresh", "1.1", "2", "3", "3-fresh"])
def test_pages_reach_programs_of_ones_own(http: str) -> None:
    found = flow(workload=PAGE.replace('"3"', f'"{http}"'))
    assert (found["stack"], found["app"]) == ("external", "page")
    assert (found["from"], found["to"]) == ("server", "client")
    assert found["stack_params"]["client_at"] == "to"
    told = found["app_params"]
    assert (told["http"], told["size_bytes"]) == (http, 1_000_000)
    assert json.loads(json.dumps(told["objects"]))[0] == {"object": "index.htm", "size_bytes": 17_000}


def test_pages_do_not_reach_programs_that_ship_and_lack_them() -> None:
    with pytest.raises(UserError, match="'page' cannot be carried by quic-aioquic-cubic"):
        flow(workload=PAGE, protocol="quic-aioquic-cubic")
