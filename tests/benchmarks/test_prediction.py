"""What a prediction is made of: costs from computing time, a flood at even distances, and when one holds."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

import prediction
from gauntlet.attack.kinds import FLOOD, H2, H3, KINDS
from gauntlet.attack.prediction import (
    AHEAD_S,
    BEGINS_S,
    CLIENT,
    HELD_OUT,
    LEARNT,
    Costs,
    Figures,
    Work,
    fit,
    flood_per_s,
    flows,
    foretold,
    longest_s,
    observed,
    plan,
    work,
)
from gauntlet.attack.run import Attack
from gauntlet.attack.share import OF_A_CORE
from gauntlet.errors import RunError
from gauntlet.experiment.plan_schema import Plan
from prediction import COMPLETED, DELAY, Row, code, figure
from tests.attack.factory import outcome, run

COSTS = Costs(handshake_s=0.0008, request_s=0.0002)
"""200 sessions a second, of a fifth of a core."""


def test_nothing_is_predicted_from_what_was_learnt() -> None:
    assert all(not set(levels) & set(LEARNT) for levels in HELD_OUT.values())
    assert all(level < 1 for level in HELD_OUT[H3])
    assert max(HELD_OUT[H2]) > 1


def test_costs_are_those_that_made_the_computing_time() -> None:
    counted = [(45.0, 45.0), (45.0, 25.0), (120.0, 120.0), (120.0, 25.0)]
    exact = [Work(h, r, 0.0008 * h + 0.0002 * r) for h, r in counted]
    found = fit(exact)
    assert (found.handshake_s, found.request_s) == pytest.approx((0.0008, 0.0002))
    assert found.capacity_per_s == pytest.approx(200.0)
    # One that was counted 10 % too high moves both; where the squares are least, their slopes are nothing.
    off = [*exact[:-1], replace(exact[-1], cpu_of_a_core=1.1 * exact[-1].cpu_of_a_core)]
    best = fit(off)
    left = [it.cpu_of_a_core - best.handshake_s * it.handshakes_per_s - best.request_s * it.requests_per_s
            for it in off]  # fmt: skip
    for slope in (
        math.fsum(rest * it.handshakes_per_s for rest, it in zip(left, off, strict=True)),
        math.fsum(rest * it.requests_per_s for rest, it in zip(left, off, strict=True)),
    ):
        assert slope == pytest.approx(0, abs=1e-9)
    assert best.handshake_s > 0.0008


def test_no_cost_is_below_nothing() -> None:
    found = fit([Work(100.0, 100.0, 0.09), Work(100.0, 20.0, 0.10)])
    assert found.request_s == 0.0
    assert found.handshake_s == pytest.approx(0.00095)  # for each of 100 handshakes, the mean of both
    found = fit([Work(100.0, 20.0, 0.01), Work(20.0, 100.0, 0.10)])
    assert found.handshake_s == 0.0
    assert found.request_s == pytest.approx((20 * 0.01 + 100 * 0.10) / (20**2 + 100**2))


def test_costs_that_cannot_be_told_apart_are_no_costs() -> None:
    with pytest.raises(RunError, match="cannot be told apart"):
        fit([Work(45.0, 45.0, 0.045), Work(120.0, 120.0, 0.12)])


def test_a_processor_is_slower_by_the_share_that_the_server_has() -> None:
    processor = COSTS.processor()
    assert processor["handshake_ns"] == round(0.0008 / OF_A_CORE * 1e9)
    assert processor["request_ns"] == round(0.0002 / OF_A_CORE * 1e9)
    busy_s = (processor["handshake_ns"] + processor["request_ns"]) / 1e9
    assert COSTS.capacity_per_s * busy_s == pytest.approx(1.0)


def test_flood_and_honest_client_are_the_load_together() -> None:
    assert flood_per_s(0.8, COSTS) + 1 / CLIENT.interval_s == pytest.approx(0.8 * 200.0)
    with pytest.raises(RunError, match="the honest client alone begins 25"):
        flood_per_s(0.3, Costs(0.01, 0.0))


@pytest.mark.parametrize(
    ("per_s", "lasts_s", "patience_s"), [(65.0, 19.0, 0.1), (205.17, 19.0, 3.6), (2.0, 1.0, 9.0)]
)
def test_flows_share_sessions_at_even_distances(per_s: float, lasts_s: float, patience_s: float) -> None:
    made = flows(H2, per_s, 1.5, lasts_s, patience_s=patience_s, first=7)
    assert [flow["id"] for flow in made] == [f"f{7 + place}" for place in range(len(made))]
    begun = []
    for flow in made:
        message = flow["app_params"]
        # A message at its beginning and after each interval within its duration, as `periodic` has them.
        sessions = math.ceil(message["duration_s"] / message["interval_s"])
        assert sessions == 1 or message["interval_s"] >= patience_s - 1e-9
        begun += [flow["start_s"] + turn * message["interval_s"] for turn in range(sessions)]
    assert sorted(begun) == pytest.approx([1.5 + n / per_s for n in range(math.ceil(lasts_s * per_s))])


@pytest.mark.parametrize(("protocol", "level"), [(it, level) for it in HELD_OUT for level in HELD_OUT[it]])
def test_every_load_is_a_plan(protocol: str, level: float) -> None:
    made, honest = plan(protocol, level, COSTS)
    Plan.model_validate({"format": "gauntlet-plan", "version": 1, "runs": [made]})
    starts = [flow["start_s"] for flow in made["flows"]]
    assert min(starts[:honest]) == BEGINS_S
    assert min(starts[honest:]) == BEGINS_S + AHEAD_S
    # What waits at the end of a flood beyond the server's means is over before its flow is due again.
    waits_s = max(0.0, (level - 1) / level * (AHEAD_S + CLIENT.sends_s))
    assert longest_s(level) > waits_s


def _exchanges(made: Mapping[str, Any], honest: int, took_s: float, slow: int = 0) -> list[dict[str, Any]]:
    """Each session takes so long; of the honest client's the first ones never end."""
    rows, left = [], slow
    for place, flow in enumerate(made["flows"]):
        message = flow["app_params"]
        for seq in range(math.ceil(message["duration_s"] / message["interval_s"])):
            begun_ns = round((flow["start_s"] + seq * message["interval_s"]) * 1e9)
            never = place >= honest and left > 0
            left -= never
            done_ns = None if never else begun_ns + round(took_s * 1e9)
            rows.append({"flow": place, "seq": seq, "requested_ns": begun_ns, "completed_ns": done_ns})
    return rows


def test_what_is_foretold_is_of_the_window_of_the_honest_client() -> None:
    made, honest = plan(H3, 0.8, COSTS)
    found = foretold(made, _exchanges(made, honest, 0.02), honest)
    assert found.completed_per_s == pytest.approx(160.0, rel=0.005)
    assert found.p99_s == pytest.approx(0.02)
    # Four of 400 may take for ever, five are more than a hundredth.
    assert foretold(made, _exchanges(made, honest, 0.02, slow=4), honest).p99_s == pytest.approx(0.02)
    assert foretold(made, _exchanges(made, honest, 0.02, slow=5), honest).p99_s is None


def test_a_flood_that_came_late_foretells_nothing() -> None:
    made, honest = plan(H3, 0.8, COSTS)
    rows = _exchanges(made, honest, 0.02)
    rows[3]["requested_ns"] += 2_000_000
    with pytest.raises(RunError, match=r"0\.002 s late"):
        foretold(made, rows, honest)


def test_what_is_observed_counts_attacker_and_client() -> None:
    found = observed(outcome(run(), [0.01] * 10))
    assert found.completed_per_s == pytest.approx(101.0)
    assert found.p99_s == pytest.approx(0.01)
    assert observed(outcome(run(), [0.01] * 9 + [None])).p99_s is None


def test_a_handshake_without_a_request_is_counted_as_one() -> None:
    asked = run()
    with_request = work(outcome(asked, [0.01] * 10))
    assert (with_request.handshakes_per_s, with_request.requests_per_s) == pytest.approx((101.0, 101.0))
    silent = replace(KINDS[FLOOD], more=("--no-request",))
    without = work(outcome(replace(asked, attack=Attack(silent, 100.0, 10)), [0.01] * 10))
    assert (without.handshakes_per_s, without.requests_per_s) == pytest.approx((101.0, 1.0))
    assert without.cpu_of_a_core == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("predicted", "seen", "verdict"),
    [
        (114.0, [99.0, 100.0, 101.0], "holds"),
        (86.0, [99.0, 100.0, 101.0], "holds"),
        (116.0, [99.0, 100.0, 101.0], "FAILS"),
        (84.0, [99.0, 100.0, 101.0], "FAILS"),
        (math.inf, [99.0, 100.0, 101.0], "FAILS"),
        (100.0, [99.0, 101.0], "cannot be told"),
        (100.0, [99.0, 100.0, 120.0], "cannot be told"),
        (200.0, [99.0, 100.0, math.inf], "cannot be told"),
        (100.0, [math.inf] * 3, "FAILS"),
        (math.inf, [math.inf] * 3, "holds"),
        (100.0, [0.0] * 3, "FAILS"),
    ],
)
def test_when_a_prediction_holds(predicted: float, seen: Sequence[float], verdict: str) -> None:
    row = Row(H3, 0.8, DELAY, predicted, seen)
    assert row.verdict == verdict
    json.dumps(row.content(), allow_nan=False)


def test_one_failure_decides_and_doubt_is_no_success() -> None:
    holds, fails = (Row(H2, 0.8, COMPLETED, it, [100.0] * 3) for it in (100.0, 200.0))
    doubted = Row(H2, 0.8, COMPLETED, 100.0, [])
    assert [code(rows) for rows in ([holds], [holds, doubted], [holds, doubted, fails])] == [0, 2, 1]
    assert "cannot be told" in prediction.table([holds, doubted])


def test_a_delay_beyond_the_limit_is_infinite() -> None:
    assert figure(Figures(10.0, None), DELAY) == math.inf
    assert figure(Figures(10.0, 0.5), DELAY) == 0.5
    assert figure(Figures(10.0, None), COMPLETED) == 10.0
