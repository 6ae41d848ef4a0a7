"""The schema for editors says yes to every experiment there is, and no to what `gauntlet run` refuses."""

import tomllib
from typing import Any

import jsonschema
import pytest

from gauntlet.errors import UserError
from gauntlet.experiment import PROTOCOLS, parse_experiment
from gauntlet.experiment.json_schema import experiment_schema
from gauntlet.experiment.schema import FLOW_KEYS, LINK_KEYS, OF_REPORTS, ExperimentFile
from tests.documentation.snippets import ROOT, blocks

SCHEMA = experiment_schema()
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)


def whole(text: str) -> bool:
    """Whether a TOML file is an experiment, of a line or of a network of one's own."""
    sections = set(tomllib.loads(text))
    return "experiment" in sections and bool(sections & {"scenario", "network"})


COMMITTED = sorted(
    path
    for folder in ("experiments", "src", "studies", "tests")
    for path in (ROOT / folder).rglob("*.toml")
    if whole(path.read_text(encoding="utf-8"))
)
SHOWN = [block for block in blocks("toml") if not block.mark and whole(block.text)]

GOOD = """
[experiment]
name = "own"
[scenario]
name = "constant"
rate = "5.2Mbit/s"
[link]
loss = "1%"
[matrix]
protocols = ["tcp-cubic", "tcp-bbr+sctp"]
[workload]
app = "cbr"
rate = "max"
duration = "1min"
[record]
sockets = false
"""

SENT, LINK = 'app = "cbr"\nrate = "max"\nduration = "1min"\n', 'name = "constant"\nrate = "5.2Mbit/s"\n'

BAD = {
    "a section that there is not": ("[record]", "[recording]"),
    "a key that there is not": ('loss = "1%"', 'lost = "1%"'),
    "a key of another application": ('rate = "max"', 'rate = "max"\nhttp = "2"'),
    "a number without a unit": ('duration = "1min"', "duration = 60"),
    "text without a unit": ('duration = "1min"', 'duration = "60"'),
    "a unit of another quantity": ('duration = "1min"', 'duration = "1MB"'),
    "a unit in small letters": ('rate = "5.2Mbit/s"\n[link]', '[link]\nqueue = "5mb"'),
    "a share above all": ('loss = "1%"', "loss = 1.5"),
    "a choice that there is not": ('loss = "1%"', 'loss_direction = "sideways"'),
    "an application that there is not": ('app = "cbr"', 'app = "gaming"'),
    "a protocol that there is not": ('"tcp-cubic"', '"tcp-qubic"'),
    "one protocol of two that there is not": ('"tcp-bbr+sctp"', '"tcp-bbr+scpt"'),
    "an axis that there is not": ("protocols =", "colour = [1]\nprotocols ="),
    "an axis that is no list": ("protocols =", 'loss = "1%"\nprotocols ='),
    "a value of an axis without a unit": ("protocols =", "channel_delay = [25]\nprotocols ="),
    "a value that stands twice": ("protocols =", 'jitter = ["1ms", "1ms"]\nprotocols ='),
    "no application": ('app = "cbr"\n', ""),
    "no scenario": ('name = "constant"\n', ""),
    "no name": ('name = "own"\n', ""),
    "a name with a space": ('name = "own"', 'name = "my own"'),
    "nothing sent": ('[workload]\napp = "cbr"\nrate = "max"\nduration = "1min"\n', ""),
    "both ways to say what is sent": ("[record]", '[[flow]]\napp = "bulk"\nsize = "1MB"\n[record]'),
    "repetitions as text": ('name = "own"', 'name = "own"\nrepetitions = "3"'),
    "no sockets at all": ("sockets = false", "sockets = true"),
    "a kernel setting of another kind": ("[record]", '[sysctl]\n"net.ipv4.tcp_sack" = true\n[record]'),
    "a processor without a unit": ("[record]", "[server]\nprocessor = { handshake = 18.4 }\n[record]"),
    "a processor with another cost": ("[record]", '[server]\nprocessor = { page = "1ms" }\n[record]'),
    "a bound without a unit": (SENT, f'{SENT}judge = {{ kpi = "delay_s", at_most = true }}\n'),
    "a judge without a KPI": (SENT, f'{SENT}judge = {{ at_most = "1s" }}\n'),
    "a quantile above all": (SENT, f'{SENT}judge = {{ kpi = "delay_s", quantile = 99, at_most = "1s" }}\n'),
    "a background of another kind": (SENT, f'{SENT}background = "yes"\n'),
    "an axis of what is asked": ("protocols =", "background = [true, false]\nprotocols ="),
    "a network beside a scenario": ("[record]", '[network]\nfile = "ring.toml"\n[record]'),
    "a stack without a server": ("[record]", '[stack.mine]\nclient = ["x"]\n[record]'),
}

GOOD_TOO = {
    "an application from the matrix": (SENT, 'size = "1MB"\n', 'app = ["bulk"]'),
    "a scenario from the matrix": (LINK, "", 'scenario = ["hsr", "metro-a"]'),
    "a parameter of the scenario": ("", "", 'scenario.rate = ["1Mbit/s"]'),
    "an axis behind its section's name": ("", "", '"workload.start" = ["1s", "1min 5s"]'),
    "a kernel setting": ("", "", '"sysctl.net.core.rmem_max" = [4000000, "5000000"]'),
    "a spread delay": ('loss = "1%"', "", 'channel_delay = ["25ms±5ms", "0"]'),
    "a server with a processor": ("[record]", '[server]\nprocessor = { handshake = "18.4ms" }\n[record]', ""),
    "processors from the matrix": ("", "", '"server.processor" = ["none", { packet = "20us" }]'),
    "what is asked of a flow": (
        SENT,
        f'{SENT}judge = {{ kpi = "delay_s", quantile = 0.99, at_most = "1s" }}\n',
        "",
    ),
    "a number without a unit that is asked": (
        SENT,
        f'{SENT}judge = {{ kpi = "voip_mos", at_least = 3.6 }}\n',
        "",
    ),
    "what matters": ('name = "own"', 'name = "own"\nmatters = "2 %"\nanswer_by = "delay_p99_s"', ""),
    "a network of one's own": (
        f'[scenario]\n{LINK}[link]\nloss = "1%"',
        '[[network.link]]\nbetween = ["a", "b"]\nrate = "1Mbit/s"\n'
        'down = [["2s", "3s"]]\nback = { loss = "1%" }',
        'network.a-b.queue = ["64kB", "1MB"]',
    ),
    "paths through a map": (
        f'[scenario]\n{LINK}[link]\nloss = "1%"',
        '[network]\nmap = "os3e"\nfrom = "Seattle"\nto = "Atlanta"\napart = "20km"',
        '"network.rate" = ["1Mbit/s"]',
    ),
    "losses in bursts": ('loss = "1%"', "", 'burst_loss = [{p = "1%", r = 0.2}]'),
}
"""What stands in the place of what in GOOD, and an axis more."""


def faults(text: str) -> list[str]:
    """What the schema says against an experiment."""
    return [error.message for error in VALIDATOR.iter_errors(tomllib.loads(text))]


def test_the_schema_is_one() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert len(COMMITTED) > 70
    assert len(SHOWN) >= 3


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: str(path.relative_to(ROOT)))
def test_committed_experiments_are_valid(path: Any) -> None:
    assert faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("block", SHOWN, ids=lambda block: block.name)
def test_experiments_of_documents_are_valid(block: Any) -> None:
    assert faults(block.text) == []


@pytest.mark.parametrize("what", GOOD_TOO)
def test_what_is_read_is_valid(what: str, tmp_path: Any) -> None:
    old, new, axis = GOOD_TOO[what]
    text = GOOD.replace(old, new).replace("[matrix]", f"[matrix]\n{axis}")
    parse_experiment(text, what, tmp_path)
    assert faults(text) == []


@pytest.mark.parametrize("what", BAD)
def test_what_is_refused_is_not_valid(what: str, tmp_path: Any) -> None:
    assert faults(GOOD) == []
    text = GOOD.replace(*BAD[what])
    assert text != GOOD
    with pytest.raises(UserError):
        parse_experiment(text, what, tmp_path)
    assert faults(text) != []


def test_every_key_is_in_it_with_what_it_means() -> None:
    properties = SCHEMA["properties"]
    assert set(properties) == {field.alias or name for name, field in ExperimentFile.model_fields.items()}
    assert set(properties["link"]["properties"]) == set(LINK_KEYS)
    assert set(properties["workload"]["properties"]) == {*FLOW_KEYS, *OF_REPORTS, "from", "to"}
    assert {*LINK_KEYS, *FLOW_KEYS} - {"protocol"} < set(properties["matrix"]["properties"])
    assert properties["link"]["properties"]["jitter"]["description"].startswith("Half the width")
    assert properties["workload"]["properties"]["size"]["description"] == "A size with its unit."
    assert set(PROTOCOLS) == set(properties["workload"]["properties"]["protocol"]["anyOf"][0]["enum"])
