"""The closed-form token bucket sends each packet when the event-by-event one of the simulator does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.certificate.bucket import Kick, Queue, departure_windows, departures, largest_excess
from tests.certificate.linksim import Change, Packet, shape

Instants = np.ndarray[Any, np.dtype[np.int64]]
Given = tuple[Instants, Instants, list[tuple[int, int, int]]]
"""Arrivals, lengths, and the states of the shaper: from when on, rate, burst."""

BURSTS = st.one_of(st.integers(1500, 6000), st.integers(6000, 100_000))
"""Of D3.4's kind, and deep ones."""
RATES = st.integers(100_000, 50_000_000).map(lambda rate: rate // 8 * 8)


@st.composite
def queues(draw: st.DrawFn) -> Given:
    """Arrivals with lengths, and a rate and burst that change at some instants."""
    gaps = draw(st.lists(st.integers(0, 5_000_000), min_size=1, max_size=60))
    lengths = draw(st.lists(st.integers(40, 1500), min_size=len(gaps), max_size=len(gaps)))
    # Changes of one link lie further apart than the errors of their instants.
    starts = sorted(20_000 * n for n in draw(st.lists(st.integers(1, 5000), max_size=4, unique=True)))
    states = [(start, draw(RATES), draw(BURSTS)) for start in [0, *starts]]
    return np.cumsum(gaps), np.array(lengths), states


def columns(states: list[tuple[int, int, int]]) -> dict[str, Any]:
    starts, rates, bursts = (np.array(column) for column in zip(*states, strict=True))
    starts[0] = -(2**62)
    return {"change_ns": starts, "rate_bps": rates.astype(float), "burst_bytes": bursts.astype(float)}


def simulate(arrivals: Instants, lengths: Instants, states: list[tuple[int, int, int]]) -> Instants:
    values = [
        Change(start, {"rate_bps": int(rate), "burst_bytes": burst, "queue_limit_bytes": 10**9})
        for start, rate, burst in states
    ]
    packets = [Packet(int(at), bytes(size)) for at, size in zip(arrivals, lengths, strict=True)]
    out, counters = shape(packets, values, 10**15)
    assert counters.backlog == counters.dropped == 0
    return np.array([packet.time_ns for packet in out])


def misstated(change_ns: Instants, errors_ns: list[int]) -> Instants:
    """Instants of changes, a little wrong."""
    wrong = change_ns + np.array([0, *errors_ns])[: len(change_ns)]
    return np.maximum.accumulate(wrong)


@settings(max_examples=300, deadline=None)
@given(queues(), st.lists(st.integers(-1500, 1500), min_size=5, max_size=5))
def test_departures_lie_in_their_windows(queue: Given, errors_ns: list[int]) -> None:
    arrivals, lengths, states = queue
    really = simulate(arrivals, lengths, states)
    stated = columns(states)
    stated["change_ns"] = misstated(stated["change_ns"], errors_ns)
    soonest, latest, rank = departure_windows(
        Queue(arrivals, lengths, really, arrivals),
        change_ns=stated["change_ns"],
        slow_bps=stated["rate_bps"],
        fast_bps=stated["rate_bps"],
        burst_bytes=stated["burst_bytes"],
        margin_ns=2000,
    )
    assert np.all(really >= soonest - rank - 2)
    assert np.all(really <= latest + 2)


@settings(max_examples=200, deadline=None)
@given(queues())
def test_without_changes_the_replay_is_exact(queue: Given) -> None:
    arrivals, lengths, states = queue
    really = simulate(arrivals, lengths, states[:1])
    seen = Queue(arrivals, lengths, really, arrivals)
    for kick in Kick:
        planned, rank = departures(seen, **columns(states[:1]), kick=kick, margin_ns=0)
        assert np.all(np.abs(really - planned) <= rank + 2)


@settings(max_examples=200, deadline=None)
@given(queues(), st.lists(st.integers(-1500, 1500), min_size=5, max_size=5))
def test_no_window_of_an_honest_shaper_is_above_the_bound(queue: Given, errors_ns: list[int]) -> None:
    arrivals, lengths, states = queue
    really = simulate(arrivals, lengths, states)
    stated = columns(states)
    stated["change_ns"] = misstated(stated["change_ns"], errors_ns)
    excess, _ = largest_excess(really, lengths, **stated, rounding_ns=1.0, margin_ns=2000)
    assert excess <= 50e6 / 8e9 * 2 * 2000


@settings(max_examples=200, deadline=None)
@given(queues())
def test_the_bound_is_the_largest_over_all_windows(queue: Given) -> None:
    arrivals, lengths, (state, *_) = queue
    _, rate, burst = state
    excess, _ = largest_excess(arrivals, lengths, **columns([state]), rounding_ns=0.0, margin_ns=0)
    windows = [
        lengths[first : last + 1].sum() - burst - (arrivals[last] - arrivals[first]) * rate / 8e9
        for first in range(len(arrivals))
        for last in range(first, len(arrivals))
    ]
    assert excess == pytest.approx(max(windows), abs=1e-6)


def test_a_packet_above_the_burst_never_leaves() -> None:
    arrivals = np.array([0, 10, 20])
    leaves, _ = departures(
        Queue(arrivals, np.array([100, 2000, 100]), arrivals, arrivals),
        change_ns=np.array([-(2**62)]),
        rate_bps=np.array([8e6]),
        burst_bytes=np.array([1580.0]),
        kick=Kick.AT_ONCE,
        margin_ns=0,
    )
    assert leaves.tolist() == [0.0, np.inf, np.inf]
