"""One number a repetition from flows that failed, were not trusted, or belong together."""

import math
from typing import Any

import pyarrow as pa
import pytest

from gauntlet.errors import NotMeasured
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.quantity import Quantity
from gauntlet.metrics.selected import Selected
from gauntlet.studies.select import by_repetition
from tests.studies.factory import flows, summary

EASY, HARD = 0.0, 0.01
BBR = {"protocol": "tcp-bbr"}


def table(easy: list[float | None], hard: list[float | None], **columns: list[Any]) -> pa.Table:
    """Repetitions of one protocol under an easy and a hard condition, the easy ones first."""
    return flows({("tcp-bbr", EASY): easy, ("tcp-bbr", HARD): hard}, **columns)


def selected(of: pa.Table, kpi: str = "throughput_bps", **quantity: Any) -> Selected:
    return by_repetition(summary(of), "cbr", BBR, Quantity(kpi, **quantity))


def test_a_transfer_that_always_fails_at_one_condition_counts_there_with_its_limit() -> None:
    """Averaged over the easy condition alone it would take 10 s."""
    ended = [True] * 3 + [False] * 3
    found = selected(
        table(
            [1e6] * 3,
            [None] * 3,
            completed=ended,
            download_time_s=[10.0] * 3 + [None] * 3,
            given_s=[90.0] * 6,
        ),
        "download_time_s",
    )
    assert found.values == {1: 50.0, 2: 50.0, 3: 50.0}
    assert "3 of 6 flows did not end and count with the limit" in found.left_out.words


def test_a_delay_that_never_came_to_be_at_one_condition_leaves_no_number() -> None:
    ended = [True] * 3 + [False] * 3
    found = selected(
        table([1e6] * 3, [None] * 3, completed=ended, delay_p95_s=[0.1] * 3 + [None] * 3), "delay_p95_s"
    )
    assert (found.values, found.never) == ({}, 3)
    with pytest.raises(NotMeasured, match="In 3 of 3 repetitions there is no number"):
        found.mean()


def test_the_delays_of_what_a_failed_flow_brought_are_not_its_delays() -> None:
    """It brought a few messages, quickly, and died."""
    ended = [True] * 3 + [False] * 3
    given: dict[str, Any] = {"completed": ended, "given_s": [90.0] * 6, "delay_p95_s": [0.1] * 6}
    assert selected(table([1e6] * 3, [1e6] * 3, **given), "delay_p95_s").values[1] == pytest.approx(45.05)
    assert selected(table([1e6] * 3, [1e6] * 3, **given), "delay_s", quantile=0.5).never == 3
    for bounds, share in (((0.0, 1.0), 0.5), ((1.0, math.inf), 0.5)):
        found = selected(table([1e6] * 3, [1e6] * 3, **given), "delay_s", between=bounds)
        assert found.values[1] == pytest.approx(share, abs=0.01)


def test_a_limit_is_common_to_all_conditions() -> None:
    """The mean is restricted at the smallest limit: above it not all is known."""
    found = selected(
        table(
            [1e6] * 2,
            [1e6] * 2,
            completed=[True, True, True, False],
            download_time_s=[80.0, 10.0, 10.0, None],
            given_s=[90.0, 90.0, 90.0, 50.0],
        ),
        "download_time_s",
    )
    assert found.values == {1: (50.0 + 10.0) / 2, 2: (10.0 + 50.0) / 2}


def test_a_run_of_which_one_flow_has_no_number_is_not_combined_over_the_others() -> None:
    two = table([1e6, 1e6], [None, 3e6])
    runs = [f"r{number}" for number in (1, 2, 1, 2)]
    two = two.set_column(0, "run", [runs]).set_column(1, "flow", [[0, 0, 1, 1]])
    two = two.set_column(two.column_names.index("loss"), "loss", [[EASY] * 4])
    assert selected(two).values == {2: 2e6}


@pytest.mark.parametrize(
    ("bounds", "share"), [((0.0, 60.0), 0.0), ((60.0, math.inf), 1.0), ((95.0, math.inf), 0.0)]
)
def test_the_share_of_transfers_that_did_not_end(bounds: tuple[float, float], share: float) -> None:
    """Given 90 s: they took longer than 60 s, and nothing says that they took longer than 95 s."""
    given: dict[str, Any] = {"completed": [False] * 4, "given_s": [90.0] * 4, "download_time_s": [None] * 4}
    given["download_time_s"] = pa.array([None] * 4, pa.float64())
    found = selected(table([None] * 2, [None] * 2, **given), "download_time_s", between=bounds)
    assert set(found.values.values()) == {share}


def test_a_quantity_that_says_nothing_of_failed_flows_has_no_number_of_them() -> None:
    given: dict[str, Any] = {"completed": [True] * 2 + [False] * 2}
    given["own_s"] = pa.array([1.0, 1.0, None, None], pa.float64())
    found = selected(table([1e6] * 2, [1e6] * 2, **given), "own_s")
    assert (found.values, found.never) == ({}, 2)
    share = selected(table([1e6] * 2, [1e6] * 2, **given), "own_s", between=(0.5, 2.0))
    assert set(share.values.values()) == {0.5}


def _own(name: str, *, higher: bool, **facts: Any) -> dict[str, Kpi]:
    """A study's own measure that tells of what arrived."""
    return {name: Kpi(name, name, "", 1.0, higher, "", of_arrived=True, **facts)}


@pytest.mark.parametrize(
    ("measures", "failed"),
    [
        (_own("own_bps", higher=True), 0.0),
        (_own("own_s", higher=False), 90.0),
        (_own("own_ratio", higher=False, most=1.0), 1.0),
        (_own("own_count", higher=False), None),
    ],
)
def test_a_studys_own_measure_of_what_arrived_does_not_praise_a_flow_that_failed(
    measures: dict[str, Kpi], failed: float | None
) -> None:
    """Both have 0.5: one of all that it was to do, one of what it did before it broke."""
    (name,) = measures
    given: dict[str, Any] = {"completed": [True] * 2 + [False] * 2, "given_s": [90.0] * 4, name: [0.5] * 4}
    of = summary(table([1e6] * 2, [1e6] * 2, **given))
    found = by_repetition(of, "cbr", BBR, Quantity(name), measures=measures)
    if failed is None:
        assert (found.values, found.never) == ({}, 2)
    else:
        assert set(found.values.values()) == {(0.5 + failed) / 2}


def test_repeats_in_which_nothing_arrived_are_not_called_deterministic() -> None:
    """Equal zeros do not show that nothing was drawn."""
    for received, repeated in ((7, True), (0, False)):
        found = selected(table([0.0] * 3, [0.0] * 3, received_messages=[received] * 6))
        assert found.deterministic is repeated
