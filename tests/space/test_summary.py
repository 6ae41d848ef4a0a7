"""What the raw samples of the bench of a command link are made into."""

import numpy as np
import pytest

from gauntlet.space import summary

from .samples import blocks, handshake, sample, table


def test_rows_are_grouped_whatever_their_order() -> None:
    rows = [
        sample(order=3, total_ns=3),
        sample(order=1, total_ns=9, operation="process"),
        sample(order=2, total_ns=2, gap_ms=10),
        sample(order=1, total_ns=1),
    ]
    found = {key[-2:]: list(group["total_ns"]) for key, group in summary.groups(table(rows), summary.CELL)}
    assert found == {(0, "apply"): [1, 3], (0, "process"): [9], (10, "apply"): [2]}
    assert list(summary.groups(table(rows)[:0], summary.CELL)) == []


def test_a_median_is_taken_in_each_block_and_its_interval_is_that_of_the_blocks() -> None:
    # One block was disturbed as a whole: a million samples in it would not make the interval narrower.
    (row,) = summary.messages(table(blocks([[1000, 1100, 90_000], [1200, 1200, 1200], [1000, 1000, 1000]])))
    assert (row["n"], row["blocks"]) == (9, 3)
    assert row["median_us"] == pytest.approx(1.1)
    assert row["median_low_us"] < 1.0 and row["median_high_us"] > 1.2
    assert (row["crypto_median_us"], row["framing_median_us"]) == (0.5, 0.6)
    assert row["system_call_median_us"] == 4
    assert row["p99_us"] > 80
    assert row["mean_us"] == pytest.approx(10.967, abs=0.001)
    assert row["upkeep_mean_us"] is None


def test_what_has_no_meter_has_no_split() -> None:
    rows = [*blocks([[1000], [1000]], crypto_ns=None), *blocks([[1000], [1000]], security="tls")]
    split, unsplit = sorted(summary.messages(table(rows)), key=lambda row: row["security"], reverse=True)
    assert unsplit["crypto_median_us"] is None and unsplit["framing_median_us"] is None
    assert split["crypto_median_us"] == 0.5


def test_what_is_done_after_a_message_is_the_receivers() -> None:
    (row,) = summary.messages(table(blocks([[1], [1]], operation="process", upkeep_ns=700)))
    assert row["upkeep_mean_us"] == 0.7


def test_a_handshake_has_both_ends_and_their_sum() -> None:
    kinds = [handshake(block=block, space_cpu_ns=500_000 + 1000 * block) for block in range(3)]
    (row,) = summary.handshakes(table(kinds))
    assert (row["ground_median_us"], row["space_median_us"], row["total_median_us"]) == (300, 501, 801)
    assert row["total_low_us"] < 801 < row["total_high_us"]
    assert (row["n"], row["blocks"], row["mutual"], row["round_trips"]) == (3, 3, True, 1)


def test_early_messages_wait_for_no_round_trip() -> None:
    kinds = [handshake(block=block, resumption="0-rtt", early=True) for block in range(3)]
    (row,) = summary.handshakes(table(kinds))
    assert row["round_trips"] == 0


def test_a_handshake_is_worth_as_many_messages_as_cost_the_same() -> None:
    rows = [
        *blocks([[2000], [2000], [2000]]),
        *blocks([[1000], [1500], [500]], operation="process"),
        *blocks([[40_000]] * 3, gap_ms=2000),
        *blocks([[40_000]] * 3, gap_ms=2000, operation="process"),
        *blocks([[9]] * 3, gap_ms=10),
        *blocks([[9]] * 3, gap_ms=10, operation="process"),
    ]
    kinds = [handshake(block=block, order=block) for block in range(5)]
    kinds += [handshake(block=block, cipher="aes-128-gcm") for block in range(5)]
    found = {(row["gap_ms"], row["side"]): row for row in summary.break_even(table(rows), table(kinds))}
    # Warm and coldest, each for both ends and each; other ciphers and gaps in between are left out.
    assert found.keys() == {(gap, side) for gap in (0, 2000) for side in ("ground", "space", "both")}
    row = found[0, "both"]
    assert row["messages"] == pytest.approx(800_000 / 3000, abs=0.1)
    assert 800_000 / 3500 <= row["messages_low"] < row["messages"] < row["messages_high"] <= 800_000 / 2500
    assert (found[0, "ground"]["messages"], found[0, "space"]["messages"]) == (150, 250)
    assert (found[2000, "both"]["messages"], found[2000, "both"]["messages_low"]) == (10, 10)
    assert {row["unit_operation"] for row in found.values()} == {"apply", "both"}


def test_a_ratio_has_an_interval_of_both_its_parts() -> None:
    low, value, high = summary.ratio(np.array([2.0, 4.0]), np.array([1.0]))
    assert (low, value, high) == (2, 3, 4)


def test_a_ratio_is_one_of_means_in_its_interval_too() -> None:
    """Of five blocks that are drawn, at most three are the slow one in 97.5 % of all draws."""
    one_slow = np.array([1.0, 1.0, 1.0, 1.0, 6.0])
    assert summary.ratio(one_slow, np.array([1.0])) == pytest.approx((1, 2, 4))
    assert summary.ratio(np.array([4.0]), one_slow) == pytest.approx((1, 2, 4))
