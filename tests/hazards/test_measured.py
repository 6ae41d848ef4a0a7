"""Frequencies of threats from messages that are made up: shares, intervals, bounds, what became of each."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from gauntlet.cli.evidence import evidence
from gauntlet.errors import UserError
from gauntlet.evidence import THREATS
from gauntlet.hazards import Row, measured
from gauntlet.hazards.measured import CHECKED, UNCHECKED
from gauntlet.hazards.terminal import shown
from tests.hazards.made import folder

REPETITIONS = (1, 2, 3, 4)
LOST = {
    **{("udp", number): [3, 5] if number < 4 else [3] for number in REPETITIONS},
    **{("tcp-cubic", number): [] for number in REPETITIONS},
}
LATE = {("tcp-cubic", 1): [4]}


def rows(place: Path) -> dict[str, Row]:
    (hazard,) = measured([place])
    return {row.protocol: row for row in hazard.rows}


def test_the_share_is_the_mean_of_repetitions_and_its_interval_is_theirs(tmp_path: Path) -> None:
    row = rows(folder(tmp_path / "r", LOST, late=LATE))["udp"]
    deletion = row.threats["deletion"]
    assert deletion.share is not None
    # Of ten messages 2, 2, 2 and 1 are missing, in each of two sessions.
    assert deletion.share.value == pytest.approx((3 * 0.2 + 0.1) / 4)
    # Student's t for four values: 3.182 standard deviations of 0.05 over the root of four.
    assert deletion.share.high == pytest.approx(0.175 + 3.182 * 0.05 / 2, abs=1e-4)
    assert (deletion.share.n, row.repetitions, row.messages) == (4, 4, {UNCHECKED: 40, CHECKED: 40})
    assert deletion.per_hour == pytest.approx(3600 * 0.175)
    assert deletion.bound is None


def test_what_became_of_them_is_told_by_receiver(tmp_path: Path) -> None:
    found = rows(folder(tmp_path / "r", LOST, late=LATE))
    assert found["udp"].threats["deletion"].became == {
        UNCHECKED: {"silently dropped": 7},
        CHECKED: {"told by application": 7},
    }
    assert found["tcp-cubic"].threats["delay"].became == {
        UNCHECKED: {"delivered late unnoticed": 1},
        CHECKED: {"told by application": 1},
    }


def test_where_none_was_met_the_bound_is_three_over_repetitions(tmp_path: Path) -> None:
    """Of repetitions, not of messages: those of one run share its line."""
    found = rows(folder(tmp_path / "r", LOST, late=LATE))
    for threat in set(THREATS) - {"deletion"}:
        assert (found["udp"].threats[threat].count, found["udp"].threats[threat].bound) == (0, 0.75)
    assert found["tcp-cubic"].threats["deletion"].bound == 0.75
    many: dict[tuple[str, int], list[int]] = {("udp", number): [] for number in range(1, 61)}
    assert rows(folder(tmp_path / "many", many))["udp"].threats["delay"].bound == 0.05


def test_copies_count_once_and_what_cannot_be_trusted_not_at_all(tmp_path: Path) -> None:
    place = folder(tmp_path / "r", LOST)
    for name in ("messages.parquet", "safety.parquet"):
        of = [place / "runs" / f"udp_rep-00{number}" / name for number in (1, 2)]
        of[1].write_bytes(of[0].read_bytes())
    (place / "runs" / "udp_rep-004" / "certificate.json").write_text(json.dumps({"trusted": False}))
    row = rows(place)["udp"]
    assert (row.repetitions, row.left_out) == (2, 2)
    assert row.threats["deletion"].share is not None
    assert row.threats["deletion"].share.value == pytest.approx(0.2)


def test_nothing_but_copies_has_neither_interval_nor_bound(tmp_path: Path) -> None:
    place = folder(tmp_path / "r", {("udp", 1): [3], ("udp", 2): [3]})
    for name in ("messages.parquet", "safety.parquet"):
        (place / "runs" / "udp_rep-002" / name).write_bytes(
            (place / "runs" / "udp_rep-001" / name).read_bytes()
        )
    threats = rows(place)["udp"].threats
    share = threats["deletion"].share
    assert share is not None
    assert (share.method, share.low, threats["delay"].bound) == ("deterministic", None, None)


def test_messages_that_were_due_and_never_sent_are_told_apart(tmp_path: Path) -> None:
    place = folder(tmp_path / "r", {("udp", 1): []})
    plan = place / "runs" / "udp_rep-001" / "plan.json"
    asked = json.loads(plan.read_text())
    asked["flows"][0]["app_params"]["duration_s"] = 25.0
    plan.write_text(json.dumps(asked))
    row = rows(place)["udp"]
    assert (row.unsent, row.threats["deletion"].count) == (15, 0)


def test_who_attacks_measures_no_hazard(tmp_path: Path) -> None:
    place = folder(tmp_path / "r", {("udp", 1): []}, in_path=[{"node": "mallory", "rules": []}])
    with pytest.raises(UserError, match="somebody acts on packets"):
        measured([place])


def test_other_results_are_a_sentence(tmp_path: Path) -> None:
    place = folder(tmp_path / "r", {})
    with pytest.raises(UserError, match="no run has a flow of the application 'safety'"):
        measured([place])


def test_the_terminal_has_them_within_a_hundred_columns(tmp_path: Path) -> None:
    console = Console(record=True, width=100, file=io.StringIO())
    console.print(shown(measured([folder(tmp_path / "r", LOST, late=LATE)])))
    lines = console.export_text().splitlines()
    said = [" ".join(line.split()) for line in lines]
    assert "made – 17.5 % – – – – –" in said
    assert "udp 17.5 [9.5 to 25.5] 630 7 silently dropped 7 told by application" in said
    assert "Prevented by tcp-cubic; at most 75 % of repetitions bring it (3/N)." in said
    assert "tcp-cubic 2.50 [0.00 to 10.46] 90.0 1 late unnoticed 1 told by application" in said
    assert (
        "Never met: repetition, insertion, re-sequencing, corruption and masquerade; at most 75 % of" in said
    )
    assert not [line for line in lines if "…" in line]


def test_names_are_whole_in_eighty_columns(tmp_path: Path) -> None:
    (made,) = measured([folder(tmp_path / "r", LOST, late=LATE)])
    udp, other = made.rows
    rows = [udp, replace(other, protocol="quic-quinn-cubic-deep-space")]
    console = Console(record=True, width=80, file=io.StringIO())
    names = ["hazard-overload", "hazard-overload-constant"]
    console.print(shown([replace(made, name=name, rows=rows) for name in names]))
    lines = console.export_text().splitlines()
    first = [line.split()[0] for line in lines if line.split()]
    assert [it for it in first if it.startswith("overload")] == ["overload", "overload-constant"]
    assert [first[at + 1] for at, it in enumerate(first) if it == "quic-quinn-cubic-"] == ["deep-space"] * 2
    assert not [line for line in lines if "…" in line]


def test_json_has_every_frequency(tmp_path: Path) -> None:
    place = folder(tmp_path / "r", LOST)
    answer = CliRunner().invoke(evidence, ["hazards", str(place), "--json"])
    assert answer.exit_code == 0, answer.output
    said = json.loads(answer.output)
    assert said["sil_claimed"] is False
    (hazard,) = said["hazards"]
    assert {row["protocol"]: set(row["threats"]) for row in hazard["rows"]} == {
        "udp": set(THREATS), "tcp-cubic": set(THREATS),
    }  # fmt: skip
    deletion = hazard["rows"][0]["threats"]["deletion"]
    assert (deletion["share"]["value"], deletion["became"][UNCHECKED]) == (
        pytest.approx(0.175), {"silently dropped": 7},
    )  # fmt: skip
