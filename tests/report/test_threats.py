"""A report on safety messages names no protocol: it has the verdicts, by threat, protocol and condition."""

import io
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from gauntlet import report
from gauntlet.errors import UserError
from gauntlet.evidence import verdict as words
from gauntlet.evidence.verdict import Verdict
from gauntlet.report import threats
from gauntlet.report.answer import BY_VERDICTS, sentences
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.terminal import summary
from gauntlet.report.trust import trust
from tests.report import flows
from tests.report.flows import Constructed, Did, Flow

PROTOCOLS = ("tcp-cubic", "tcp-bbr")


def folder(place: Path, app: str = "safety") -> Path:
    """Three repetitions whose numbers are all the same."""
    made = Constructed(PROTOCOLS, lambda *_: Did(20.0), 3, losses=(0.0, 0.01), flows=(Flow(app),))
    return flows.build(place / "r", place / "s", made)


def evaluation(place: Path, app: str = "safety") -> Evaluation:
    return report.load(folder(place, app))


def trial(protocol: str, threat: str, verdict: Verdict, loss: float = 0.0) -> Any:
    return SimpleNamespace(
        verdict=verdict,
        factors={"protocol": protocol, "loss": loss, "repetition": 1},
        threat=threat,
        flow=0,
        identity=None,
        reopens=False,
        run=SimpleNamespace(spec={"flows": [{"name": None}]}, plan={"flows": [{"id": "f0"}]}),
    )


def told(monkeypatch: pytest.MonkeyPatch, trials: Iterable[Any]) -> None:
    monkeypatch.setattr(threats, "trials", lambda _: trials)


SIGNALLED = Verdict(words.SIGNALLED, by="application", delay_s=0.52, accepted_before=True)
TRIALS = [
    trial("tcp-cubic", "none", Verdict(words.UNDISTURBED)),
    *[trial("tcp-bbr", "late", SIGNALLED, loss) for loss in (0.01, 0.0)],
    *[trial("tcp-cubic", "late", Verdict(verdict)) for verdict in (words.LATE, words.PREVENTED)],
]


def test_other_flows_have_no_verdicts(tmp_path: Path) -> None:
    assert threats.verdicts(evaluation(tmp_path, "cbr")) is None


def test_no_protocol_is_named_and_none_has_a_mark(tmp_path: Path) -> None:
    found = evaluation(tmp_path)
    assert sentences(found) == [BY_VERDICTS]
    assert found.kpis
    for kpi in found.kpis:
        for condition in found.conditions:
            assert all(cell.standing is None for cell in found.cells(kpi, condition).values())


def test_equal_numbers_are_not_said_to_be_the_same_trial(tmp_path: Path) -> None:
    found = evaluation(tmp_path)
    assert not any(found.deterministic(key, it) for key in PROTOCOLS for it in found.conditions)
    assert not [it for it in trust(found).warnings if "eterministic" in it or "no protocol can be" in it]
    assert evaluation(tmp_path / "other", "cbr").deterministic("tcp-bbr", found.conditions[0])


def test_verdicts_by_threat_protocol_and_condition_the_control_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(monkeypatch, TRIALS)
    found = threats.verdicts(evaluation(tmp_path))
    assert found is not None
    late, control = found.groups
    assert (late.threat, control.threat) == ("late", "no threat (control)")
    rows = {(row.protocol, row.condition): row.values for row in late.rows}
    assert len(late.rows) == 3
    assert rows["TCP CUBIC", "loss 0 %"] == ("1 delivered late unnoticed, 1 prevented", "", "", "")
    signalled = ("1 detected and signalled", "0.520 s", "1 of 1 trial", "")
    assert rows["TCP BBR", "loss 0 %"] == rows["TCP BBR", "loss 1 %"] == signalled
    bbr = [row.condition for row in late.rows if row.protocol == "TCP BBR"]
    assert bbr == ["loss 0 %", "loss 1 %"]
    assert [row.values for row in control.rows] == [("1 undisturbed", "", "", "")]


def test_the_bound_is_told_of_enough_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, [trial("tcp-bbr", "late", Verdict(words.PREVENTED)) for _ in range(60)])
    found = threats.verdicts(evaluation(tmp_path))
    assert found is not None
    assert [row.values for row in found.groups[0].rows] == [("60 prevented", "", "", "0.0500")]


def test_page_and_terminal_have_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = folder(tmp_path)
    told(monkeypatch, TRIALS)
    page = report.build(place).read_text()
    console = Console(record=True, width=200, file=io.StringIO())
    console.print(summary(place))
    printed = console.export_text()
    for shown in (page, printed):
        assert "1 delivered late unnoticed, 1 prevented" in shown
        assert BY_VERDICTS.lead in " ".join(shown.split())
    assert "★ best of" not in page
    assert "safest choice" not in page + printed
    assert "Capacity used" not in printed


def ends(place: Path) -> str:
    """The last lines of the terminal."""
    console = Console(record=True, width=200, file=io.StringIO())
    console.print(summary(place))
    lines = [line.rstrip() for line in console.export_text().rstrip().splitlines()]
    return "\n".join(lines).rpartition("\n\n")[2]


def test_the_terminal_ends_with_what_nobody_was_told_of_and_what_to_ask_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = Verdict(words.LATE, ("late", "missing"))
    gone = Verdict(words.DROPPED, ("missing",))
    disturbed = Verdict(words.DISTURBED, ("late",))
    told(
        monkeypatch,
        [
            *[trial("tcp-cubic", "late", late), trial("tcp-bbr", "late", late, 0.01)],
            *[trial("tcp-bbr", "away", gone), trial("tcp-bbr", "away", SIGNALLED)],
            trial("tcp-cubic", "none", disturbed),
        ],
    )
    place = folder(tmp_path)
    report.build(place)
    assert ends(place).splitlines() == [
        "Messages that the application acted on or lacked, and nobody was told: "
        "missing in 3 trials (TCP CUBIC and TCP BBR) and late in 2 trials (TCP CUBIC and TCP BBR).",
        f"Message by message: gauntlet evidence fates {place}",
        f"A pack for an assessor: gauntlet evidence build {place} --out r.zip",
    ]
    told(monkeypatch, [trial("tcp-bbr", "away", SIGNALLED)])
    assert ends(place).startswith(
        "No trial had the application act on a wrong message or lack one with nobody told."
    )


def test_what_was_not_recorded_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(_: object) -> Iterable[Any]:
        raise UserError("run x: it was not recorded.")

    monkeypatch.setattr(threats, "trials", lacking)
    place = folder(tmp_path)
    assert "run x: it was not recorded." in report.build(place).read_text()
