"""[[in_path]]: from the user's words to a plan's rules, and every mistake a sentence."""

from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import guest
from gauntlet.errors import UserError
from gauntlet.experiment import player
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import parse_experiment
from gauntlet.experiment.plan_schema import check_plan
from gauntlet.experiment.plans import plan_run
from gauntlet.experiment.runspec import RunSpec

EXPERIMENT = """
[experiment]
name = "in-path"
repetitions = 1
[scenario]
name = "{scenario}"
[matrix]
protocols = ["{protocol}"]
[[in_path]]
name = "mallory"
place = "{place}"
{rule}
[workload]
app = "cbr"
rate = "64kbit/s"
duration = "10s"
"""


def _specs(
    rule: str = "", *, protocol: str = "udp", scenario: str = "constant", place: str = "trackside"
) -> list[RunSpec]:
    text = EXPERIMENT.format(scenario=scenario, protocol=protocol, rule=rule, place=place)
    return expand(parse_experiment(text, "in-path.toml", Path()))


def _node(rule: str = "", **about: str) -> dict[str, Any]:
    runs = [plan_run(spec) for spec in _specs(rule, **about)]
    check_plan(guest.plan(runs))
    (node,) = runs[0]["in_path"]
    return dict(node)


def _rule(match: str, do: str, name: str = "r") -> str:
    return f'[[in_path.rule]]\nname = "{name}"\nmatch = {match}\ndo = {do}\n'


DROP = '{ action = "drop" }'


@pytest.mark.parametrize(
    ("scenario", "place", "between"),
    [
        ("constant", "trackside", ["east", "server"]),
        ("constant", "train", ["client", "west"]),
        ("hsr", "trackside", ["rbsb", "sb"]),
        ("hsr", "train", ["sa", "rasa"]),
    ],
)
def test_a_node_stands_beside_the_hosts_that_are_named(scenario: str, place: str, between: list[str]) -> None:
    assert _node(scenario=scenario, place=place) == {"node": "mallory", "between": between, "rules": []}


def test_it_stands_where_the_timeline_changes_nothing() -> None:
    for scenario in ("constant", "hsr"):
        for place in ("train", "trackside"):
            (run,) = (plan_run(spec) for spec in _specs(scenario=scenario, place=place))
            a, b = run["in_path"][0]["between"]
            assert not {f"{a}>{b}", f"{b}>{a}"} & {change["link"] for change in run["timeline"]}


@pytest.mark.parametrize(
    ("match", "planned"),
    [
        ('{ direction = "up" }', {"towards": "server"}),
        ('{ direction = "down" }', {"towards": "east"}),
        ("{ message = 3 }", {"message": {"flow": "f0", "number": 3}}),
        ("{ message = { number = [3, 5], repetitions = false } }",
         {"message": {"flow": "f0", "number": [3, 5], "repetitions": False}}),
        ('{ from = "2s", until = "500ms" }', {"from_s": 2.0, "until_s": 0.5}),
        ('{ length = ["40B", "1kB"] }', {"length_bytes": [40, 1000]}),
        ('{ probability = "5%" }', {"probability": 0.05}),
        ('{ protocol = "udp", nth = [1, 4], port = 5000 }', {"protocol": "udp", "nth": [1, 4], "port": 5000}),
    ],
)  # fmt: skip
def test_conditions_become_those_of_a_plan(match: str, planned: dict[str, Any]) -> None:
    assert _node(_rule(match, DROP))["rules"] == [{"id": "r", "match": planned, "do": {"action": "drop"}}]


@pytest.mark.parametrize(
    ("do", "planned"),
    [
        ('{ action = "delay", delay = "4s", jitter = "10ms" }', {"delay_s": 4.0, "jitter_s": 0.01}),
        ('{ action = "duplicate", copies = 3, interval = "1s" }', {"copies": 3, "interval_s": 1.0}),
        ('{ action = "insert", packet = { captured = "x" }, direction = "down", after = "1ms" }',
         {"packet": {"captured": "x"}, "towards": "east", "after_s": 0.001}),
        ('{ action = "rewrite", set = { ttl = 3 } }', {"set": {"ttl": 3}}),
    ],
)  # fmt: skip
def test_actions_become_those_of_a_plan(do: str, planned: dict[str, Any]) -> None:
    kept = _rule("{}", '{ action = "capture", as = "x" }', "kept")
    deed = _node(kept + _rule("{}", do))["rules"][1]["do"]
    assert {key: value for key, value in deed.items() if key != "action"} == planned


def test_every_condition_and_action_of_the_player_can_be_written() -> None:
    rules = player.DESCRIPTION["rules"]
    for action, parameters in rules["do"].items():
        assert f"'{action}'" in str(_refusal(_rule("{}", f'{{ action = "{action}", nonsense = 1 }}')))
        assert all(key.removesuffix("_s") for key in parameters)
    known = str(_refusal(_rule("{ zzzzzz = 1 }", DROP)))
    for key in rules["match"]:
        word = {"towards": "direction"}.get(key, key.removesuffix("_s").removesuffix("_bytes"))
        assert word in known


def test_the_opening_of_sessions_can_be_named() -> None:
    rule = _node(_rule('{ opening = "syn" }', DROP), protocol="tcp-cubic")["rules"][0]
    assert rule["match"] == {"opening": {"flow": "f0", "packet": "syn"}}


def test_nodes_change_no_seed_and_survive_json() -> None:
    (with_node,) = _specs(_rule("{ nth = 1 }", DROP))
    plain = EXPERIMENT.format(scenario="constant", protocol="udp", rule="", place="train")
    text = plain.replace('[[in_path]]\nname = "mallory"\nplace = "train"\n', "")
    (without,) = expand(parse_experiment(text, "plain.toml", Path()))
    assert with_node.seed == without.seed
    assert "in_path" not in without.to_json()
    assert "in_path" not in plan_run(without)
    assert RunSpec.from_json(with_node.to_json()) == with_node


def _refusal(rule: str, **about: str) -> UserError:
    with pytest.raises(UserError) as caught:
        _specs(rule, **about)
    return caught.value


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (
            _rule("{ directoin = 'up' }", DROP),
            "rule 'r', match: unknown key 'directoin'; did you mean 'direction'",
        ),
        (
            _rule("{ direction = 'left' }", DROP),
            "match, direction: 'left' is not known; choose 'up' or 'down'",
        ),
        (_rule("{}", '{ action = "lose" }'), "rule 'r': the action 'lose' is not known; choose one of"),
        (_rule("{}", '{ action = "delay", delay = 4 }'), "action 'delay', delay: "),
        (_rule("{}", '{ action = "delay", delay_s = 4.0 }'), "unknown key 'delay_s'; did you mean 'delay'"),
        (_rule("{ message = { flow = 'x' } }", DROP), "no flow is called 'x'"),
        (_rule("{ nth = 1 }", DROP) * 2, "the rule 'r' stands twice"),
        (
            _rule('{ at = "3s", direction = "up" }', '{ action = "insert", packet = { hex = "45" } }'),
            "mallory, rule 'r', match: at stands alone, for the clock calls the rule and no packet; take "
            "direction away",
        ),
        (
            _rule('{ at = "3s" }', '{ action = "insert", packet = { captured = "nobody" } }'),
            "mallory, rule 'r': no rule of the node captures packets as 'nobody': there is no rule with "
            '\'capture\'; add one with do = { action = "capture", as = "nobody" }',
        ),
        (
            _rule("{}", '{ action = "hold", as = "q" }', "keep")
            + _rule("{}", '{ action = "release", from = "p" }'),
            "rule 'r': no rule of the node holds packets as 'p': the names are q; add",
        ),
        ('[[in_path.rule]]\nname = "r"', "[[in_path]] mallory, rule 'r': the key 'do' is missing"),
        ("[[in_path.rule]]\nmatch = {}", "[[in_path]] mallory, rule 1: the key "),
        ('[[in_path]]\nname = "other"\nplace = "trackside"', "another node stands there"),
        ('[[in_path]]\nname = "mallory"\nplace = "train"', "two nodes are called 'mallory'"),
    ],
)
def test_mistakes_get_a_sentence(rule: str, sentence: str) -> None:
    said = str(_refusal(rule))
    assert said.startswith("in-path.toml: [[in_path]]")
    assert sentence in said


@pytest.mark.parametrize("protocol", ["tls-cubic", "quic-quinn-cubic", "mptcp-cubic"])
def test_messages_that_nobody_on_the_way_can_tell_are_refused(protocol: str) -> None:
    assert f"over {protocol}; rasta, sctp, tcp, udp can be told" in str(
        _refusal(_rule("{ message = 1 }", DROP), protocol=protocol)
    )


def test_a_wrong_place_is_refused() -> None:
    with pytest.raises(UserError, match=r"\[\[in_path\]\] mallory, place: 'here' is not known; choose"):
        _specs(place="here")
