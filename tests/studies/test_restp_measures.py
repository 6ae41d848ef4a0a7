"""What only this study asks of a flow: pages from the first SYN on, rates with the handshake, outages."""

from typing import Any

import numpy as np
import pytest
from studies.restp import plugin as measures

from gauntlet.metrics.flow import NEVER_NS, FlowData

S = 1_000_000_000


def flow(
    received_s: list[float | None],
    *,
    sockets: dict[str, list[float]] | None = None,
    app: str = "cbr",
    exchanges: list[dict[str, Any]] | None = None,
    duration_s: float | None = 1000.0,
    interval_s: float | None = None,
) -> FlowData:
    """A flow from 1 s on whose messages of 1,000 bytes arrive at these instants."""
    received = [NEVER_NS if at_s is None else round(at_s * S) for at_s in received_s]
    return FlowData(
        run="run",
        index=0,
        record={"start_s": 1.0, "app": app},
        plan={"app_params": {"duration_s": duration_s, "interval_s": interval_s}},
        protocol="tcp-reno",
        run_end_s=1100.0,
        sent_ns=np.zeros(len(received), dtype=np.int64),
        received_ns=np.array(received, dtype=np.int64),
        size_bytes=np.full(len(received), 1000, dtype=np.int64),
        sockets={name: np.array(values) for name, values in (sockets or {}).items()},
        exchanges=exchanges or [],
    )


def page(name: str, completed_s: float | None) -> dict[str, Any]:
    """An object of a page."""
    done = None if completed_s is None else round(completed_s * S)
    return {"object": name, "outcome": "ok" if done else "lost", "requested_ns": 2 * S, "completed_ns": done}


def test_a_page_counts_from_the_start_of_its_session_and_ends_with_the_first_page() -> None:
    objects = [page("page 0", 3.0), page("page 0, object 1", 3.5), page("page 1", 40.0)]
    assert measures.page_time_with_setup_s(flow([], app="web", exchanges=objects)) == pytest.approx(2.5)
    broken = [page("page 0", 3.0), page("page 0, object 1", None)]
    assert measures.page_time_with_setup_s(flow([], app="web", exchanges=broken)) is None
    assert measures.page_time_with_setup_s(flow([2.0])) is None


def test_a_rate_from_the_start_counts_what_arrives_by_the_end() -> None:
    assert measures.rate_from_start_bps(flow([2.0, 11.0, 11.1, None], duration_s=10.0)) == 1600.0
    assert measures.rate_from_start_bps(flow([2.0], duration_s=None)) is None


def test_the_time_to_come_back_is_the_mean_over_the_outages() -> None:
    assert measures.back_after_s(flow([20.0, 32.0, 302.0, 304.0, 655.0])) == pytest.approx((1 + 1 + 4) / 3)
    assert measures.back_after_s(flow([20.0, 32.0, 302.0])) is None


def test_an_outage_is_survived_when_something_arrives_before_the_next() -> None:
    assert measures.outages_survived(flow([20.0, 32.0, 302.0, 655.0])) == 3
    assert measures.outages_survived(flow([20.0, 32.0])) == 1
    assert measures.outages_survived(flow([20.0, 655.0])) == 1


def test_the_rate_after_outages_is_that_of_the_first_25_s() -> None:
    once_each = flow([32.0, 60.0, 302.0, 652.0])
    assert measures.rate_after_outage_bps(once_each) == pytest.approx(8000 / 25)


def test_repetitions_in_outages_are_differences_of_the_senders_own_count() -> None:
    at_s = [20.0, 21.0, 30.0, 32.0, 202.0, 300.0, 602.0, 650.0]
    counts = [3.0, 3.0, 8.0, 20.0, 20.0, 50.0, 50.0, 51.0]
    sampled = flow([], sockets={"t_ns": [at * S for at in at_s], "retransmitted_packets": counts})
    assert measures.repeated_in_outages(sampled) == 5 + 30 + 1
    assert measures.repeated_in_outages(flow([])) is None
    assert measures.repeated_in_short_outage(sampled) == 5
    assert measures.repeated_in_long_outage(sampled) == 30
    assert measures.repeated_in_long_outage(flow([])) is None


def test_a_rate_while_receiving_lies_between_the_first_and_the_last_arrival() -> None:
    assert measures.rate_while_receiving_bps(flow([4.0, 5.0, None, 6.0])) == 3 * 8000 / 2
    assert measures.rate_while_receiving_bps(flow([4.0, None])) is None
    assert measures.packets_received(flow([4.0, None, 5.0])) == 2
    assert measures.packets_received(flow([])) == 0


def test_the_first_arrival_counts_from_the_start_of_the_set_up() -> None:
    assert measures.first_arrival_s(flow([None, 4.5, 4.2])) == pytest.approx(3.2)
    assert measures.first_arrival_s(flow([None])) is None


def test_a_resumed_rate_counts_from_the_first_arrival_after_each_outage() -> None:
    before: list[float | None] = [10.0, 15.0, 16.0, 190.0, 195.0, 196.0, 595.0, 596.0]
    back = [40.0, 49.9, 50.1, 302.0, 303.0, 652.0]
    assert measures.resumed_share(flow([*before, *back])) == pytest.approx((2 / 2 + 2 / 2 + 1 / 2) / 3)
    # Without an arrival of its own an outage is over with the next: at 190 s and at 595 s.
    assert measures.resumed_share(flow(before)) == pytest.approx((3 / 2 + 2 / 2 + 0) / 3)
    assert measures.resumed_share(flow([2.0, *back])) is None


def test_the_rate_with_the_short_outage_ends_where_the_second_begins() -> None:
    assert measures.rate_with_short_outage_bps(flow([2.0, 200.0, 202.0, 203.0])) == 80.0


def message(seq: int, due_s: float, took_s: float | None) -> dict[str, Any]:
    """A message of a periodic source from 1 s on, each 20 ms."""
    done = None if took_s is None else round((due_s + took_s) * S)
    return {"seq": seq, "requested_ns": 0, "completed_ns": done}


def test_delayed_packets_count_from_when_they_were_due() -> None:
    took_s: list[float | None] = [0.09, 0.07, 0.05, 0.03, 0.03, None, 0.0301]
    late = [message(seq, 1 + 0.02 * seq, it) for seq, it in enumerate(took_s)]
    assert measures.delayed_packets(flow([], exchanges=late, interval_s=0.02)) == 4
    assert measures.last_delayed_s(flow([], exchanges=late, interval_s=0.02)) == pytest.approx(0.1)
    quick = [message(seq, 1 + 0.02 * seq, 0.03) for seq in range(5)]
    assert measures.delayed_packets(flow([], exchanges=quick, interval_s=0.02)) == 0
    assert measures.last_delayed_s(flow([], exchanges=quick, interval_s=0.02)) == 0
    assert measures.delayed_packets(flow([2.0])) is None
    assert measures.last_delayed_s(flow([2.0])) is None
