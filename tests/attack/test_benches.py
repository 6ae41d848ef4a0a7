"""Benches of attacks: which conditions, in which order, and the rows that runs become."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gauntlet.attack import arena, gates
from gauntlet.attack.kinds import FLOOD, H3, KINDS
from gauntlet.attack.measures import INVALID
from gauntlet.attack.run import Client, Outcome, Run
from gauntlet.attack.servers.own import OWN
from gauntlet.benches import (
    attack_common,
    attack_cost,
    attack_flood,
    attack_levels,
    attack_memory,
    attack_recovery,
    attack_slow,
    attack_syn_cookies,
    attack_weaknesses,
)
from gauntlet.benches.parts import Parts
from gauntlet.studies import study
from tests.attack.conftest import two_cores
from tests.attack.factory import MB, outcome, request, run, sample, second

ALL = (attack_flood, attack_slow, attack_cost, attack_memory, attack_recovery, attack_weaknesses)


def told(_: str) -> None:
    """Nobody to be told."""


@pytest.mark.parametrize("bench", (*ALL, attack_syn_cookies), ids=lambda it: it.BENCH.name)
def test_conditions_are_the_plans_and_none_stands_twice(bench: Any) -> None:
    for quick in (False, True):
        plan, asked = bench.BENCH.plan(quick), bench.conditions(quick)
        assert len({tuple(it.items()) for it in asked}) == len(asked)
        for condition in asked:
            assert list(condition) == list(plan.factors)
            assert all(value in plan.factors[name] for name, value in condition.items())
    assert {tuple(it.items()) for it in bench.conditions(True)} <= {
        tuple(it.items()) for it in bench.conditions(False)
    }


def test_protocols_of_one_condition_come_one_after_the_other_in_drawn_order() -> None:
    asked = attack_flood.conditions(quick=False)
    order = list(attack_common.in_turn(asked, 4, seed=7))
    assert len(order) == 4 * len(asked)
    assert Counter(repetition for repetition, _ in order) == dict.fromkeys(range(1, 5), len(asked))
    firsts: Counter[Any] = Counter()
    for one, other in pairwise(order):
        same = {name: value for name, value in one[1].items() if name != "over"}
        if one[0] == other[0] and same == {n: v for n, v in other[1].items() if n != "over"}:
            firsts[one[1]["over"]] += 1
    assert min(firsts["h2"], firsts["h3"]) > 10, "each is often the first"
    assert order == list(attack_common.in_turn(asked, 4, seed=7))
    assert order != list(attack_common.in_turn(asked, 4, seed=8))


def test_what_is_left_is_reckoned_from_what_was_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve runs of five minutes each, of which three were there from before."""
    clock = [0.0]
    monkeypatch.setattr("gauntlet.benches.attack_common.time.monotonic", lambda: clock[0])
    asked = [{"server": "own", "over": over, "load": load} for over in ("h1", "h2", "h3") for load in (1, 2)]
    monkeypatch.setattr(attack_common, "there", lambda _: True)

    def of(_: Mapping[str, Any]) -> Mapping[str, Any]:
        if clock[0] >= stop_s:
            raise KeyboardInterrupt
        clock[0] += 300
        return {"a": 1.0}

    said: list[str] = []
    stop_s = 900.0
    with pytest.raises(KeyboardInterrupt):
        attack_common.measure(asked, 2, 3, said.append, Parts(tmp_path, {}), of=of, same={}, samples=1)
    assert [it.partition(":")[0] for it in said] == [
        "1 of 12",
        "2 of 12 (about 55 min left)",
        "3 of 12 (about 50 min left)",
        "4 of 12 (about 45 min left)",
    ]
    said.clear()
    stop_s = float("inf")
    attack_common.measure(asked, 2, 3, said.append, Parts(tmp_path, {}), of=of, same={}, samples=1)
    assert [it.partition(":")[0] for it in said[2:6]] == [
        "3 of 12",
        "4 of 12",
        "5 of 12 (about 40 min left)",
        "6 of 12 (about 35 min left)",
    ]


@pytest.mark.parametrize("disturbed", [0, 1, 2, 3])
def test_a_run_that_something_else_disturbed_is_played_again_and_counted(
    disturbed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice at most, and not again when the bench is taken up; another reason is what the run tells."""
    monkeypatch.setattr(attack_common, "there", lambda _: True)
    monkeypatch.setattr(gates, "CLIENT_OF_A_CORE", float("inf"))
    played: list[float] = []

    def of(_: Mapping[str, Any]) -> Mapping[str, Any]:
        played.append(1.0 if len(played) < disturbed else 0.1)
        found = outcome(run("flood"), [0.01] * 10)
        return attack_common.sample(replace(found, others_of_a_core=played[-1]), ("served_share",))

    def measured() -> Any:
        asked = [{"server": "own", "over": "h1"}]
        parts = Parts(tmp_path, {})
        return attack_common.measure(asked, 1, 3, told, parts, of=of, same={}, samples=10)

    (row,) = measured().raw["runs"].to_pylist()
    assert len(played) == min(disturbed, attack_common.AGAIN) + 1
    assert (row["disturbed"], row[INVALID]) == (min(disturbed, 2), float(disturbed > 2))
    assert "disturbed" not in measured().table.column_names
    assert len(played) == min(disturbed, attack_common.AGAIN) + 1


def test_the_same_number_of_connections_is_held_over_each_protocol() -> None:
    held: dict[Any, set[Any]] = {}
    for it in attack_slow.conditions(quick=False):
        held.setdefault((it["server"], it["way"], it["held_asked"]), set()).add(it["over"])
    assert all({"h1", "h3"} <= protocols for protocols in held.values())
    every = {way: held["own", way, 500] for way in attack_slow.WAYS}
    assert all(protocols == {"h1", "h2", "h3"} for protocols in every.values())


@pytest.mark.parametrize(
    ("most", "why"), [(1, "1 of 500 connections were held"), (449, "449 of 500"), (450, "")]
)
def test_a_run_in_which_fewer_are_held_is_none_of_equally_many(most: int, why: str) -> None:
    found = outcome(run("body-drip"), [0.01] * 10, attacker={"saturated": False, "held_max": most})
    row = attack_common.sample(found, ("held",), attack_slow.lacks(found, 500))
    assert row[INVALID] == float(bool(why))
    assert why in row["why_invalid"]
    assert row["held"] == (None if why else most)
    assert attack_slow.lacks(outcome(run(None), [0.01] * 10), 0) == []


@two_cores
@pytest.mark.usefixtures("programs")
def test_a_part_stays_and_a_run_becomes_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "OTHERS_OF_A_CORE", float("inf"))
    monkeypatch.setattr(gates, "CLIENT_OF_A_CORE", float("inf"))
    asked = [{"server": "own", "over": protocol} for protocol in ("h1", "h2")]
    plain = Run(OWN, "h1", "p-256", Client(3, 0.05, 1.0), None, of_a_core=None)
    played = []

    def of(condition: Mapping[str, Any]) -> Mapping[str, Any]:
        played.append(condition["over"])
        run = replace(plain, protocol=condition["over"])
        return attack_common.played(run, ("served_share", "delay_median_s"))

    for _ in range(2):
        parts = Parts(tmp_path / "parts", {})
        found = attack_common.measure(asked, 1, 3, told, parts, of=of, same={"a": 1}, samples=3)
        assert [row["served_share"] for row in found.table.to_pylist()] == [1.0, 1.0]
        assert "delay_s" not in found.table.column_names
        assert [len(it) for it in found.raw["runs"]["delay_s"].to_pylist()] == [3, 3]
    assert sorted(played) == ["h1", "h2"], "parts that are there are not measured again"
    assert parts.found == 2


# --- a first look

FIRST_LOOK_S = 6.5 * 60
"""Of its ten minutes; the rest is for what is played in virtual time, visits among it, and for the page."""
WITHOUT_WEAKNESSES_S, WEAKNESSES_S = 82 * 60, 40 * 60
OVER_TCP_S, LIBRARIES_S, LONG_S = 15 * 60, 20 * 60, 30 * 60
"""In full."""
ATTACKER_WAITS_S = 5.5
"""Its usual time-out, and until it has told of the last."""
CAPACITY_PER_S = 580.0
"""What each server completes at most in the stand-in below, about as much as Gauntlet's own does."""
BEGINS_S, CALLGRIND_BEGINS_S = 0.5, 5.0
"""For how long a server starts, and server and client under callgrind."""


def lasts_s(asked: Run) -> float:
    """How long a run takes by its plan; beyond what a server can do the last starts of a flood wait up to
    their time-out, and the last request up to its limit.
    """
    client_s = asked.client_at_s + asked.client.sends_s
    if asked.attack is None:
        return (CALLGRIND_BEGINS_S if asked.counted else BEGINS_S) + client_s
    overrun = asked.attack.kind.key == FLOOD and asked.attack.dose > CAPACITY_PER_S
    tail_s = max(ATTACKER_WAITS_S, asked.client.limit_s) if overrun else 0.0
    return BEGINS_S + tail_s + max(client_s, asked.attack_at_s + asked.attack.seconds)


def planned_s(bench: Any, quick: bool, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """How long a bench takes by its plan, all servers being here."""
    seen: list[Run] = []

    def play(asked: Run, _: Path | None = None) -> Outcome:
        seen.append(asked)
        instructions = dict.fromkeys(("server", "client"), len(seen))
        used = {"tickets_redeemed": 10, "early_data": 10}
        found = outcome(asked, [0.01] * 10, instructions=instructions, counted=used)
        each = min(asked.attack.dose, CAPACITY_PER_S) if asked.attack else 0
        filled = [replace(it, counts={**it.counts, "completed": each}) for it in found.seconds]
        return replace(found, seconds=filled)

    monkeypatch.setattr(arena, "play", play)
    # No run is invalid: what follows one that tells nothing is left out.
    monkeypatch.setattr(gates, "CLIENT_OF_A_CORE", float("inf"))
    for it in (attack_common, attack_levels):
        monkeypatch.setattr(it, "there", lambda _: True)
    monkeypatch.setattr(attack_common, "facts", dict)
    for module in ALL:
        monkeypatch.setattr(module, "facts", dict)
    bench.check(bench.measure(quick, 1, told, Parts(folder / bench.name, {})).table)
    return round(sum(map(lasts_s, seen)))


def test_a_first_look_has_its_ten_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    benches = [it.bench for it in study("attack").benches if it.quick and it.bench.name != "traffic-sites"]
    assert {it.name for it in benches} == {it.BENCH.name for it in (attack_flood, attack_slow, attack_cost)}
    spent_s = {it.name: planned_s(it, True, tmp_path, monkeypatch) for it in benches}
    assert sum(spent_s.values()) < FIRST_LOOK_S, spent_s


def test_all_of_it_has_an_evening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spent_s = {it.BENCH.name: planned_s(it.BENCH, False, tmp_path, monkeypatch) for it in ALL}
    weaknesses_s = spent_s.pop(attack_weaknesses.BENCH.name)
    assert sum(spent_s.values()) < WITHOUT_WEAKNESSES_S, spent_s
    assert weaknesses_s < WEAKNESSES_S
    for bench, most_s in (
        (attack_weaknesses.OVER_TCP, OVER_TCP_S),
        (attack_weaknesses.LIBRARIES, LIBRARIES_S),
        (attack_flood.LONG, LONG_S),
    ):
        assert planned_s(bench, False, tmp_path, monkeypatch) < most_s


# --- recovery


def recovering(*later: float | None) -> Any:
    """A flood from second 3 to second 5 over a client that asks once a second; 0.01 s before it."""
    delays = [0.01, 0.01, 0.01, None, None, *later]
    asked = run(seconds=2)
    return outcome(
        asked,
        delays,
        attack_began_s=103.0,
        attack_ended_s=105.0,
        seconds=[second(104.0, number=1), second(105.0, number=2)],
        attacker={"saturated": False},
    )


def test_recovery_is_when_five_in_a_row_are_served_as_before() -> None:
    found = attack_recovery.row(recovering(0.5, 0.01, 0.5, 0.01, 0.02, 0.03, 0.03, 0.01), 20.0)
    assert found["recovery_time_s"] == pytest.approx(3.0)
    assert (found["recovered"], found[INVALID]) == (1.0, 0.0)


def test_one_that_does_not_recover_counts_with_as_long_as_was_watched() -> None:
    found = attack_recovery.row(recovering(*[0.5] * 10), 20.0)
    assert (found["recovery_time_s"], found["recovered"]) == (20.0, 0.0)


def test_a_server_that_served_nobody_before_tells_nothing() -> None:
    asked = recovering(*[0.01] * 8)
    late = [replace(it, took_s=None) if it.began_s < 3 else it for it in asked.requests]
    found = attack_recovery.row(replace(asked, requests=late), 20.0)
    assert (found["recovery_time_s"], found[INVALID]) == (None, 1.0)
    assert found["why_invalid"] == "no request was served before the flood"


# --- memory


def holding(count: int, *, a_connection: int, queued: int) -> Any:
    """So many held, each of which takes so much."""
    grown = sample(105.0, 0.1, process=10_000_000 + count * a_connection, queued=count * queued)
    samples = [sample(100.0, 0.0), grown]
    totals = {"saturated": False, "held_max": count}
    return outcome(run("header-drip"), [0.01] * 10, samples=samples, attacker=totals)


def test_memory_of_a_connection_is_the_slope() -> None:
    found = attack_memory.row([holding(n, a_connection=5000, queued=700) for n in (100, 200, 400)])
    assert found["process_bytes_a_connection"] == pytest.approx(5000)
    assert found["kernel_bytes_a_connection"] == pytest.approx(700)
    assert found["bytes_a_connection"] == pytest.approx(5700)


def test_without_two_numbers_of_connections_there_is_no_slope() -> None:
    found = attack_memory.row([holding(64, a_connection=5000, queued=0)] * 2)
    assert (found["bytes_a_connection"], found[INVALID]) == (None, 1.0)
    assert found["why_invalid"] == "64 connections were held in each run"


# --- cost


def counted(**counts: int) -> Any:
    """Ten requests without an attack, for which the server computed 1 s."""
    return outcome(run(None), [0.01] * 10, counted={"bytes_in": 30_000, "bytes_out": 50_000, **counts})


def test_a_handshake_costs_what_was_computed_over_how_many_there_were() -> None:
    found = attack_cost.row(counted(), "none")
    assert found["server_cpu_a_handshake_s"] == pytest.approx(0.1)
    assert found["client_cpu_a_handshake_s"] == pytest.approx(0.01)
    assert found["bytes_to_server_a_handshake"] == 3000.0
    assert found["bytes_to_client_a_handshake"] == 5000.0
    assert found["bytes_a_handshake"] == 8000.0


def test_without_an_attack_handshake_and_request_are_told_apart() -> None:
    waited = [*[0.01] * 5, None, *[0.03] * 4]
    found = attack_cost.row(replace(counted(), requests=outcome(run(None), waited).requests), "none")
    # Half of what a request takes is its handshake; who was not served is in neither.
    assert (found["handshake_median_s"], found["request_median_s"]) == pytest.approx((0.005, 0.005))
    early = [replace(it, connected_s=None) for it in counted().requests]
    found = attack_cost.row(replace(counted(), requests=early), "none")
    assert (found["handshake_median_s"], found["request_median_s"]) == (None, None)


@pytest.mark.parametrize(
    ("resumption", "counts", "why"),
    [
        ("ticket", {"tickets_redeemed": 3}, "3 of 10 handshakes were resumed"),
        ("0-rtt", {"tickets_redeemed": 9, "early_data": 2}, "2 of 10 requests came as early data"),
        ("0-rtt", {"tickets_redeemed": 9, "early_data": 9}, ""),
        ("none", {}, ""),
    ],
)
def test_tickets_and_early_data_that_were_not_used_are_no_numbers(
    resumption: str, counts: dict[str, int], why: str
) -> None:
    found = attack_cost.row(counted(**counts), resumption)
    assert (found[INVALID], found["why_invalid"]) == (float(bool(why)), why)
    assert (found["server_cpu_a_handshake_s"] is None) == bool(why)


def test_each_control_stands_beside_the_attack_that_it_is_of() -> None:
    asked = attack_weaknesses.conditions(quick=False)
    own = [it for it in asked if it["server"] == "own"]
    weak = {(it["attack"], it["over"]) for it in own if it["bound"] == attack_weaknesses.WEAKENED}
    sound = {(it["attack"], it["over"]) for it in own if it["bound"] == attack_weaknesses.AS_IT_IS}
    assert weak < sound
    assert not any(it["bound"] == attack_weaknesses.WEAKENED for it in asked if it["server"] != "own")


def test_others_are_tried_over_tcp_with_what_our_own_server_is() -> None:
    own = [it for it in attack_weaknesses.conditions(quick=False) if it["server"] == "own"]
    asked = {(it["attack"], it["over"]) for it in own if it["over"] != H3}
    found = [(it["server"], it["attack"], it["over"]) for it in attack_weaknesses.over_tcp(quick=False)]
    assert sorted(found) == sorted((server, *it) for server in ("nginx", "caddy") for it in asked)


def test_an_old_library_stands_beside_one_with_its_bounds_and_in_full_alone() -> None:
    asked = attack_weaknesses.conditions(quick=False)
    tried = {
        name: {it["attack"] for it in asked if it["server"] == name} for name in ("quiche-old", "quiche")
    }
    assert (
        tried["quiche-old"]
        == tried["quiche"]
        == {"cid-exhaustion", "path-challenge", "crypto-after-handshake"}
    )
    quick = {it["server"] for it in attack_weaknesses.conditions(quick=True)}
    assert quick == {"own"}
    # Those whose bound lies in the library and no weakened server lacks have this control alone.
    without = {it.key for it in KINDS.values() if not it.weakness and it.key != FLOOD}
    assert without - tried["quiche"] == {"optimistic-ack", "zero-length"}


@pytest.mark.parametrize(
    ("grown_mb", "delays", "holds"),
    [
        (80, [0.01] * 10, 0.0),
        (60, [0.01] * 10, 1.0),
        (5, [0.01] * 8 + [None] * 2, 0.0),
        (5, [0.01] * 10, 1.0),
    ],
)
def test_an_old_library_is_judged_by_its_memory_and_its_service(
    grown_mb: int, delays: list[float | None], holds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the old one what is given; the later one stays as it was."""

    def play(asked: Run, _: Path | None = None) -> Outcome:
        if asked.attack is None or asked.server.key != "quiche-old":
            return outcome(asked, [0.01] * 10)
        samples = [sample(100.0, 0.0), sample(105.0, 0.5, process=(10 + grown_mb) * MB)]
        return outcome(asked, delays, samples=samples)

    monkeypatch.setattr(arena, "play", play)
    monkeypatch.setattr(attack_common, "there", lambda name: name in ("quiche-old", "quiche"))
    monkeypatch.setattr(attack_weaknesses, "facts", dict)
    found = attack_weaknesses.BENCH.measure(False, 1, told, Parts(tmp_path, {})).table.to_pylist()
    assert len(found) == 3 * 3 * 2
    assert {it["holds"] for it in found if it["server"] == "quiche-old"} == {holds}
    assert {it["holds"] for it in found if it["server"] == "quiche"} == {1.0}


def test_servers_of_libraries_are_held_to_no_time_out_that_they_were_not_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tight: dict[str, set[str]] = {"s2n-quic": set(), "aioquic": set()}

    def play(asked: Run, _: Path | None = None) -> Outcome:
        if asked.attack is None:
            return outcome(asked, [0.01] * 10)
        if asked.tight:
            tight[asked.server.key].add(asked.attack.kind.key)
        ended = (
            {"closed_0x9": 3, "closed": 1, "reset": 2} if asked.attack.kind.key == "cid-exhaustion" else {}
        )
        totals = {"offered": 1, "sent": 1, "saturated": False, "factor_max": 2.9, "connections_ended": ended}
        return outcome(asked, [0.01] * 10, attacker=totals)

    monkeypatch.setattr(arena, "play", play)
    monkeypatch.setattr(attack_common, "there", lambda _: True)
    monkeypatch.setattr(attack_weaknesses, "facts", dict)
    bench = attack_weaknesses.LIBRARIES
    table = bench.measure(False, 1, told, Parts(tmp_path, {})).table
    bench.check(table)
    assert tight == {"s2n-quic": {it.key for it in KINDS.values() if it.timed}, "aioquic": set()}
    closed = {(it["attack"], it[attack_weaknesses.CLOSED]) for it in table.to_pylist()}
    assert {it for it in closed if it[1] != 0.0} == {("cid-exhaustion", 4.0)}


def test_a_row_of_a_request_that_was_not_served_is_none_in_the_list() -> None:
    found = attack_common.sample(outcome(run(None), [0.1, None]), ("served_share",))
    assert found["delay_s"] == [0.1, None]
    assert found["outcome"] == ["ok", "timeout"]
    assert (found["connected_s"], found["first_byte_s"]) == ([0.05, None], [pytest.approx(0.08), None])
    assert request(0.0, 0.1).outcome == "ok"


def test_what_an_attacker_told_each_second_is_kept() -> None:
    told_of = [second(101.0, sent=90, failed=3), second(102.0, completed=40)]
    found = attack_common.sample(outcome(run(), [0.1] * 10, seconds=told_of), ("served_share",))
    each = {name: found[f"{name}_each_second"] for name in attack_common.EACH_SECOND}
    assert each == {"offered": [100, 100], "sent": [90, 100], "completed": [100, 40], "failed": [3, 0]}
    assert found["lasted_s_each_second"] == [1.0, 1.0]
    part = attack_common._part(lambda _: found, {"over": "h3"}, 1, 10)
    assert part["failed_each_second"].to_pylist() == [[3, 0]]
