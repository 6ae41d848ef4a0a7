"""Packet sequences: what is taken, cut and kept is what was there."""

from pathlib import Path

import numpy as np
import pytest

from gauntlet.results import parquet
from gauntlet.traffic.sequences import (
    QUIC_DATA,
    QUIC_HANDSHAKE,
    TCP_DATA,
    Sequences,
    joined,
    paired,
)
from tests.traffic import factory


def two() -> Sequences:
    """A visit of three packets and one of two."""
    first = (
        np.array([0, 5, 9]),
        np.array([60, -1500, -200]),
        np.array([QUIC_HANDSHAKE, QUIC_DATA, QUIC_DATA]),
    )
    second = (np.array([0, 7]), np.array([80, -90]), np.array([QUIC_DATA, QUIC_DATA]))
    return Sequences.of([(4, 1, 0), (6, 2, 1)], [first, second])


def packets(visits: Sequences) -> list[list[int]]:
    """Signed bytes of each visit."""
    return [
        visits.signed_bytes[begin:end].tolist()
        for begin, end in zip(visits.starts[:-1], visits.starts[1:], strict=True)
    ]


def test_visits_can_be_taken_in_any_order_and_more_than_once() -> None:
    found = two().take([1, 0, 1])
    assert packets(found) == [[80, -90], [60, -1500, -200], [80, -90]]
    assert found.site.tolist() == [6, 4, 6]
    assert packets(two().take(np.array([False, True]))) == [[80, -90]]
    assert len(two().take(np.array([], int))) == 0


def test_the_first_packets_and_those_of_other_kinds_are_what_is_left() -> None:
    assert packets(two().first(2)) == [[60, -1500], [80, -90]]
    assert packets(two().without(QUIC_DATA)) == [[60], []]
    assert two().present(QUIC_HANDSHAKE).tolist() == [True, False]
    assert two().present(TCP_DATA).tolist() == [False, False]


def test_windows_leave_the_rest_out_and_begin_at_nought() -> None:
    cut, owners = two().windows(2)
    assert packets(cut) == [[60, -1500], [80, -90]]
    assert owners.tolist() == [0, 1]
    assert cut.time_ns.tolist() == [0, 5, 0, 7]
    cut, owners = two().windows(1)
    assert packets(cut) == [[60], [-1500], [-200], [80], [-90]]
    assert owners.tolist() == [0, 0, 0, 1, 1]
    assert cut.time_ns.tolist() == [0] * 5
    assert (cut.site.tolist(), cut.session.tolist()) == ([4, 4, 4, 6, 6], [1, 1, 1, 2, 2])
    assert len(two().windows(4)[0]) == 0


def test_the_matrix_has_zeros_behind_the_last_packet() -> None:
    assert two().matrix(4).tolist() == [[60, -1500, -200, 0], [80, -90, 0, 0]]
    assert two().matrix(1).tolist() == [[60], [80]]


def test_a_table_gives_the_same_visits_back(tmp_path: Path) -> None:
    made = factory.visits(factory.DISJOINT)
    parquet.write(made.to_table(), tmp_path / "v.parquet")
    again = Sequences.from_table(parquet.read(tmp_path / "v.parquet", "the visits"))
    for name in ("site", "session", "visit", "starts", "time_ns", "signed_bytes", "kind"):
        assert np.array_equal(getattr(made, name), getattr(again, name)), name


def test_joined_visits_stand_one_after_the_other() -> None:
    assert packets(joined([two(), two().take([0])])) == [*packets(two()), [60, -1500, -200]]
    assert joined([two(), two()]).owner.tolist() == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]


def test_only_visits_that_both_have_are_paired() -> None:
    one, other = paired(two(), two().take([1]))
    assert packets(one) == packets(other) == [[80, -90]]
    one, other = paired(two(), two().take([1, 0]))
    assert packets(one) == packets(other) == packets(two())


@pytest.mark.parametrize("packet_count", [0, 3])
def test_nothing_is_lost_when_nothing_is_there(packet_count: int) -> None:
    none = two().take(np.array([], int)).first(packet_count)
    assert none.matrix(2).shape == (0, 2)
    assert none.lengths.tolist() == []
