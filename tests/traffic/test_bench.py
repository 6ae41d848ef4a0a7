"""The bench of traffic analysis: every trial of its plan, from visits that are played once."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gauntlet.benches import traffic_sites
from gauntlet.benches.parts import Parts
from gauntlet.executor import engines
from gauntlet.traffic.attacks import forest
from gauntlet.traffic.sequences import TCP_CONTROL, TCP_DATA, Sequences
from gauntlet.traffic.visits import Visits
from tests.traffic import factory


class Engine:
    """In the place of the virtual ground."""

    def identity(self) -> dict[str, str]:
        return {"kernel": "made up"}

    describe = identity


class Played:
    """In the place of the guest: sites whose packets differ a little."""

    def __init__(self) -> None:
        self.asked: list[Visits] = []

    def __call__(self, asked: Visits) -> Sequences:
        self.asked.append(asked)
        made = factory.visits(
            {site: range(100 + 40 * (site % 30), 140 + 40 * (site % 30)) for site in asked.sites},
            sessions=asked.sessions,
            in_a_session=asked.visits,
            seed=asked.seed % 1000,
        )
        if asked.version != "h2":
            return made
        return replace(made, kind=np.where(made.place == 0, TCP_CONTROL, TCP_DATA))


def told(_: str) -> None:
    """Nobody to be told."""


@pytest.mark.parametrize("quick", [True, False])
def test_no_trial_is_planned_twice(quick: bool) -> None:
    asked = [tuple(one.values()) for one in traffic_sites.conditions(quick)]
    assert len(set(asked)) == len(asked)


def test_a_first_look_has_every_trial_and_plays_each_visit_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("sklearn")
    play = Played()
    monkeypatch.setattr(traffic_sites, "played", play)
    monkeypatch.setattr(engines, "installed", Engine)
    monkeypatch.setattr(forest, "TREES", 10)
    parts = Parts(tmp_path, {})
    words: list[str] = []
    found = traffic_sites.BENCH.measure(True, 7, words.append, parts)
    kinds = ["trial" if ": trial " in it else "visits" for it in words]
    assert kinds == sorted(kinds, reverse=True), "no visit is played by a process that has learnt"
    traffic_sites.BENCH.check(found.table)
    plan = traffic_sites.BENCH.quick
    assert found.table.num_rows == plan.repetitions * plan.details["trials"]
    rows = found.table.to_pylist()
    conditions = {tuple(row[name] for name in plan.factors) for row in rows}
    assert len(conditions) == plan.details["trials"], "no trial stands twice"
    for row in rows:
        assert 0 <= row["micro_f1_low"] <= row["micro_f1"] <= row["micro_f1_high"] <= 1
        assert (row["found"] is None) == (row["world"] == "closed")
        assert (row["byte_overhead"] is None) == (row["padding"] == "none")
        assert (row["correct_if_quic_data"] is None) == (
            row["tried"] == "h2" or row["without"] == "quic-data"
        )
    usual = [row["micro_f1"] for row in rows if row["learnt"] == row["tried"] and row["unit"] == "visit"]
    assert np.mean(usual) > 0.7
    groups, versions = 1, 2
    assert len(play.asked) == plan.repetitions * versions * (1 + groups)
    assert len({site for it in play.asked for site in it.sites}) == plan.repetitions * (3 + 5)
    monkeypatch.setattr(traffic_sites, "told", lambda *_: pytest.fail("a trial that is there is tried again"))
    again = traffic_sites.BENCH.measure(True, 7, told, parts)
    assert again.table.equals(found.table)
    assert len(play.asked) == plan.repetitions * versions * (1 + groups), (
        "visits that are there are not played again"
    )


def test_sessions_of_other_sites_tell_nothing_of_whether_a_site_is_monitored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    play = Played()
    monkeypatch.setattr(traffic_sites, "played", play)
    scale = replace(traffic_sites._QUICK, others=10)
    others = Sequences.from_table(traffic_sites._others(scale, 1, "h3", 5))
    assert len(others) == 10
    assert sorted(set(others.session.tolist())) == [1001, 1002]
    assert len({it.seed for it in play.asked}) == 2, "each group has content and delays of its own"
