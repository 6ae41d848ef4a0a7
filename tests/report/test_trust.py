"""Runs that were not checked are a state of their own wherever trust is shown."""

import html
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from gauntlet import report
from gauntlet.certificate.answers import nothing_checked
from gauntlet.metrics.tables import finalize
from gauntlet.report import terminal
from gauntlet.report.trust import trust, worded
from tests.report import factory
from tests.report.factory import Campaign

SMALL = Campaign(
    duration_s=8, protocols=("tcp-cubic", "tcp-bbr"), delays_s=(0.025,), losses=(0.0,), repetitions=3
)
UNSEEN = "What was asked of ra>rabc (delay, loss) was not checked: the run has no tap on it."


def recertified(results: Path, name: str, certificate: dict[str, Any]) -> None:
    """Give one run another certificate and make the tables anew."""
    (results / "runs" / name / "certificate.json").write_text(json.dumps(certificate))
    finalize(results)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return factory.build(tmp_path / "r", tmp_path / "s", SMALL)


@pytest.fixture
def unchecked(results: Path) -> Path:
    """A campaign of which one run could have been checked and was not."""
    recertified(results, factory.places(SMALL)[0].run, nothing_checked(factory.places(SMALL)[0].run, UNSEEN))
    return results


def test_the_tables_keep_trusted_and_say_the_verdict(unchecked: Path) -> None:
    rows = {row["run"]: row for row in pq.read_table(unchecked / "tables" / "runs.parquet").to_pylist()}
    name = factory.places(SMALL)[0].run
    assert (rows[name]["trusted"], rows[name]["verdict"]) == (False, "not checked")
    assert {row["verdict"] for run, row in rows.items() if run != name} == {"confirmed"}
    checks = pq.read_table(unchecked / "tables" / "certificates.parquet").to_pylist()
    assert [(c["run"], c["passed"]) for c in checks if c["missing"]] == [(name, None)]


def test_a_run_that_was_not_checked_is_shown_as_such(unchecked: Path) -> None:
    name = factory.places(SMALL)[0].run
    found = trust(report.load(unchecked))
    assert (found.trusted, found.untrusted, found.unchecked) == (5, [], [(name, [UNSEEN])])
    assert "5 of 6 runs are trusted; 1 not checked." in found.in_words
    assert report.summary(unchecked)["trust"]["unchecked"] == [{"run": name, "reasons": [UNSEEN]}]
    page = html.unescape(report.build(unchecked).read_text())
    assert "5 of 6 runs trusted" in page
    assert '<th scope="row">Not checked</th><td class="num bad">1</td>' in page
    assert page.count(UNSEEN) == 1
    written = io.StringIO()
    Console(file=written, width=300).print(terminal.summary(unchecked))
    text = written.getvalue()
    assert "1 not checked" in text
    assert f"{name}: not checked. {UNSEEN}" in text


def test_a_certificate_of_version_1_still_counts_and_is_named(results: Path) -> None:
    name = factory.places(SMALL)[0].run
    old = factory.certificate(name, trusted=True)
    old = {key: value for key, value in old.items() if key not in ("verdict", "impairments")} | {"version": 1}
    recertified(results, name, old)
    found = trust(report.load(results))
    assert (found.trusted, found.planned) == (6, 6)
    assert any("Of 1 run the certificate is of version 1" in warning for warning in found.warnings)
    rows = {row["run"]: row for row in pq.read_table(results / "tables" / "runs.parquet").to_pylist()}
    assert (rows[name]["trusted"], rows[name]["verdict"]) == (True, None)


def test_a_certificate_of_version_1_that_failed_is_contradicted(results: Path) -> None:
    name = factory.places(SMALL)[0].run
    old = factory.certificate(name, trusted=False)
    del old["verdict"]
    recertified(results, name, old)
    rows = {row["run"]: row for row in pq.read_table(results / "tables" / "runs.parquet").to_pylist()}
    assert (rows[name]["trusted"], rows[name]["verdict"]) == (False, "contradicted")
    assert len(trust(report.load(results)).untrusted) == 1


def recertify(results: Path, run: str, *checks: dict[str, Any], undecided: tuple[str, ...] = ()) -> None:
    """A certificate that does not hold, with these checks and remarks."""
    certificate = factory.certificate(run, trusted=False)
    recertified(results, run, {**certificate, "checks": list(checks), "undecided": list(undecided)})


def test_why_a_run_is_not_trusted_is_the_sentences_of_what_failed_or_what_is_there(results: Path) -> None:
    failed, unclear, silent = (place.run for place in factory.places(SMALL)[:3])
    wrong = factory.certificate(failed, trusted=False)["checks"][0]
    recertify(results, failed, wrong, {**wrong, "name": "pace", "sentence": "It stalled."})
    recertify(results, unclear, undecided=("3 packets could not be followed.",))
    recertify(results, silent)
    assert dict(trust(report.load(results)).untrusted) == {
        failed: [wrong["sentence"], "It stalled."],
        unclear: ["3 packets could not be followed."],
        silent: ["It has no certificate that holds."],
    }


def test_what_was_not_decided_is_listed_once_whatever_its_numbers(results: Path) -> None:
    for place, count in zip(factory.places(SMALL)[:4], (3, 1204, 3, 3), strict=True):
        run = place.run
        said = [f"{count} packets could not be followed."] + ["Something else."] * (count > 3)
        recertified(results, run, {**factory.certificate(run, trusted=True), "undecided": said})
    assert trust(report.load(results)).undecided == [
        ("3 packets could not be followed. (Elsewhere the same with other numbers.)", 4),
        ("Something else.", 1),
    ]


def test_checks_are_counted_by_what_they_answered(results: Path) -> None:
    run = factory.places(SMALL)[0].run
    recertified(results, run, factory.certificate(run, trusted=False))
    assert trust(report.load(results)).checks == [("rate", 5, 1)]


def test_a_campaign_that_is_not_whole_says_what_is_missing(results: Path) -> None:
    manifest = results / "manifest.json"
    content = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**content, "runs_planned": 8}))
    found = trust(report.load(results))
    assert (found.planned, found.present, found.trusted) == (8, 6, 6)
    assert found.in_words == "6 of 8 runs are trusted; 2 not done yet. Only trusted runs count."
    assert any("2 runs of the experiment are not there yet" in warning for warning in found.warnings)
    page = html.unescape(report.build(results).read_text())
    assert 'badge good">6 of 6 runs trusted, 2 not done yet<' in page, "nothing is distrusted"


def test_a_campaign_that_was_stopped_says_which_repetitions_are_whole(results: Path) -> None:
    """Six runs are there, two a repetition; of four repetitions that were planned three are whole."""
    manifest = results / "manifest.json"
    content = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**content, "runs_planned": 8, "options": {"repetitions": 4}}))
    (told,) = [it for it in trust(report.load(results)).warnings if "not there yet" in it]
    assert told.endswith("continues with them. 3 of 4 repetitions are whole.")


@pytest.mark.parametrize(
    ("repetitions", "sentence"),
    [
        (1, "There is one repetition"),
        (5, "5 repetitions tell nothing from chance: that takes 6."),
        (6, None),
    ],
)
def test_too_few_repetitions_are_warned_of(tmp_path: Path, repetitions: int, sentence: str | None) -> None:
    few = replace(SMALL, protocols=("tcp-bbr",), repetitions=repetitions)
    warnings = trust(report.load(factory.build(tmp_path / "r", tmp_path / "s", few))).warnings
    said = [it for it in warnings if "repetition" in it]
    assert bool(said) == (sentence is not None)
    assert sentence is None or sentence in said[0]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (
            "message 4 arrived altered: its bytes differ",
            "message 5 (message 4 in the record, from 0) arrived",
        ),
        ("request 0 arrived altered", "request 1 (request 0 in the record, from 0) arrived altered"),
        ("message 4 was not due before", "message 4 was not due before"),
        (None, "it did not bring all that it was to bring"),
    ],
)
def test_a_reason_counts_messages_as_rules_do(reason: str | None, words: str) -> None:
    assert worded(reason).startswith(words)


@pytest.mark.parametrize(
    ("down", "words"),
    [
        ([[2.0, 4.0]], "takes paris itself, an end of the paths, at 2.0–4.0 s"),
        ([[20.0, 40.0]], "takes nothing of the paths before 20.0 s, and the runs were over at 11.0 s"),
        ([], "takes no node and no link of these paths"),
    ],
)
def test_a_challenge_that_may_not_be_meant_is_warned_of(results: Path, down: list[Any], words: str) -> None:
    challenge = {"name": "own", "rings": [], "nodes": [{"node": "paris", "down": down}] if down else []}
    paths = [{"nodes": ["paris", "vienna"], "down": down}, {"nodes": ["paris", "rome"], "down": down}]
    taken = [{"factors": {}, "paths": [path], "challenge": challenge} for path in paths]
    (results / "map.json").write_text(json.dumps({"network": {"name": "made"}, "sets": taken}))
    (told,) = [it for it in trust(report.load(results)).warnings if "The challenge 'own'" in it]
    assert words in told
