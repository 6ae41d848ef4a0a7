"""Stacks of one's own in a report: their labels, their failures, and what they are judged by."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from gauntlet import report
from gauntlet.figures.style import styles
from gauntlet.report import terminal

from .flows import Constructed, Did, Flow, build

OWN, LABEL = "mine-2", "My stack, 2.0"
OTHER_KEY, OTHER = "mine-1", "My stack, 1.0"


def printed(results: Path) -> str:
    console = Console(width=200, record=True)
    console.print(terminal.summary(results))
    return console.export_text()


def constructed(tmp_path: Path, made: Constructed) -> Path:
    return build(tmp_path / "results", tmp_path / "scratch", made)


def test_reports_call_a_stack_by_its_label(tmp_path: Path) -> None:
    """Two of them and one of ours: in the table, in sentences, in the advice and in the page."""
    until_s = {OWN: 10.0, OTHER_KEY: 12.0, "tcp-bbr": 14.0}
    made = Constructed(
        (OWN, OTHER_KEY, "tcp-bbr"),
        lambda protocol, _place, repetition, _loss: Did(until_s[protocol] + repetition / 10),
        labels={OWN: LABEL, OTHER_KEY: OTHER, "tcp-bbr": "TCP BBR"},
    )
    results = constructed(tmp_path, made)
    told = report.summary(results)
    winner = next(it["text"] for it in told["answer"] if it["question"] == "Which protocol?")
    assert winner.startswith(f"{LABEL} is best")
    assert OTHER in winner
    advised = json.dumps(told["advice"])
    assert LABEL in advised or not told["advice"]["classes"]
    page = report.build(results).read_text()
    shown = printed(results)
    for text in (page, shown):
        assert LABEL in text
        assert OTHER in text
        assert "TCP BBR" in text
    assert OWN not in shown
    # Cells keep the key, which is what scripts ask for.
    assert {cell["protocol"] for cell in told["cells"]} == {OWN, OTHER_KEY, "tcp-bbr"}


def test_both_stacks_of_a_run_have_their_labels(tmp_path: Path) -> None:
    made = Constructed(
        (f"{OWN}+tcp-bbr",),
        lambda *_: Did(10.0),
        flows=(Flow(name="one"), Flow(name="other")),
        labels={f"{OWN}+tcp-bbr": f"{LABEL} + TCP BBR"},
    )
    assert report.load(constructed(tmp_path, made)).labels == {OWN: LABEL, "tcp-bbr": "TCP BBR"}


def test_labels_are_of_one_experiment_alone(tmp_path: Path) -> None:
    made = Constructed((OWN,), lambda *_: Did(10.0), repetitions=1, labels={OWN: LABEL})
    results = constructed(tmp_path, made)
    report.build(results)
    assert styles([OWN])[0].label == OWN


def test_why_flows_failed_stands_in_the_terminal_and_in_the_data(tmp_path: Path) -> None:
    reason = "the client failed: no route (exit code 3)"
    made = Constructed((OWN,), lambda *_: Did(None, reason=reason), repetitions=3, labels={OWN: LABEL})
    results = constructed(tmp_path, made)
    told = report.summary(results)["trust"]["flows_failed"]
    assert [it["reason"] for it in told] == [f"{LABEL}: {reason}"] * 3
    assert f"3 x {LABEL}: {reason}" in printed(results)
    assert report.nothing_came(results) == f"No run gave a number: {reason}."


def test_several_reasons_are_told_by_the_most_frequent(tmp_path: Path) -> None:
    made = Constructed(
        (OWN,),
        lambda _protocol, _place, repetition, _loss: Did(None, reason="often" if repetition > 1 else "once"),
        repetitions=3,
    )
    told = report.nothing_came(constructed(tmp_path, made))
    assert told == "No run gave a number: often (2 of 3 flows)."


@pytest.mark.parametrize("did", [Did(10.0), Did(3.0, whole=False)], ids=["done", "begun"])
def test_one_flow_that_brought_something_is_a_number(tmp_path: Path, did: Did) -> None:
    made = Constructed(
        (OWN,),
        lambda _protocol, _place, repetition, _loss: did if repetition == 2 else Did(None),
        repetitions=2,
    )
    assert report.nothing_came(constructed(tmp_path, made)) == ""


def test_messages_without_a_time_are_not_judged_by_the_line(tmp_path: Path) -> None:
    """Periodic messages of which no exchange is told have throughput, and no delay to be judged by."""
    made = Constructed(
        (OWN, "tcp-bbr"), lambda *_: Did(10.0), flows=(Flow(app="periodic", interval_s=1.0),), repetitions=2
    )
    evaluation = report.load(constructed(tmp_path, made))
    assert "throughput_bps" in {kpi.name for kpi in evaluation.kpis}
    assert evaluation.main_kpi is None
