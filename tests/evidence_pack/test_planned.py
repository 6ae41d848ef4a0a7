"""Runs, labels, plans and keys are held against what the experiment file of the pack gives.

Each pack here is built anew from results that somebody changed, so that all in it fits together.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gauntlet.evidence_pack import build, verify
from gauntlet.evidence_pack.verify import Verified
from gauntlet.results.files import json_bytes
from gauntlet.results.manifest import Manifest
from tests.evidence_pack import forged

LATE = "tcp-cubic_freshness-off_threat-late_rep-001"


def _rewrite(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_bytes(json_bytes(value))


def _say(results: Path, **about: Any) -> None:
    Manifest.read(results).model_copy(update=about).write(results)


def _experiment(results: Path, text: str) -> None:
    (results / "experiment.toml").write_text(text)
    _say(results, experiment_sha256=hashlib.sha256(text.encode()).hexdigest())


def _dropped(results: Path) -> str:
    for run in (results / "runs").glob("*threat-late*"):
        for file in run.iterdir():
            file.unlink()
        run.rmdir()
    _say(results, runs_planned=8)
    return f"The experiment 'small' has 12 runs by its file, and the pack lacks 4, first {LATE}."


def _another_threat(results: Path) -> str:
    text = (results / "experiment.toml").read_text()
    _experiment(results, text.replace('by = "2s"', 'by = "9s"'))
    return "plan.json of 4 runs of 'small' is not what the experiment file gives"


def _less_said_to_be_tried(results: Path) -> str:
    text = (results / "experiment.toml").read_text()
    _experiment(results, text.replace('threat = ["none", "late", "changed"]', 'threat = ["none", "late"]'))
    return (
        "The experiment 'small' has by its file no run tcp-cubic_freshness-off_threat-changed_rep-001, nor 3"
    )


def _label(results: Path) -> str:
    _rewrite(results / "runs" / LATE / "spec.json", lambda it: it["labels"].update(protocol="QUIC"))
    return f"spec.json of 1 run of 'small' is not what the experiment file gives, first of {LATE}: labels."


def _bound(results: Path) -> str:
    path = results / "runs" / LATE / "plan.json"
    _rewrite(path, lambda it: it["flows"][0]["app_params"].update(bound_s=60.0))
    return f"plan.json of 1 run of 'small' is not what the experiment file gives, first of {LATE}: flows."


def _kernel(results: Path) -> str:
    _say(results, engine={**Manifest.read(results).engine, "kernel_sha256": "0" * 64})
    return "key.json of 12 runs of 'small' is not what the experiment file gives"


def _title(results: Path) -> str:
    _say(results, title="Approved")
    return "The results of 'small' say title 'Approved', and the experiment file gives 'Threats to a few"


def _options(results: Path) -> str:
    _say(results, options={"repetitions": 2, "laboratory": "independent"})
    return "The results of 'small' say options {'laboratory': 'independent', 'repetitions': 2}"


@pytest.mark.parametrize(
    "change",
    [_dropped, _another_threat, _less_said_to_be_tried, _label, _bound, _kernel, _title, _options],
)
def test_what_the_experiment_file_does_not_give_is_found(
    tmp_path: Path, change: Callable[[Path], str]
) -> None:
    results = forged.results(tmp_path)
    sentence = change(results)
    assert any(sentence in it for it in _verified(results, tmp_path).differences)


def _verified(results: Path, folder: Path) -> Verified:
    return verify(build([results], folder / "it.zip").pack)


def test_fewer_repetitions_that_were_asked_for_are_no_fault(tmp_path: Path) -> None:
    results = forged.results(tmp_path)
    for run in (results / "runs").glob("*rep-002"):
        for file in run.iterdir():
            file.unlink()
        run.rmdir()
    _say(results, options={"repetitions": 1}, runs_planned=6)
    assert _verified(results, tmp_path).holds


def test_what_a_quick_study_kept_is_said(tmp_path: Path) -> None:
    results = forged.results(tmp_path)
    for run in (results / "runs").glob("udp*"):
        for file in run.iterdir():
            file.unlink()
        run.rmdir()
    _say(results, options={"repetitions": 2, "kept": {"protocol": ["tcp-cubic"]}}, runs_planned=6)
    found = _verified(results, tmp_path)
    assert found.holds
    assert found.notes == [
        "Of the experiment 'small' only the runs with protocol tcp-cubic were to be played."
    ]
    _say(results, options={"repetitions": 2, "kept": {"weather": [1]}})
    (said,) = _verified(results, tmp_path).unverified
    assert "the experiment has no factor 'weather'" in said


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('scenario = { name = "own.csv" }', "own.csv"),
        ('scenario = { name = "hsr-of-another-version" }', "hsr-of-another-version"),
    ],
)
def test_an_experiment_that_the_pack_alone_does_not_tell_holds_in_part(
    tmp_path: Path, line: str, why: str
) -> None:
    results = forged.results(tmp_path)
    _ride(results, line)
    found = _verified(results, tmp_path)
    assert (found.outcome, found.differences) == ("holds in part", [])
    (said,) = found.unverified
    assert said.startswith("The experiment 'small' cannot be expanded from the pack alone (") and why in said
    assert str(tmp_path) not in said and "/tmp" not in said


def test_a_scenario_file_that_lies_here_by_chance_is_not_of_the_pack(tmp_path: Path) -> None:
    results = forged.results(tmp_path)
    columns = "t_s,rate_up_bps,rate_down_bps,delay_up_s,delay_down_s,loss_up,loss_down,queue_limit_bytes"
    (tmp_path / "own.csv").write_text(f"{columns}\n0,2e6,2e6,0.02,0.02,0,0,64000\n")
    _ride(results, f'scenario = {{ name = "{tmp_path}/own.csv" }}')
    found = _verified(results, tmp_path)
    assert found.outcome == "holds in part"
    assert "its scenario is a file of its own" in found.unverified[0]


def _ride(results: Path, line: str) -> None:
    """Give the experiment another scenario."""
    text = (results / "experiment.toml").read_text()
    was = 'scenario = { name = "constant", rate = "2Mbit/s", delay = "20ms" }'
    assert was in text
    _experiment(results, text.replace(was, line))
