"""Whole runs, with stand-ins that really listen, connect and compute."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gauntlet.attack import arena, gates, verdict
from gauntlet.attack.kinds import KINDS
from gauntlet.attack.programs import ATTACKER, CLIENT, SERVER
from gauntlet.attack.requests import served_share
from gauntlet.attack.run import Attack, Client, Run
from gauntlet.attack.servers.own import OWN
from gauntlet.errors import RunError, UserError
from tests.attack.conftest import FAKES, silent, two_cores
from tests.attack.test_share import group_can_be_made

pytestmark = two_cores

QUIET = Run(OWN, "h1", "p-256", Client(8, 0.1, 1.0), None, of_a_core=None)


def attacked(of_a_core: float | None = None) -> Run:
    """Twenty requests in two seconds under a flood of three."""
    flood = Attack(KINDS["flood"], 40, 3)
    client = Client(20, 0.1, 1.0)
    return replace(QUIET, attack=flood, client=client, client_at_s=0.3, of_a_core=of_a_core)


@pytest.fixture(autouse=True)
def calm(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What else the machine does while tests run is no fault of theirs."""
    monkeypatch.setattr(gates, "OTHERS_OF_A_CORE", float("inf"))
    monkeypatch.setattr(gates, "CLIENT_OF_A_CORE", float("inf"))
    monkeypatch.setattr(gates, "LATE_S", 5.0)


def test_a_run_without_an_attack(tmp_path: Path) -> None:
    found = arena.play(QUIET, tmp_path)
    assert gates.reasons(found) == []
    assert served_share(found.requests) == 1.0
    assert [round(it.began_s, 1) for it in found.requests[:3]] == [0.0, 0.1, 0.2]
    assert found.counted["requests"] == 8
    assert (found.attacker, found.died, list(found.complaints)) == (None, "", [])
    assert len(found.samples) >= 2
    assert found.samples[0].sockets.count >= 1


def test_a_flood_is_offered_begun_and_completed(tmp_path: Path) -> None:
    found = arena.play(attacked(), tmp_path)
    assert gates.reasons(found) == []
    assert found.attacker is not None
    assert found.attacker["offered"] == found.attacker["sent"] == 120
    assert found.counted["requests"] == 20 + found.attacker["completed"]
    assert found.told("offered") == pytest.approx(40, rel=0.01)
    assert found.server_cpu_share is not None


def test_what_comes_after_the_last_second_is_no_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attacker waits until the last of what it began has ended, and tells of that time, too."""
    monkeypatch.setenv("FAKE_TAIL_S", "0.02")
    found = arena.play(replace(attacked(), client_at_s=1.1), tmp_path)
    assert gates.reasons(found) == []
    assert [round(it.lasted_s, 1) for it in found.seconds] == [1.0, 1.0, 1.0, 0.0]
    assert found.told("offered") == pytest.approx(40, rel=0.01)


def test_work_of_the_server_for_a_connection_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_WORK_S", "0.004")
    found = arena.play(attacked(), tmp_path)
    assert found.server_cpu_a_handshake_s == pytest.approx(0.004, rel=0.5)


def test_an_attacker_that_cannot_keep_up_makes_the_run_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_MOST_PER_S", "20")
    (reason,) = gates.reasons(arena.play(attacked(), tmp_path))
    assert reason == "the attacker was the slower one: it could not keep up"


def test_a_server_that_dies_is_broken_and_not_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_DIES_AFTER", "10")
    found = arena.play(attacked(), tmp_path)
    assert found.died == "too many connections"
    assert verdict.judged(found, None).verdict == verdict.BROKEN


def test_held_connections_show_in_the_process_and_in_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEEPS", "200000")
    # All are there after five seconds, so that the last second has samples of all of them.
    held = Attack(KINDS["handshake-stall"], 60, 6)
    found = arena.play(replace(QUIET, attack=held, client_at_s=1.5), tmp_path)
    assert found.held == 60
    assert found.process_growth_bytes > 50 * 200_000
    assert max(it.sockets.count for it in found.samples) >= 60


def test_a_server_that_says_nothing_is_asked_until_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SILENT", "1")
    command = [sys.executable, str(FAKES / "server.py"), "--listen", "{address}", "--protocol", "h1"]
    found = arena.play(replace(QUIET, server=silent(command)), tmp_path)
    assert served_share(found.requests) == 1.0


def test_a_server_that_does_not_begin_is_one_sentence(tmp_path: Path) -> None:
    broken = silent([sys.executable, "-c", "import sys; sys.exit('there is no such port')"])
    with pytest.raises(RunError, match=r"a silent one\) ended with code 1 before it served: there is no"):
        arena.play(replace(QUIET, server=broken), tmp_path)


def test_a_server_that_ends_without_a_word_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"ended with code 0 before it served: it wrote nothing to standard"):
        arena.play(replace(QUIET, server=silent(["true"])), tmp_path)


def test_why_a_server_does_not_serve_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena, "_READY_S", 0.5)
    with pytest.raises(RunError, match=r"did not begin within 0 s: nobody listens at TCP 127\.0\.0\.1:"):
        arena.play(replace(QUIET, server=silent(["sleep", "60"])), tmp_path)


def test_programs_that_are_not_built_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GAUNTLET_ATTACK_PROGRAMS", str(tmp_path))
    with pytest.raises(UserError, match=r"cargo build --profile measure -p web -p attackers"):
        arena.ready()


@pytest.mark.parametrize(("name", "run"), [(ATTACKER, attacked()), (CLIENT, QUIET), (SERVER, QUIET)])
def test_a_program_that_does_not_know_what_it_is_asked_for_is_an_older_one(
    name: str, run: Run, tmp_path: Path, programs: Path
) -> None:
    said = "error: unexpected argument '--silence-ms' found"
    (programs / name).write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 2\n')
    with pytest.raises(RunError, match=f"{name} does not know --silence-ms.*older one: build it anew"):
        arena.play(run, tmp_path)


@pytest.mark.skipif(not group_can_be_made(), reason="this process may not make a control group")
def test_a_server_has_no_more_than_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take 40 x 20 ms in each second; a fifth of a core is all that it gets."""
    monkeypatch.setenv("FAKE_WORK_S", "0.02")
    found = arena.play(attacked(of_a_core=0.2), tmp_path)
    assert found.server_cpu_share == pytest.approx(0.2, abs=0.06)
    assert found.throttled is not None
    assert found.throttled.throttled > found.throttled.periods / 2
