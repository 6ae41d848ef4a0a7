"""The plan's contract, on the Python side: plans that both sides accept, and bad ones that both refuse.

The files in plans/ are read by the guest's tests too.
"""

import json
import re
from pathlib import Path

import pytest

from gauntlet.engine import guest
from gauntlet.errors import UserError
from gauntlet.experiment import check_plan, expand, load_experiment, plan_run, read_plan

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
GOOD = sorted((HERE / "plans").glob("*.json"))
BAD = {
    "unknown-key-in-run": ["runs[0]", "'sysctl'", "'sysctls'"],
    "unknown-key-in-timeline": ["runs[0].timeline[3]", "'los'", "'loss'"],
    "unknown-key-in-flow": ["runs[0].flows[0]", "'size'"],
    "unknown-key-in-network": ["runs[0].network", "'presets'", "'preset'"],
    "unknown-key-in-record": ["runs[0].record", "'pcap'"],
    "wrong-format": ["format", "'plan'", "'gauntlet-plan'"],
    "wrong-version": ["version", "2", "1"],
    "run-twice": ["runs", "twice"],
    "id-with-slash": ["runs[0].id", "'a/b'"],
    "seed-too-large": ["runs[0].seed"],
    "memory-too-small": ["runs[0].memory_mib", "63", "64"],
    "no-limit": ["runs[0]", "'limit_s'", "missing"],
    "negative-rate": ["runs[0].timeline[0].rate_bps", "-1"],
    "negative-delay": ["runs[0].timeline[3].delay_s", "-0.001"],
    "loss-above-one": ["runs[0].timeline[3].loss", "1.5"],
    "rate-and-delay-on-one-link": ["runs[0].timeline[0]", "'rasa>ra'", "next hop"],
    "queue-with-a-key-of-another": ["runs[0].timeline[0].queue", "'ecn'"],
    "timeline-out-of-order": ["runs[0].timeline", "sort"],
    "timeline-changes-nothing": ["runs[0].timeline[9]", "changes nothing"],
    "route-changes-out-of-order": ["runs[0].route_changes", "sort by at_s"],
    "route-change-of-no-node": ["runs[0]", "'z'", "no node"],
    "route-change-by-no-neighbour": ["runs[0]", "'n'", "10.4.0.2", "no link"],
    "route-change-without-via": ["runs[0].route_changes[0]", "'via'", "missing"],
    "route-change-to-nothing": ["runs[0]", "everywhere", "no prefix"],
    "route-change-twice": ["runs[0].route_changes", "'n'", "twice"],
    "route-change-with-unknown-key": ["runs[0].route_changes[0]", "'tunnel'"],
    "link-without-direction": ["runs[0].timeline[0].link", "'rasa-ra'"],
    "preset-and-nodes": ["runs[0].network", "preset"],
    "rule-with-unknown-condition": ["runs[0].in_path[0].rules[0]", "'late'", "'protocoll'", "'protocol'"],
    "rule-with-unknown-action": ["runs[0].in_path[0].rules[0]", "'late'", "no action that is known", "drop"],
    "rule-with-unknown-parameter": ["runs[0].in_path[0].rules[0]", "'delay'", "'delay_s'"],
    "in-path-between-three": ["runs[0].in_path[0].between"],
    "processor-for-nothing": ["runs[0].processor", "'server'", "for nothing"],
    "processor-too-slow": ["runs[0].processor.handshake_ns", "60000000001"],
    "processor-with-unknown-cost": ["runs[0].processor", "'handshake_ms'", "'handshake_ns'"],
    "flow-twice": ["runs[0]", "flow 'f0' stands twice"],
    "id-begins-with-dot": ["runs[0].id", "'.hidden'"],
    "program-without-argv": ["runs[0].programs[0].argv"],
    "interval-too-short": ["runs[0].record.socket_interval_s", "0.0001"],
    "packets-unknown": ["runs[0].record.packets", "'some'", "'headers'"],
    "limit-as-text": ["runs[0].limit_s", "'200'", "number"],
}


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_good_plans_are_accepted(path: Path) -> None:
    assert read_plan(path).runs


def test_the_documented_example_is_accepted() -> None:
    text = (ROOT / "docs/formats/plan.md").read_text(encoding="utf-8")
    example = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    assert example is not None
    assert check_plan(json.loads(example[1])).runs


@pytest.mark.parametrize("name", BAD)
def test_bad_plans_are_refused_in_one_sentence(name: str) -> None:
    path = HERE / "plans" / "bad" / f"{name}.json"
    with pytest.raises(UserError) as caught:
        read_plan(path)
    sentence = str(caught.value)
    assert sentence.startswith(f"{path}: ")
    assert "\n" not in sentence
    for word in BAD[name]:
        assert word in sentence.removeprefix(str(path))


def test_every_bad_plan_has_its_sentence() -> None:
    assert {path.stem for path in (HERE / "plans" / "bad").glob("*.json")} == set(BAD)


@pytest.mark.parametrize("path", sorted((ROOT / "experiments").glob("*.toml")), ids=lambda path: path.stem)
def test_plans_of_the_example_experiments_keep_the_contract(path: Path) -> None:
    runs = expand(load_experiment(path, repetitions=1))
    written = json.loads(json.dumps(guest.plan([plan_run(run) for run in runs])))
    assert [run.id for run in check_plan(written).runs] == [run.id for run in runs]


def test_more_flows_than_ports_are_refused() -> None:
    plan = json.loads(GOOD[0].read_text(encoding="utf-8"))
    flow = plan["runs"][0]["flows"][0]
    plan["runs"][0]["flows"] = [{**flow, "id": f"f{index}"} for index in range(25_537)]
    with pytest.raises(UserError, match=r"25537 flows; a run has at most 20000"):
        check_plan(plan)


def test_a_plan_that_is_not_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{")
    with pytest.raises(UserError, match=r"plan\.json: the plan cannot be read"):
        read_plan(tmp_path / "plan.json")
