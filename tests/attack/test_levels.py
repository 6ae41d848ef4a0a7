"""Levels of a flood: what a server completes at most, and what is offered by it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gauntlet.attack import arena
from gauntlet.attack.measures import INVALID
from gauntlet.attack.run import Outcome, Run
from gauntlet.benches import attack_common, attack_flood, attack_levels, attack_recovery
from gauntlet.benches.attack_levels import Search
from gauntlet.benches.parts import Parts
from gauntlet.errors import RunError
from tests.attack.factory import outcome, second

MOST_PER_S = {"own": 600.0, "nginx": 400.0}
SEARCH = Search(100.0, 1.3, 2, 3, 5.0)
BOTH = [{"server": it} for it in MOST_PER_S]


def told(_: str) -> None:
    """Nobody to be told."""


class Machine:
    """In the place of the laboratory: servers that complete so many a second, and fewer the more they are
    overrun; an attacker whom one beginning costs as much as is said.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[Run] = []
        self.attacker_s = 0.0004
        self.spoilt: list[Mapping[str, Any]] = []
        """What is different in the first runs."""
        self.wavers = 0.0
        """By how much what is completed falls from run to run."""
        self.overrun = 0.1
        """What a server completes less for each beginning beyond what it can do."""
        monkeypatch.setattr(arena, "play", self._play)
        for module in (attack_common, attack_levels):
            monkeypatch.setattr(module, "there", lambda _: True)
        for module in (attack_common, attack_flood, attack_recovery):
            monkeypatch.setattr(module, "facts", dict)

    def _play(self, run: Run, _: Path | None = None) -> Outcome:
        self.asked.append(run)
        rate = run.attack.dose if run.attack else 0.0
        most = MOST_PER_S[run.server.key] - self.wavers * len(self.asked)
        completed = min(rate, most) - self.overrun * max(0.0, rate - most)
        each = {"offered": rate, "sent": rate, "completed": completed, "cpu_ns": rate * self.attacker_s * 1e9}
        seconds, began_s = run.attack.seconds if run.attack else 0, 100.0 + run.attack_at_s
        told_of = [second(began_s + at, number=at, **each) for at in range(1, seconds + 1)]
        of_it = {"attack_began_s": began_s, "attack_ended_s": began_s + seconds} if run.attack else {}
        more = self.spoilt.pop(0) if self.spoilt else {}
        return outcome(run, [0.01] * run.client.requests, **{"seconds": told_of, **of_it, **more})


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def levels(folder: Path, search: Search = SEARCH) -> attack_levels.Levels:
    return attack_levels.levels(BOTH, search, told, Parts(folder, {}), {})


def test_a_level_is_a_multiple_of_what_the_server_itself_completes_at_most(
    machine: Machine, tmp_path: Path
) -> None:
    found = levels(tmp_path)
    for server, most in MOST_PER_S.items():
        # Beside the attacker's the few honest requests are completed; between two rates some of it is missed.
        assert 0.92 * most < found.capacities[server].per_s <= most + 2
        assert found.offered_per_s(server, 1.5) == pytest.approx(
            1.5 * found.capacities[server].per_s, abs=0.1
        )
    assert {it.protocol for it in machine.asked} == {"h2"}
    rates = [it.attack.dose for it in machine.asked if it.attack and it.server.key == "nginx"]
    assert rates[:3] == [100.0, 130.0, 169.0]
    for server in MOST_PER_S:
        again = [it for it in found.table.to_pylist() if (it["server"], it["repetition"]) == (server, 2)]
        kept_up = [it["completed_per_s"] >= 0.9 * it["offered_per_s"] for it in again]
        assert kept_up[:3] == [True, True, False], "it begins a little below what filled the server"
        assert len(again) == 3 + SEARCH.halvings


def test_what_a_server_can_do_is_sought_between_the_rates_where_it_breaks_down_when_overrun(
    machine: Machine, tmp_path: Path
) -> None:
    machine.overrun = 5.0
    coarse = levels(tmp_path / "coarse", replace(SEARCH, halvings=0)).capacities
    fine = levels(tmp_path / "fine").capacities
    assert coarse["own"].per_s < 0.85 * MOST_PER_S["own"]
    for server, most in MOST_PER_S.items():
        assert 0.93 * most < fine[server].per_s <= most + 2


def test_where_the_first_rate_fills_a_server_nothing_lies_below_it(machine: Machine, tmp_path: Path) -> None:
    found = levels(tmp_path, replace(SEARCH, first_per_s=1000.0, repetitions=1))
    assert found.table.column("offered_per_s").to_pylist() == [1000.0, 1000.0]


def test_a_capacity_has_its_interval_over_repetitions(machine: Machine, tmp_path: Path) -> None:
    machine.wavers = 1.0
    it = levels(tmp_path).capacities["own"]
    assert it.repetitions == 3
    assert it.low_per_s is not None
    assert it.high_per_s is not None
    assert it.low_per_s < it.per_s < it.high_per_s
    one = levels(tmp_path / "one", replace(SEARCH, repetitions=1)).capacities["own"]
    assert (one.low_per_s, one.high_per_s) == (None, None)


def test_every_protocol_is_offered_the_same_of_the_servers_own(machine: Machine, tmp_path: Path) -> None:
    found = attack_flood.BENCH.measure(False, 1, told, Parts(tmp_path, {}))
    capacities = {name: it["per_s"] for name, it in found.machine["capacities_per_s"].items()}
    assert capacities["own"] > 1.3 * capacities["nginx"]
    floods = machine.asked[found.raw["capacities"].num_rows :]
    doses: dict[tuple[str, str], Counter[float]] = {}
    for run in floods:
        if run.attack and run.attack.kind.key == "flood" and run.defence == "off":
            doses.setdefault((run.server.key, run.protocol), Counter())[run.attack.dose] += 1
    for server, capacity in capacities.items():
        assert doses[server, "h2"] == doses[server, "h3"]
        assert sorted(doses[server, "h3"]) == [round(it * capacity, 1) for it in (0.5, 1.0, 1.5, 2.0)]
    for row in found.table.to_pylist():
        assert row["capacity_per_s"] == capacities[row["server"]]
        assert row["capacity_low_per_s"] <= row["capacity_per_s"] <= row["capacity_high_per_s"]
    attack_flood.BENCH.check(found.table)


@pytest.mark.parametrize("bench", [attack_flood.BENCH, attack_recovery.BENCH], ids=lambda it: it.name)
def test_a_level_beyond_what_the_attacker_can_offer_is_invalid_and_not_played(
    bench: Any, machine: Machine, tmp_path: Path
) -> None:
    """90 % of its core are 900 beginnings a second: twice 400 is within that, and twice 600 is not."""
    machine.attacker_s = 0.001
    found = bench.measure(False, 1, told, Parts(tmp_path, {}))
    beyond = [it for it in found.raw["runs"].to_pylist() if it["server"] == "own" and it["load"] == 2.0]
    assert beyond
    for row in beyond:
        assert row[INVALID] == 1.0
        assert row["why_invalid"].startswith("the attacker can begin at most 900 a second, and this level")
    others = [it for it in found.table.to_pylist() if it["server"] == "nginx" or it["load"] < 2.0]
    assert {it[INVALID] for it in others} == {0.0}
    assert max(it.attack.dose for it in machine.asked if it.attack) < 900.0
    bench.check(found.table)


def test_a_rate_that_was_disturbed_is_played_again_and_not_for_ever(machine: Machine, tmp_path: Path) -> None:
    undisturbed = levels(tmp_path / "calm").capacities
    machine.spoilt = [{"others_of_a_core": 0.6}] * 2
    assert levels(tmp_path / "twice").capacities == undisturbed
    machine.spoilt = [{"others_of_a_core": 0.6}] * 3
    with pytest.raises(
        RunError,
        match=r"no unit: 3 runs at 100 a second tell nothing, since .*60% of a core, and 25% are allowed\.",
    ):
        levels(tmp_path / "often")
    machine.spoilt = [{"died": "signal 6"}] * 3
    with pytest.raises(RunError, match="signal 6"):
        levels(tmp_path / "died")


def test_capacities_stay_when_a_bench_is_stopped(machine: Machine, tmp_path: Path) -> None:
    first = levels(tmp_path)
    played = len(machine.asked)
    assert levels(tmp_path).capacities == first.capacities
    assert len(machine.asked) == played
