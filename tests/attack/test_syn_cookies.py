"""SYN cookies as a condition: what is measured, what makes a run invalid, and a whole run in a namespace."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gauntlet.attack import arena, gates, namespace
from gauntlet.attack.kinds import ATTACKS, FLOOD, KINDS, SYN_FLOOD
from gauntlet.attack.measures import INVALID
from gauntlet.attack.namespace import ALWAYS, COOKIES, OFF, WHEN_FULL
from gauntlet.attack.requests import served_share
from gauntlet.attack.run import Attack, Client, Outcome, Run
from gauntlet.attack.servers.own import OWN
from gauntlet.benches import attack_common, attack_syn_cookies
from gauntlet.benches.parts import Parts
from gauntlet.studies import study
from gauntlet.studies.registration import Registration
from tests.attack.conftest import two_cores
from tests.attack.factory import outcome, run, sample
from tests.attack.test_benches import lasts_s, told
from tests.attack.test_namespace import can_be_made
from tests.cli.conftest import Gauntlet, gauntlet, refused

__all__ = ["gauntlet"]

LONGEST_S = 12 * 60


def with_cookies(cookies: str, *, sent: int, redeemed: int, flooded: bool = True) -> Outcome:
    """A run of ten requests that were served, and what the kernel counted of SYN cookies."""
    asked = run(FLOOD if flooded else None, protocol="h2", cookies=cookies)
    return outcome(asked, [0.01] * 10, tcp={"SyncookiesSent": sent, "SyncookiesRecv": redeemed})


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (with_cookies(OFF, sent=0, redeemed=0), []),
        (with_cookies(OFF, sent=4, redeemed=0), ["the kernel sent 4 SYN cookies, and they were off"]),
        (with_cookies(ALWAYS, sent=10, redeemed=10), []),
        (with_cookies(ALWAYS, sent=9, redeemed=9), ["9 of 10 connections came by a SYN cookie"]),
        (with_cookies(WHEN_FULL, sent=0, redeemed=0), []),
        (with_cookies(WHEN_FULL, sent=900, redeemed=3), []),
    ],
)
def test_a_kernel_that_does_otherwise_makes_the_run_invalid(found: Outcome, why: list[str]) -> None:
    assert gates.reasons(found) == why


def test_what_was_half_open_is_the_most_of_all_samples() -> None:
    found = with_cookies(OFF, sent=0, redeemed=0)
    samples = [
        replace(it, sockets=replace(it.sockets, half_open=count))
        for it, count in zip(found.samples, (0, 900, 1024, 800), strict=False)
    ]
    row = attack_syn_cookies.row(replace(found, samples=samples))
    assert (row["half_open"], row["cookies_sent"], row[INVALID]) == (1024.0, 0.0, 0.0)
    assert row["server_cpu_a_handshake_s"] is None, "a flood is no measure of a handshake"


def test_without_a_flood_a_handshake_is_what_both_ends_computed() -> None:
    row = attack_syn_cookies.row(with_cookies(ALWAYS, sent=10, redeemed=10, flooded=False))
    assert row["server_cpu_a_handshake_s"] == pytest.approx(0.1)
    assert row["client_cpu_a_handshake_s"] == pytest.approx(0.01)
    assert row["cookies_redeemed"] == 10.0


def test_an_invalid_run_has_no_number_of_the_kernel_either() -> None:
    row = attack_syn_cookies.row(with_cookies(OFF, sent=4, redeemed=0))
    assert row[INVALID] == 1.0
    own = ("half_open", "cookies_sent", "cookies_redeemed", "server_cpu_a_handshake_s", "served_share")
    assert all(row[name] is None for name in own)


def measured(quick: bool, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Run], Any]:
    """The runs that the bench asks for, and its table."""
    seen: list[Run] = []

    def play(asked: Run, _: Path | None = None) -> Outcome:
        seen.append(asked)
        tcp = {"SyncookiesSent": 0, "SyncookiesRecv": 10}
        samples = [sample(100.0 + at, 0.1 * at) for at in range(11)]
        return outcome(asked, [0.01] * 10, tcp=tcp, samples=samples)

    monkeypatch.setattr(arena, "play", play)
    monkeypatch.setattr(attack_common, "there", lambda _: True)
    monkeypatch.setattr(attack_syn_cookies, "facts", dict)
    found = attack_syn_cookies.BENCH.measure(quick, 1, told, Parts(folder / str(quick), {})).table
    attack_syn_cookies.BENCH.check(found)
    return seen, found


def test_it_takes_less_than_twelve_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, table = measured(False, tmp_path, monkeypatch)
    assert sum(map(lasts_s, asked)) < LONGEST_S
    assert table.num_rows == 9 * 6
    assert sum(map(lasts_s, measured(True, tmp_path, monkeypatch)[0])) < 100


def test_a_flood_outlasts_the_last_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for asked in measured(False, tmp_path, monkeypatch)[0]:
        if asked.attack is not None:
            last_s = asked.client_at_s + asked.client.sends_s + asked.client.limit_s
            assert asked.attack_at_s + asked.attack.seconds >= last_s


def test_conditions_that_differ_in_cookies_alone_come_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = measured(False, tmp_path, monkeypatch)[0]
    for at in range(0, len(asked), len(COOKIES)):
        block = asked[at : at + len(COOKIES)]
        assert {it.cookies for it in block} == set(COOKIES)
        assert len({it.attack and it.attack.dose for it in block}) == 1


def test_what_was_registered_before_is_what_it_was() -> None:
    """A further attack and a further bench change no plan: results of the others stay theirs."""
    attack = study("attack")
    registered = Registration.of(attack)
    assert registered is not None
    known = {it.name: it.bench.sha256(quick=False) for it in attack.benches}
    assert registered.benches.keys() <= known.keys()
    assert {name: known[name] for name in registered.benches} == dict(registered.benches)


def test_forged_senders_are_played_only_where_they_are_named() -> None:
    assert SYN_FLOOD.key not in KINDS
    assert set(ATTACKS) == {*KINDS, SYN_FLOOD.key}
    assert [it.key for it in ATTACKS.values() if it.forged] == [SYN_FLOOD.key]


# --- in a namespace


@pytest.fixture
def calm(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for the programs, and a machine that may do something else."""
    monkeypatch.setattr(gates, "OTHERS_OF_A_CORE", float("inf"))
    monkeypatch.setattr(gates, "CLIENT_OF_A_CORE", float("inf"))
    monkeypatch.setattr(gates, "LATE_S", 5.0)


@two_cores
@can_be_made
@pytest.mark.usefixtures("calm")
@pytest.mark.parametrize("cookies", COOKIES)
def test_server_client_and_attacker_are_in_it(tmp_path: Path, cookies: str) -> None:
    """Every connection of client and attacker comes by a cookie where they are always sent; else none."""
    flood = Attack(KINDS[FLOOD], 20, 2)
    asked = Run(OWN, "h1", "p-256", Client(10, 0.1, 1.0), flood, client_at_s=0.3, of_a_core=None)
    found = arena.play(replace(asked, cookies=cookies), tmp_path)
    assert gates.reasons(found) == []
    assert served_share(found.requests) == 1.0
    assert found.counted["requests"] == 50
    assert found.tcp["SyncookiesRecv"] == (50 if cookies == ALWAYS else 0)
    assert found.samples[0].sockets.count >= 1, "sockets of the namespace are counted"


@two_cores
@pytest.mark.usefixtures("calm")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("flood", "--defence", "cookies"), "--defence cookies is against syn-flood alone"),
        (("--defence", "cookies"), "--defence cookies is against syn-flood alone"),
        (("syn-flood", "--builtin", "nginx"), "nginx's workers change their user"),
        (("syn-flood", "--protocol", "h3"), "is there over h1, h2, not over h3"),
    ],
)
def test_what_cannot_be_asked_for_is_one_sentence(
    gauntlet: Gauntlet, words: tuple[str, ...], said: str
) -> None:
    refused(gauntlet("attack", "run", *words), 2, said)


@two_cores
@pytest.mark.usefixtures("calm")
def test_where_there_is_no_namespace_the_command_says_so(
    gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespace, "_MADE", ("false",))
    result = gauntlet("attack", "run", "syn-flood", "--quota", "100%")
    refused(result, 2, "take a network namespace of one's own, and this machine gives none")


@two_cores
@can_be_made
@pytest.mark.usefixtures("calm")
@pytest.mark.parametrize(("more", "cookies"), [((), OFF), (("--defence", "cookies"), WHEN_FULL)])
def test_the_command_asks_for_the_cookies_that_its_words_name(
    gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], cookies: str
) -> None:
    """That cookies help is not shown here, where a stand-in attacks and forges nothing: the attacker's own
    tests show it (crates/attackers/tests/attacks/syn_flood.rs).
    """
    played: list[Run] = []
    play = arena.play

    def watched(asked: Run, folder: Path | None = None) -> Outcome:
        played.append(asked)
        return play(asked, folder)

    monkeypatch.setattr(arena, "play", watched)
    quick = ("--protocol", "h1", "--seconds", "3", "--rate", "20", "--quota", "100%")
    result = gauntlet("attack", "run", "syn-flood", *quick, *more)
    assert "syn-flood over h1: " in result.stdout, result.output
    assert {it.cookies for it in played} == {cookies}
    assert len(played) == 2, "the server left alone, in a namespace too"
