"""Single packets that vanish on the host ground: by an in-path node's rule, and by script in the kernel."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gauntlet.certificate.certify import certify
from tests.host.conftest import Play, datagrams, flow, run_plan

COUNTED = frozenset({"capture", "identity", "conservation", "counters", "seen", "rules", "conditions"})
"""Checks of what was counted. Those of instants fail on a machine that is busy with something else."""


def counted_checks(run: Mapping[str, Any], folder: Path) -> dict[str, bool]:
    """Whether each check of what was counted holds, by its name."""
    found: dict[str, bool] = {}
    for check in certify(run, folder)["checks"]:
        if check["name"] in COUNTED:
            found[check["name"]] = found.get(check["name"], True) and check["passed"]
    return found


def in_path(do: Mapping[str, Any], **match: Any) -> list[dict[str, Any]]:
    """A node before the server, with one rule."""
    rule = {"id": "r", "match": {"towards": "server", **match}, "do": dict(do)}
    return [{"node": "mallory", "between": ["east", "server"], "rules": [rule]}]


def test_an_in_path_node_drops_the_packet_that_its_rule_names(play: Play, tmp_path: Path) -> None:
    changes = {"flows": [datagrams()], "in_path": in_path({"action": "drop"}, protocol="udp", nth=3)}
    record = play(**changes)
    assert record["outcome"] == "ok", record["reason"]
    (node,) = record["in_path"]
    assert (node["dropped_packets"], node["refused_packets"], node["missed_packets"]) == (1, 0, 0)
    assert node["seen_packets"] == node["passed_packets"] + 1 == 300
    sent = record["flows"][0]
    assert (sent["sent_messages"], sent["received_messages"]) == (300, 299)
    checks = counted_checks(run_plan(**changes), tmp_path / "out" / "run")
    assert checks.keys() >= {"seen", "rules", "conditions"}
    assert all(checks.values()), checks


def test_an_in_path_node_makes_a_stream_send_again(play: Play) -> None:
    record = play(flows=[flow()], in_path=in_path({"action": "drop"}, protocol="tcp", nth=20))
    sent = record["flows"][0]
    assert (sent["outcome"], sent["received_bytes"]) == ("ok", 200_000), sent["reason"]
    assert record["in_path"][0]["dropped_packets"] == 1


def test_a_delay_and_an_in_path_node_share_a_line(play: Play) -> None:
    timeline = [*run_plan()["timeline"], {"at_s": 0.0, "link": "mallory>server", "delay_s": 0.005}]
    deed = {"action": "alter", "within": "payload", "bits": 1, "checksums": "leave"}
    record = play(flows=[datagrams()], timeline=timeline, in_path=in_path(deed, protocol="udp", nth=3))
    (node,) = record["in_path"]
    assert (node["seen_packets"], node["altered_packets"]) == (300, 1)
    # The receiver's kernel throws away what has a wrong checksum.
    assert record["flows"][0]["received_messages"] == 299
    sent = {entry["link"]: entry["sent_packets"] for entry in record["links"]}
    assert sent["mallory>server"] == 300


def test_a_packet_vanishes_by_script(play: Play, ability: Mapping[str, Any]) -> None:
    missing = {it["name"]: it["missing"] for it in ability["modules"]}["act_gact"]
    if missing is not None:
        pytest.skip(f"this host's kernel has no act_gact: {missing}")
    record = play(flows=[flow()], drops=[{"flow": "f0", "packet": "syn", "nth": 1, "link": "mid>east"}])
    (drop,) = record["drops"]
    assert drop["dropped_packets"] == 1
    assert record["flows"][0]["outcome"] == "ok", record["flows"][0]["reason"]
    # The first SYN is sent again after a second (RFC 6298).
    assert record["flows"][0]["established_s"] - record["flows"][0]["start_s"] > 1.0
