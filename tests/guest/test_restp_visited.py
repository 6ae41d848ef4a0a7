"""A sender of ResTP that holds the receiver's cookie saves a round trip, whatever opening packets vanish."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gauntlet.certificate.certify import certify
from tests.guest.conftest import Play, run_plan, tcp_flow

RTT_S = 0.05
"""Of the network of `run_plan`."""


def _plan(id: str, drops: list[dict[str, Any]], **params: Any) -> dict[str, Any]:
    flow = tcp_flow(
        stack="restp",
        stack_params={"profile": "web_opt", **params},
        app="web",
        app_params={"page": "fixed"},
    )
    return run_plan(id=id, flows=[flow], drops=drops)


def _loaded_s(record: Mapping[str, Any]) -> float:
    """When the request for the second object arrived; the first was at the browser by then."""
    (flow,) = record["flows"]
    assert flow["outcome"] == "ok", flow
    return float(flow["last_received_s"])


def test_a_visitor_saves_a_round_trip_and_loses_nothing_with_its_opening_packets(play: Play) -> None:
    syn = {"flow": "f0", "packet": "syn", "nth": 1, "link": "mid>east"}
    answer = {"flow": "f0", "packet": "syn-ack", "nth": 1, "link": "mid>west"}
    runs = [
        _plan("stranger", []),
        _plan("visitor", [], visited=True),
        _plan("syn", [syn], visited=True),
        _plan("syn-ack", [answer], visited=True),
        _plan("both", [syn, answer], visited=True),
    ]
    records = play(*runs)
    visitor_s = _loaded_s(records["visitor"])
    assert _loaded_s(records["stranger"]) - visitor_s == pytest.approx(RTT_S, rel=0.1)
    for run in runs[2:]:
        record = records[run["id"]]
        assert [drop["dropped_packets"] for drop in record["drops"]] == [1] * len(run["drops"])
        assert _loaded_s(record) - visitor_s < 0.1 * RTT_S


def test_a_syn_that_carries_data_can_vanish_too(play: Play, tmp_path: Path) -> None:
    """As TCP Fast Open's: the request goes with it, and comes a timeout of about 1 s later."""
    first = {"visited": True, "syn_first": False}
    syn = {"flow": "f0", "packet": "syn", "nth": 1, "link": "mid>east"}
    usual, lost = _plan("usual", [], **first), _plan("lost", [syn], **first)
    records = play(usual, lost)
    assert [drop["dropped_packets"] for drop in records["lost"]["drops"]] == [1]
    assert _loaded_s(records["lost"]) - _loaded_s(records["usual"]) == pytest.approx(1.0, abs=0.2)
    (check,) = [it for it in certify(lost, tmp_path / "out" / "lost")["checks"] if it["name"] == "script"]
    assert check["passed"] and check["measured"] == {"vanished_packets": 1}
