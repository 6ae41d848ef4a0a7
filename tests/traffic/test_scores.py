"""Scores against confusion matrices that were worked out by hand."""

import math

import numpy as np
import pytest

from gauntlet.traffic import intervals, scores

BY_HAND = np.array([[8, 2, 0], [1, 5, 4], [1, 3, 6]])
"""Thirty visits. Hits 8, 5, 6; rows 10 each; columns 10, 10, 10."""


def test_micro_f1_is_the_accuracy_and_macro_f1_the_mean_over_sites() -> None:
    assert scores.by_class(BY_HAND).tolist() == pytest.approx([16 / 20, 10 / 20, 12 / 20])
    assert scores.macro_f1(BY_HAND) == pytest.approx((0.8 + 0.5 + 0.6) / 3)
    assert scores.micro_f1(BY_HAND) == pytest.approx(19 / 30)


def test_the_two_differ_where_sites_are_visited_unequally() -> None:
    """A classifier that always says the site that most visits are to: an accuracy of 90 %, and no skill."""
    matrix = np.array([[90, 0], [10, 0]])
    assert scores.micro_f1(matrix) == pytest.approx(0.9)
    assert scores.macro_f1(matrix) == pytest.approx((180 / 190 + 0) / 2)


def test_what_was_published_as_macro_f1_is_an_accuracy() -> None:
    """Simpson and others (2024), Table 3: 0.63497 for QUIC is 955 right of 1504, 0.67495 for TCP 951 of 1409,
    wherever the others went.
    """
    for right, all_of_them, printed in ((955, 1504, 0.63497), (951, 1409, 0.67495)):
        wrong = all_of_them - right
        matrix = np.array([[right - 300, wrong, 0], [0, 200, 0], [0, 0, 100]])
        assert scores.micro_f1(matrix) == pytest.approx(printed, abs=5e-6)
        assert scores.macro_f1(matrix) != pytest.approx(printed, abs=1e-2)


def test_a_site_that_neither_is_nor_was_said_has_no_f1() -> None:
    matrix = np.array([[3, 1, 0], [1, 3, 0], [0, 0, 0]])
    assert math.isnan(scores.by_class(matrix)[2])
    assert scores.macro_f1(matrix) == pytest.approx(0.75)


def test_a_confusion_matrix_counts_every_visit_once() -> None:
    true, said = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 0, 2])
    assert scores.confusion(true, said, 3).tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 1]]


def test_an_open_world_has_precision_only_at_a_base_rate() -> None:
    """Of ten visits to each of two monitored sites 8 and 7 are named, 1 and 2 mistaken, 1 and 1 missed; of
    200 others 4 raise an alarm.
    """
    world = scores.open_world(np.array([[8, 1, 1], [2, 7, 1], [3, 1, 196]]))
    assert (world.found, world.mistaken, world.alarms) == pytest.approx((15 / 20, 3 / 20, 4 / 200))
    assert world.precision(0) == pytest.approx(15 / 18)
    assert world.precision() == pytest.approx(0.75 / (0.75 + 0.15 + 20 * 0.02))
    assert scores.Open(0.0, 0.0, 0.0).precision() == 0.0


def test_the_conditional_is_over_what_has_the_packets_and_is_no_base_rate() -> None:
    correct = np.array([True, True, False, False, True, False])
    present = np.array([True, True, True, False, False, False])
    assert scores.correct_if(correct, present) == pytest.approx(2 / 3)
    assert scores.correct_if(correct, np.ones(6, bool)) == pytest.approx(3 / 6)
    assert scores.correct_if(correct, np.zeros(6, bool)) is None


def test_an_interval_by_clusters_is_as_wide_as_clusters_differ() -> None:
    """Four sessions, of which each is all right or all wrong: 80 visits that are worth four."""
    session = np.repeat(np.arange(4), 20)
    true = np.tile([0, 1], 40)
    said = np.where(session < 2, true, 1 - true)
    low, high = intervals.by_cluster(scores.micro_f1, true, said, session, classes=2, seed=1)
    assert (low, high) == (0.0, 1.0)
    each = intervals.by_cluster(scores.micro_f1, true, said, np.arange(80), classes=2, seed=1)
    assert 0.3 < each[0] < 0.45
    assert 0.55 < each[1] < 0.7
    assert each == intervals.by_cluster(scores.micro_f1, true, said, np.arange(80), classes=2, seed=1)


def test_an_interval_by_sites_is_of_their_mean() -> None:
    low, high = intervals.by_site(np.array([0.2, 0.4, 0.6, 0.8] * 5), seed=2)
    assert 0.38 < low < 0.45
    assert 0.55 < high < 0.62
    assert intervals.by_site(np.full(7, 0.5), seed=2) == (0.5, 0.5)
