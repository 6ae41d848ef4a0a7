"""`gauntlet doctor` as people and scripts see it."""

import json

import pytest

from gauntlet.engine import doctor
from gauntlet.engine.doctor import Check

from .conftest import Gauntlet

CAUSE = "A process may have no more than 100 files open: 95 more could be opened, and a guest wants 256."
RIGHT = Check("python", True, "3.11.7")
NOTE = Check("cores", False, "Half a core [of four].", "Raise the quota.", required=False)
FAULT = Check("open files", False, CAUSE, "Type `ulimit -n 1024` first.")


def given(monkeypatch: pytest.MonkeyPatch, *found: Check) -> None:
    monkeypatch.setattr(doctor, "checks", lambda: list(found))


def test_a_fault_ends_with_exit_code_1_and_its_mend_on_a_narrow_terminal(
    gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, RIGHT, NOTE, FAULT)
    monkeypatch.setenv("COLUMNS", "80")
    answer = gauntlet("doctor")
    assert answer.exit_code == 1
    lines = answer.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["ok", "note", "fails"]
    said = " ".join(answer.stdout.split())
    assert f"{CAUSE} → Type `ulimit -n 1024` first." in said
    assert "Half a core [of four]. → Raise the quota." in said


def test_what_is_only_worth_knowing_is_no_failure(
    gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, RIGHT, NOTE)
    assert gauntlet("doctor").exit_code == 0


def test_scripts_get_every_field(gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, RIGHT, FAULT)
    answer = gauntlet("doctor", "--json")
    assert answer.exit_code == 1
    assert json.loads(answer.stdout) == [
        {"name": "python", "ok": True, "detail": "3.11.7", "remedy": "", "required": True},
        {
            "name": "open files",
            "ok": False,
            "detail": CAUSE,
            "remedy": "Type `ulimit -n 1024` first.",
            "required": True,
        },
    ]
