"""Trials: what is kept apart stays apart, and each number says what it is of."""

from dataclasses import replace

import numpy as np
import pytest

from gauntlet.errors import UserError
from gauntlet.traffic import padding, redundancy, splits
from gauntlet.traffic.sequences import QUIC_DATA, TCP_CONTROL, TCP_DATA, Sequences
from gauntlet.traffic.trials import Seen, Trial, told
from tests.traffic import factory

VISITS = factory.visits(factory.DISJOINT, sessions=8)
OTHERS = factory.visits(dict.fromkeys(range(50, 62), (400, 500)), sessions=1, in_a_session=1, seed=4)
APART = replace(OTHERS, session=np.arange(len(OTHERS)) + 100)

SHIFTED = replace(VISITS, signed_bytes=VISITS.signed_bytes + np.sign(VISITS.signed_bytes) * 5000)
"""The same visits by a version of which no packet is like one of the other's: the larger site of the first is
nearer to both.
"""

SEEN = Seen({"h2": VISITS, "h3": VISITS, "h3-padded": SHIFTED}, {"h2": APART, "h3": APART})


def test_a_split_by_visit_is_stratified_and_one_by_session_keeps_sessions_whole() -> None:
    folds = splits.by_visit(VISITS, 4, seed=1)
    for site in (3, 8):
        assert np.bincount(folds[VISITS.site == site]).tolist() == [4, 4, 4, 4]
    together = splits.by_session(VISITS, 4, seed=1)
    for session in range(1, 9):
        assert len(set(together[VISITS.session == session])) == 1
    assert np.bincount(together).tolist() == [8, 8, 8, 8]
    assert any(len(set(folds[VISITS.session == session])) > 1 for session in range(1, 9))
    assert splits.by_visit(VISITS, 4, seed=1).tolist() == folds.tolist()
    assert splits.by_visit(VISITS, 4, seed=2).tolist() != folds.tolist()


def test_sites_that_differ_are_named_and_the_row_says_so() -> None:
    row = told(Trial("knn", "h3", "h3"), SEEN, seed=1)
    assert (row["micro_f1"], row["macro_f1"], row["samples"]) == (1.0, 1.0, 32)
    assert (row["micro_f1_low"], row["macro_f1_site_high"]) == (1.0, 1.0)
    assert row["correct_if_quic_handshake"] == row["correct_if_quic_data"] == 1.0
    assert row["correct_if_tcp_data"] is None, "there is none"
    assert row["found"] is None, "a closed world"
    assert row["byte_overhead"] is None, "no defence"


def test_what_was_learnt_from_one_version_can_be_of_no_use_on_another() -> None:
    seen = Seen({"h2": VISITS, "h3": SHIFTED}, {})
    assert told(Trial("knn", "h3", "h3"), seen, seed=1)["micro_f1"] == 1.0
    row = told(Trial("knn", "h2", "h3"), seen, seed=1)
    assert row["micro_f1"] == pytest.approx(0.5)
    assert row["macro_f1"] == pytest.approx(1 / 3)
    assert row["redundant_share"] is None, "of two versions nothing is redundant"


def test_an_open_world_has_a_class_for_all_other_sites() -> None:
    row = told(Trial("knn", "h2", "h2", world="open"), SEEN, seed=1)
    assert row["samples"] == 32 + 12
    assert (row["found"], row["mistaken"], row["alarms"], row["precision_20"]) == (1.0, 0.0, 0.0, 1.0)


def test_the_first_packets_alone_can_say_nothing() -> None:
    same_start = np.where(VISITS.place < 5, 1200, VISITS.signed_bytes)
    seen = Seen({"h3": replace(VISITS, signed_bytes=same_start)}, {})
    assert told(Trial("knn", "h3", "h3", packets=5), seen, seed=1)["micro_f1"] < 0.8
    assert told(Trial("knn", "h3", "h3", packets=10), seen, seed=1)["micro_f1"] == 1.0


def test_without_the_packets_that_tell_nothing_is_told() -> None:
    alike = factory.visits(dict.fromkeys((3, 8), (300,)), sessions=8)
    telling = np.where(alike.place == 0, np.where(alike.site[alike.owner] == 3, 100, 900), alike.signed_bytes)
    seen = Seen({"h3": replace(alike, signed_bytes=telling)}, {})
    assert told(Trial("knn", "h3", "h3"), seen, seed=1)["micro_f1"] == 1.0
    row = told(Trial("knn", "h3", "h3", without="quic-handshake"), seen, seed=1)
    assert row["micro_f1"] == pytest.approx(0.5)
    assert row["correct_if_quic_handshake"] is None, "they were taken out"


def test_windows_of_one_visit_betray_the_visit_and_not_the_site() -> None:
    """Each visit has a size of its own, whatever its site: windows at random are named by neighbours."""
    alike = factory.visits(dict.fromkeys((3, 8), (1,)), sessions=8, packets=80)
    own = 100 + 70 * np.random.default_rng(3).permutation(len(alike))
    seen = Seen({"h3": replace(alike, signed_bytes=-own[alike.owner])}, {})
    leaking = told(Trial("knn", "h3", "h3", split="none", unit="window"), seen, seed=1)
    assert leaking["micro_f1"] > 0.95
    assert leaking["samples"] == 32 * 8
    for split in ("visit", "session"):
        assert told(Trial("knn", "h3", "h3", split=split, unit="window"), seen, seed=1)["micro_f1"] < 0.8


def test_windows_of_two_versions_are_refused() -> None:
    with pytest.raises(UserError, match="windows of two loads"):
        told(Trial("knn", "h2", "h3", unit="window"), SEEN, seed=1)


def test_near_identical_visits_are_counted() -> None:
    twice = factory.visits({3: (100,), 8: (900,)}, sessions=2)
    row = told(Trial("knn", "h3", "h3"), Seen({"h3": twice}, {}), seed=1)
    assert (row["redundant_share"], row["novel_micro_f1"]) == (1.0, None)
    varied = factory.visits({3: tuple(range(100, 1400, 7)), 8: tuple(range(103, 1400, 11))}, sessions=2)
    assert told(Trial("knn", "h3", "h3"), Seen({"h3": varied}, {}), seed=1)["redundant_share"] == 0.0
    (distance,) = redundancy.nearest(varied.take([0]), varied.take([0]))
    assert distance == 0.0


def test_a_distance_is_the_share_of_bytes_that_differ() -> None:
    def one(*sizes: int) -> Sequences:
        packets = (np.arange(len(sizes)), np.array(sizes), np.full(len(sizes), QUIC_DATA))
        return Sequences.of([(1, 1, 0)], [packets])

    assert redundancy.nearest(one(100, -100), one(100, -80)).tolist() == pytest.approx([20 / 380])
    assert redundancy.nearest(one(100), one(-100)).tolist() == pytest.approx([1.0])
    assert redundancy.nearest(one(100), one(100, 50)).tolist() == pytest.approx([50 / 250])


def test_simulated_padding_is_of_tcp_s_payload_alone() -> None:
    kinds = np.array([TCP_CONTROL, TCP_DATA, TCP_DATA, TCP_CONTROL])
    plain = Sequences.of([(1, 1, 0)], [(np.arange(4), np.array([60, 500, -1500, 52]), kinds)])
    padded = padding.simulated(plain)
    assert padded.signed_bytes.tolist() == [60, 1500, -1500, 52]
    assert padding.byte_overhead(plain, padded) == pytest.approx(1000 / 2112)
    assert padding.time_overhead(plain, replace(plain, time_ns=plain.time_ns * 3)) == pytest.approx(2.0)


def test_a_defence_says_what_it_costs_and_a_simulated_one_no_time() -> None:
    row = told(Trial("knn", "h3-padded", "h3-padded", padding="stack"), SEEN, seed=1)
    added = 5000 * len(VISITS.signed_bytes) / np.abs(VISITS.signed_bytes).sum()
    assert (row["byte_overhead"], row["time_overhead"]) == pytest.approx((added, 0.0))
    tcp = Seen({"h2": replace(VISITS, kind=np.full_like(VISITS.kind, TCP_DATA))}, {})
    row = told(Trial("knn", "h2", "h2", padding="simulated"), tcp, seed=1)
    assert row["micro_f1"] == pytest.approx(0.5), "all packets are of one size"
    assert row["byte_overhead"] > 0
    assert row["time_overhead"] is None
