"""[server]: from the user's words to a plan's processor, and every mistake a sentence."""

from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import guest
from gauntlet.errors import UserError
from gauntlet.experiment import check_plan, expand, parse_experiment, plan_run
from gauntlet.experiment.runspec import RunSpec

EXPERIMENT = """
[experiment]
name = "server"
repetitions = 1
[scenario]
name = "{scenario}"
[server]
processor = {processor}
[matrix]
protocols = ["{protocol}"]
{axis}
[workload]
{workload}
"""
FRESH = 'app = "periodic"\nsize = "100B"\ninterval = "1s"\ncount = 3\nconnection = "fresh"\n'
PAGE = 'app = "page"\npage = "kepler"\nhttp = "2"\n'
CELERON = '{ handshake = "18.4ms", request = "250us", packet = "12us" }'


def _specs(
    processor: str = CELERON,
    *,
    protocol: str = "tls-cubic",
    scenario: str = "constant",
    workload: str = FRESH,
    axis: str = "",
) -> list[RunSpec]:
    text = EXPERIMENT.format(
        scenario=scenario, processor=processor, protocol=protocol, axis=axis, workload=workload
    )
    return expand(parse_experiment(text, "server.toml", Path()))


def _planned(processor: str = CELERON, **about: str) -> Any:
    (spec,) = _specs(processor, **about)
    run = plan_run(spec)
    check_plan(guest.plan([run]))
    assert RunSpec.from_json(spec.to_json()) == spec
    return run.get("processor")


@pytest.mark.parametrize(
    ("scenario", "protocol", "workload", "node"),
    [
        ("constant", "tls-cubic", FRESH, "server"),
        ("constant", "tcp-cubic", FRESH, "server"),
        ("constant", "quic-quinn-cubic", FRESH, "server"),
        ("constant", "quic-s2n-bbr", FRESH, "server"),
        # The browser is at the train, and the server listens where the page comes from.
        ("constant", "tls-cubic", PAGE, "server"),
        ("hsr", "tls-cubic", FRESH, "tsb1"),
        ("hsr", "tls-cubic", FRESH + 'tunnel = "c"\n', "tsc1"),
    ],
)
def test_the_processor_stands_where_sessions_are_waited_for(
    scenario: str, protocol: str, workload: str, node: str
) -> None:
    found = _planned(scenario=scenario, protocol=protocol, workload=workload)
    assert found == {
        "node": node,
        "handshake_ns": 18_400_000,
        "request_ns": 250_000,
        "packet_ns": 12_000,
    }


def test_what_is_not_named_costs_nothing() -> None:
    assert _planned('{ packet = "1.5us" }') == {
        "node": "server",
        "handshake_ns": 0,
        "request_ns": 0,
        "packet_ns": 1_500,
    }


def test_without_one_plans_and_runs_are_as_they_were() -> None:
    (spec,) = _specs('"none"')
    assert "processor" not in plan_run(spec)
    assert "processor" not in spec.to_json()


def test_an_axis_of_processors_changes_no_seed() -> None:
    axis = '"server.processor" = ["none", { handshake = "18.4ms" }, { handshake = "27ms" }]'
    specs = _specs(axis=axis)
    assert [plan_run(spec).get("processor", {}).get("handshake_ns") for spec in specs] == [
        None,
        18_400_000,
        27_000_000,
    ]
    assert len({spec.seed for spec in specs}) == len({spec.link_seed for spec in specs}) == 1
    assert [spec.labels["server.processor"] for spec in specs] == [
        "none",
        "handshake 18.4 ms",
        "handshake 27 ms",
    ]
    assert specs[1].id == "tls-cubic_processor-handshake-18.4ms_rep-001"


def test_sessions_that_are_alike_begin_at_drawn_places() -> None:
    (spec,) = _specs(workload=FRESH.replace("count = 3", "count = 1") + "sessions = 50\n")
    starts = [flow["start_s"] for flow in plan_run(spec)["flows"]]
    assert len(set(starts)) == 50
    assert all(1.0 <= start_s <= 2.0 for start_s in starts)
    assert min(starts) < 1.2 and max(starts) > 1.8


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"processor": '{ handshake = "0s" }'}, ["[server] processor", "for nothing"]),
        ({"processor": "{ handshake = 18.4 }"}, ["[server] processor, handshake", "unit"]),
        ({"processor": '{ handshakes = "1ms" }'}, ["[server] processor", "'handshakes'", "'handshake'"]),
        ({"protocol": "sctp"}, ["[server] processor", "sctp", "quic-quinn", "tls"]),
        ({"workload": FRESH + 'direction = "down"\n'}, ["[server] processor", "direction"]),
    ],
)
def test_mistakes_are_told_in_a_sentence(about: dict[str, str], words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        _specs(**about)
    sentence = str(caught.value)
    assert "\n" not in sentence
    for word in words:
        assert word in sentence


def test_two_servers_are_refused() -> None:
    flows = "".join(f'[[flow]]\n{FRESH}tunnel = "{tunnel}"\n' for tunnel in "bc")
    text = EXPERIMENT.format(
        scenario="hsr", processor=CELERON, protocol="tls-cubic", axis="", workload=""
    ).replace("[workload]\n", flows)
    with pytest.raises(UserError, match="2 servers, tsb1 and tsc1"):
        expand(parse_experiment(text, "server.toml", Path()))
