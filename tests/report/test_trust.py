"""Runs that were not checked are a state of their own wherever trust is shown."""

import html
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from gauntlet import report
from gauntlet.report import terminal
from gauntlet.report.trust import trust
from gauntlet.results import store
from gauntlet.results.certificate.verdict import nothing_checked
from tests.report import factory
from tests.report.factory import Campaign

SMALL = Campaign(
    duration_s=8, protocols=("tcp-cubic", "tcp-bbr"), delays_s=(0.025,), losses=(0.0,), repetitions=3
)
UNSEEN = "What was asked of ra>rabc (delay, loss) was not checked: the run has no tap on it."


def recertified(results: Path, name: str, certificate: dict[str, Any]) -> None:
    """Give one run another certificate and make the tables anew."""
    (results / "runs" / name / "certificate.json").write_text(json.dumps(certificate))
    store.finalize(results)


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
    assert "5 of 6 runs are trusted; 1 not checked." in found.verdict
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
