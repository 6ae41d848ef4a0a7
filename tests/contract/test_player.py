"""What Python knows of the player is what the player says of itself."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import player_binary
from gauntlet.experiment import PROTOCOLS, player
from gauntlet.experiment.external import STACK
from gauntlet.experiment.protocols import OPTIONS
from gauntlet.experiment.workloads import APPS

KEPT = Path(player.__file__).parent / player.FILE
COMMAND = f"gauntlet-player --describe > src/gauntlet/experiment/{player.FILE}"
OPTIONAL = "quic-quiche"


@pytest.fixture(scope="module")
def said() -> Any:
    """What the program says."""
    done = subprocess.run([player_binary(), "--describe"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def shipped(description: Any) -> Any:
    """The same of the player as it is shipped: without what is built in on request."""
    transports = [it for it in description["transports"] if it["name"] != OPTIONAL]
    versions = {
        name: it for name, it in description["versions"].items() if name not in ("boring-sys", "quiche")
    }
    return {**description, "transports": transports, "versions": versions, "refusals": None}


def test_the_kept_description_is_that_of_the_program(said: Any) -> None:
    assert shipped(said) == shipped(json.loads(KEPT.read_text())), f"type `{COMMAND}` and commit it"


def test_every_protocol_is_a_stack_with_parameters_that_it_takes(said: Any) -> None:
    known = {it["name"]: set(it["parameters"]) for it in said["transports"]}
    for protocol in PROTOCOLS.values():
        if protocol.stack == STACK:
            continue
        if protocol.stack not in known:
            assert "GAUNTLET_FEATURES" in said["refusals"][protocol.stack]
            continue
        wanted = {*protocol.stack_params, *(OPTIONS[option] for option in protocol.options)}
        assert wanted <= known[protocol.stack], protocol.key


def test_every_stack_has_a_protocol(said: Any) -> None:
    stacks = {protocol.stack for protocol in PROTOCOLS.values()}
    assert {it["name"] for it in said["transports"]} <= stacks


def test_every_application_is_known_on_both_sides(said: Any) -> None:
    assert set(said["applications"]) == {
        name for name, app in APPS.items() if app.external is None and app.stacks != {STACK}
    }


def test_a_program_that_is_asked_for_nothing_says_what_it_is_for() -> None:
    done = subprocess.run([player_binary()], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "--describe" in done.stderr
