"""How a run ends: what is still queued arrives before, and all that counts packets stops at one instant."""

from collections.abc import Mapping
from typing import Any

from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import load_experiment
from gauntlet.experiment.plans import plan_run
from tests.guest.conftest import ROOT, Play, run_plan, tcp_flow


def _captured(record: Mapping[str, Any]) -> dict[str, int]:
    return {tap["link"]: tap["captured_packets"] for tap in record["taps"]}


def test_the_last_packets_of_a_run_arrive_before_it_ends(play: Play) -> None:
    """A sender of TCP is over when the receiver has closed; its last acknowledgement is then on the line."""
    record = play(run_plan(flows=[tcp_flow(200_000)]))["run"]
    assert record["flows"][0]["outcome"] == "ok"
    assert {
        link["link"]: link["backlog_packets"] for link in record["links"] if link["backlog_packets"]
    } == {}
    captured = _captured(record)
    forward = record["paths"][0]["forward"]
    assert len(forward) > 1
    assert len({captured[link] for link in forward}) == 1


def test_counters_and_capture_end_at_one_instant(play: Play) -> None:
    """Once a delayed acknowledgement left between the two: it fell due while the run was being ended."""
    study = ROOT / "studies" / "en50159" / "experiments" / "threats.toml"
    specs = {spec.id: spec for spec in expand(load_experiment(study, seed=281080))}
    run = plan_run(specs["tcp-cubic_freshness-off_threat-delay_rep-031"])
    record = play(run)[run["id"]]
    captured = _captured(record)
    sent = {link["link"]: link["sent_packets"] for link in record["links"] if link["link"] in captured}
    assert len(sent) > 1
    assert sent == {link: captured[link] for link in sent}
