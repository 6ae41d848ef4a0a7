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
) -> FlowData:
    """A flow from 1 s on whose messages of 1,000 bytes arrive at these instants."""
    received = [NEVER_NS if at_s is None else round(at_s * S) for at_s in received_s]
    return FlowData(
        run="run",
        index=0,
        record={"start_s": 1.0, "app": app},
        plan={"app_params": {"duration_s": duration_s}},
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
