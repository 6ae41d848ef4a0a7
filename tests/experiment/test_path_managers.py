"""`active_paths` and `further_subflows`: what MPTCP's path manager is told, and by whom else it was told."""

from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import guest
from gauntlet.errors import UserError
from gauntlet.experiment import expand, parse_experiment
from gauntlet.experiment.plan_schema import check_plan
from gauntlet.experiment.plans import plan_run

EXPERIMENT = """
[experiment]
name = "bearers"
repetitions = 1
[network]
paths = [["train", "lte", "ground"], ["train", "leo", "ground"]]
link = [
  { between = ["train", "lte"], rate = "2Mbit/s", delay = "25ms" },
  { between = ["lte", "ground"] },
  { between = ["train", "leo"], rate = "2Mbit/s", delay = "40ms" },
  { between = ["leo", "ground"] },
  { between = ["ground", "centre"], rate = "10Mbit/s" },
]
"""
MATRIX = '[matrix]\nprotocols = ["{protocol}"]\n{axis}\n[workload]\napp = "bulk"\nsize = "1MB"\n{keys}'


def planned(rest: str) -> list[dict[str, Any]]:
    runs = [plan_run(spec) for spec in expand(parse_experiment(EXPERIMENT + rest, "bearers.toml", Path()))]
    check_plan(guest.plan(runs))
    return runs


def one(protocol: str = "mptcp-cubic", keys: str = "", axis: str = "") -> list[dict[str, Any]]:
    """The flows of an experiment with one flow a run."""
    return [run["flows"][0] for run in planned(MATRIX.format(protocol=protocol, keys=keys, axis=axis))]


def two(first: str, second: str, end: str = "ground") -> list[dict[str, Any]]:
    """Two flows of MPTCP from the train, the second one to this node."""
    flow = '[[flow]]\nprotocol = "mptcp-cubic"\napp = "bulk"\nsize = "1MB"\nfrom = "train"\nto = "{}"\n{}\n'
    return planned(flow.format("ground", first) + flow.format(end, second))


def test_who_asks_for_nothing_has_the_plan_of_before() -> None:
    (flow,) = one()
    assert flow["stack_params"] == {"congestion_control": "cubic"}


def test_what_is_asked_stands_in_the_plan() -> None:
    (flow,) = one(keys="active_paths = 1\nfurther_subflows = 0")
    assert flow["stack"] == "mptcp"
    assert flow["stack_params"] == {
        "congestion_control": "cubic", "active_paths": 1, "further_subflows": 0
    }  # fmt: skip


def test_a_protocol_has_all_paths_but_the_first_as_backups() -> None:
    (flow,) = one("mptcp-backup", "further_subflows = 1")
    assert flow["stack_params"] == {
        "congestion_control": "cubic", "active_paths": 1, "further_subflows": 1
    }  # fmt: skip
    with pytest.raises(UserError, match="'active_paths' means nothing to mptcp-backup"):
        one("mptcp-backup", "active_paths = 2")


@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        ("paths_at_once = 2", {"paths_at_once": 2}),
        ("ack_every = 8\npacing = false", {"ack_every": 8, "pacing": False}),
    ],
)
def test_what_restp_is_asked_for_is_in_its_plan(keys: str, asked: dict[str, Any]) -> None:
    (plain,), (flow,) = one("restp-multipath"), one("restp-multipath", keys)
    assert flow["stack_params"] == {**plain["stack_params"], **asked}


def test_they_are_axes() -> None:
    flows = one(axis="active_paths = [1, 2]\nfurther_subflows = [0, 1]")
    asked = [(it["stack_params"]["active_paths"], it["stack_params"]["further_subflows"]) for it in flows]
    assert asked == [(1, 0), (1, 1), (2, 0), (2, 1)]


@pytest.mark.parametrize(
    ("protocol", "keys", "words"),
    [
        ("mptcp-cubic", "active_paths = 0", ["[workload] active_paths", "0"]),
        ("mptcp-cubic", "active_paths = 10", ["[workload] active_paths", "10"]),
        ("mptcp-cubic", "further_subflows = 9", ["[workload] further_subflows", "9"]),
        ("mptcp-cubic", "further_subflows = -1", ["[workload] further_subflows", "-1"]),
        ("mptcp-cubic", "active_paths = true", ["[workload] active_paths", "whole number"]),
        ("tcp-cubic", "active_paths = 1", ["'active_paths' means nothing to tcp-cubic"]),
        ("restp-multipath", "paths_at_once = 1", ["[workload] paths_at_once", "1"]),
        ("restp-multipath", "ack_every = 0", ["[workload] ack_every", "0"]),
        ("tcp-cubic", "ack_every = 4", ["'ack_every' means nothing to tcp-cubic"]),
        ("restp-file", "paths_at_once = 2", ["'paths_at_once' means nothing to restp-file"]),
        ("restp-multipath", "further_subflows = 1", ["'further_subflows' means nothing to restp-multipath"]),
    ],
)
def test_what_cannot_be_is_one_sentence(protocol: str, keys: str, words: list[str]) -> None:
    with pytest.raises(UserError) as error:
        one(protocol, keys)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("key", ["active_paths", "further_subflows"])
def test_flows_that_meet_in_a_node_ask_for_the_same(key: str) -> None:
    """Also where they have one end in common and not the other."""
    same = f"{key} = 1"
    for first, second, end in [(same, "", "ground"), ("", same, "ground"), (same, f"{key} = 2", "centre")]:
        with pytest.raises(UserError, match=f"meet in 'train' and ask for different '{key}'"):
            two(first, second, end)
    assert len(two(same, same)[0]["flows"]) == 2


def test_flows_of_other_nodes_have_settings_of_their_own() -> None:
    flow = '[[flow]]\nprotocol = "{}"\napp = "bulk"\nsize = "1MB"\nfrom = "{}"\nto = "{}"\n'
    (run,) = planned(
        flow.format("mptcp-backup", "train", "ground")
        + flow.format("mptcp-cubic", "lte", "centre")
        + flow.format("tcp-cubic", "train", "centre")
    )
    assert [it["stack_params"].get("active_paths") for it in run["flows"]] == [1, None, None]


def test_the_scheduler_is_a_setting_of_the_kernel() -> None:
    text = '[sysctl]\n"net.mptcp.scheduler" = "default"\n' + MATRIX.format(
        protocol="mptcp-cubic", keys="", axis='"sysctl.net.mptcp.stale_loss_cnt" = [1, 4]'
    )
    settings = [run["sysctls"] for run in planned(text)]
    assert [it["net.mptcp.scheduler"] for it in settings] == ["default", "default"]
    assert [it["net.mptcp.stale_loss_cnt"] for it in settings] == ["1", "4"]
