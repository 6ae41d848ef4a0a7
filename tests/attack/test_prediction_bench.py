"""The bench of predictions: everything is foretold before the first of these loads is played."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gauntlet.attack import prediction
from gauntlet.attack.measures import INVALID
from gauntlet.attack.prediction import Costs, Figures
from gauntlet.attack.run import Outcome
from gauntlet.benches import attack_common, attack_prediction
from gauntlet.benches.contract import Measured
from gauntlet.benches.parts import Parts
from gauntlet.engine.virtual import Virtual
from tests.attack.factory import outcome, run

COSTS = Costs(handshake_s=0.0008, request_s=0.0002)
FOUND_PER_S, FOUND_P99_S = 101.0, 0.01
"""What a made-up run comes to (tests/benchmarks/test_prediction.py)."""


class Engine:
    """In the place of the virtual ground."""

    def identity(self) -> dict[str, str]:
        return {"kernel": "made up"}


class Laboratory:
    """In the place of the machine and of virtual time: what was asked of them, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.did: list[tuple[str, str, float]] = []
        self.foretold = Figures(1.1 * FOUND_PER_S, 0.9 * FOUND_P99_S)
        self.spoilt: Mapping[str, Any] = {}
        """What is different in runs on the machine."""
        monkeypatch.setattr(Virtual, "installed", Engine)
        monkeypatch.setattr(prediction, "learn", self._learn)
        monkeypatch.setattr(prediction, "predict", self._predict)
        monkeypatch.setattr(prediction, "play_host", self._play)
        monkeypatch.setattr(attack_prediction, "facts", dict)
        monkeypatch.setattr(attack_common, "there", lambda _: True)

    def _learn(self, over: str, *_: Any) -> Costs:
        self.did.append(("learnt", over, 0.0))
        return COSTS

    def _predict(self, over: str, load: float, costs: Costs, _: Any) -> Figures:
        assert costs == COSTS
        self.did.append(("foretold", over, load))
        return self.foretold

    def _play(self, over: str, per_s: float, *, asks: bool, folder: Path) -> Outcome:
        assert asks
        self.did.append(("played", over, per_s))
        return outcome(run(protocol=over), [FOUND_P99_S] * 10, **self.spoilt)


@pytest.fixture
def laboratory(monkeypatch: pytest.MonkeyPatch) -> Laboratory:
    return Laboratory(monkeypatch)


def told(_: str) -> None:
    """Nobody to be told."""


def measured(folder: Path) -> Measured:
    found = attack_prediction.BENCH.measure(False, 3, told, Parts(folder, {}))
    attack_prediction.BENCH.check(found.table)
    return found


def test_conditions_are_the_loads_that_were_held_out() -> None:
    asked = attack_prediction.conditions(quick=False)
    assert asked == [
        {"over": over, "load": load} for over, loads in prediction.HELD_OUT.items() for load in loads
    ]
    assert all(it in asked for it in attack_prediction.conditions(quick=True))


def test_nothing_is_played_before_everything_is_foretold(laboratory: Laboratory, tmp_path: Path) -> None:
    measured(tmp_path)
    kinds = [kind for kind, _, _ in laboratory.did]
    loads = len(attack_prediction.conditions(quick=False))
    assert kinds == ["learnt"] * 2 + ["foretold"] * loads + ["played"] * 3 * loads
    floods = {(over, per_s) for kind, over, per_s in laboratory.did if kind == "played"}
    assert floods == {
        (over, prediction.flood_per_s(load, COSTS))
        for over, held_out in prediction.HELD_OUT.items()
        for load in held_out
    }


def test_ratios_are_what_was_foretold_over_what_was_found(laboratory: Laboratory, tmp_path: Path) -> None:
    for row in measured(tmp_path).table.to_pylist():
        assert (row["completed_ratio"], row["p99_ratio"]) == pytest.approx((1.1, 0.9))
        assert (row["completed_per_s"], row["p99_s"]) == pytest.approx((FOUND_PER_S, FOUND_P99_S))
        assert row[INVALID] == 0.0


def test_an_invalid_run_has_what_was_foretold_alone(laboratory: Laboratory, tmp_path: Path) -> None:
    laboratory.spoilt = {"others_of_a_core": 0.9}
    found = measured(tmp_path)
    for row in found.table.to_pylist():
        assert row[INVALID] == 1.0
        assert row["foretold_completed_per_s"] == pytest.approx(1.1 * FOUND_PER_S)
        for name in ("completed_per_s", "p99_s", "completed_ratio", "p99_ratio"):
            assert row[name] is None, name
    (why,) = set(found.raw["runs"]["why_invalid"].to_pylist())
    assert why.startswith("something else on this machine took 90% of a core")


def test_a_delay_beyond_the_limit_is_compared_with_nothing(laboratory: Laboratory, tmp_path: Path) -> None:
    laboratory.foretold = Figures(FOUND_PER_S, None)
    for row in measured(tmp_path).table.to_pylist():
        assert (row["p99_ratio"], row["foretold_p99_s"]) == (None, None)
        assert row["completed_ratio"] == pytest.approx(1.0)


def test_who_is_stopped_learns_and_foretells_no_second_time(laboratory: Laboratory, tmp_path: Path) -> None:
    once = measured(tmp_path)
    laboratory.did.clear()
    assert measured(tmp_path).table.equals(once.table)
    assert laboratory.did == []
