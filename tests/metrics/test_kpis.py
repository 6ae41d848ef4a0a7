"""Each KPI against numbers worked out by hand."""

from dataclasses import replace
from typing import Any

import pytest

from gauntlet.metrics.capacity import path_capacity
from gauntlet.metrics.flow import wire_bytes
from gauntlet.metrics.kpis.delay import KPIS as DELAYS
from gauntlet.metrics.kpis.download import download_time_s
from gauntlet.metrics.kpis.fairness import jain_index
from gauntlet.metrics.kpis.loss import message_loss_ratio, sender_drop_ratio
from gauntlet.metrics.kpis.message_delay import message_delay_s
from gauntlet.metrics.kpis.setup import setup_time_s
from gauntlet.metrics.kpis.throughput import capacity_utilisation, throughput_bps
from gauntlet.metrics.kpis.wire import wire_bytes_per_byte
from gauntlet.metrics.registry import registry
from tests.metrics.flows import flow


def test_throughput_counts_only_what_arrived_in_the_observation() -> None:
    """Four messages of 1000 bytes in 10 s are 3200 bit/s; one after the end and one lost do not count."""
    some = flow([0, 1, 2, 3, 4, 5], [1, 2, 3, 10.0, 10.5, None])
    assert throughput_bps(some) == pytest.approx(8 * 4000 / 10)


def test_observation_starts_at_establishment_not_at_the_start() -> None:
    some = flow([2, 3], [3, 4], start_s=0.0, established_s=2.0)
    assert throughput_bps(some) == pytest.approx(8 * 2000 / 8)


def test_a_stalled_flow_is_judged_over_its_whole_duration() -> None:
    assert throughput_bps(flow([0, 0.1], [1, None])) == pytest.approx(8 * 1000 / 10)


def test_utilisation_uses_the_mean_of_the_capacity_over_the_same_time() -> None:
    """Capacity 1000 bit/s for 5 s, then 3000 bit/s: 2000 on average; 1600 bit/s of it were used."""
    some = flow([0, 1], [1, 2], capacity=[(0.0, 1000.0), (5.0, 3000.0)])
    assert capacity_utilisation(some) == pytest.approx(1600 / 2000)


def test_delay_is_of_arrived_messages_only() -> None:
    some = flow([0, 1, 2, 3], [0.1, 1.3, None, 3.2])
    found = {kpi.name: kpi.of_flow(some) for kpi in DELAYS if kpi.of_flow}
    assert found["delay_mean_s"] == pytest.approx(0.2)
    assert found["delay_median_s"] == pytest.approx(0.2)
    assert found["delay_p95_s"] == pytest.approx(0.29)
    assert message_loss_ratio(some) == pytest.approx(0.25)


def test_the_slowest_messages_by_hand() -> None:
    """Delays of 0, 1, ..., 1000 ms, in any order: the quantile at q is q seconds."""
    count = 1001
    delays_s = [(place * 8 % count) / 1000 for place in range(count)]
    some = flow([2.0] * count, [2.0 + delay_s for delay_s in delays_s])
    found = {kpi.name: kpi.of_flow(some) for kpi in DELAYS if kpi.of_flow and kpi.of_tail}
    assert found == pytest.approx(
        {"delay_p95_s": 0.95, "delay_p99_s": 0.99, "delay_p99_9_s": 0.999, "delay_max_s": 1.0}
    )


def test_the_slowest_periodic_messages_and_those_that_never_came() -> None:
    """Set-up of 0.1 s and 0.3 s, then 0.05 s and 0.15 s; one of three was refused."""
    rows = [_message(1, 1.05, 1.1, 1.15), _message(4, 4.1, 4.3, 4.45), _message(7, None, None, None)]
    fresh = flow([], [], exchanges=rows, interval_s=3.0)
    found = {
        name: kpi.of_flow(fresh)
        for name, kpi in registry().items()
        if kpi.of_flow and name.startswith("message_")
    }
    assert found["message_failure_ratio"] == pytest.approx(1 / 3)
    assert found["message_delay_max_s"] == pytest.approx(0.15)
    assert found["message_delay_with_setup_max_s"] == pytest.approx(0.45)
    assert found["message_delay_p95_s"] == pytest.approx(0.05 + 0.95 * 0.1)
    assert found["message_delay_with_setup_p99_9_s"] == pytest.approx(0.15 + 0.999 * 0.3)


def test_what_the_sender_dropped_is_counted_apart_and_among_the_losses() -> None:
    some = flow([0, 1, 2, 3], [0.1, None, None, 3.2], sender_dropped_messages=1)
    assert (message_loss_ratio(some), sender_drop_ratio(some)) == (0.5, 0.25)
    assert sender_drop_ratio(flow([0, 1], [0.1, 1.3], sender_dropped_messages=0)) == 0.0
    assert sender_drop_ratio(flow([0, 1], [0.1, None])) is None


def test_download_time_of_several_objects_runs_from_the_first_request_to_the_last_byte() -> None:
    def one(requested_s: float, completed_s: float | None, outcome: str = "ok") -> dict[str, object]:
        completed_ns = None if completed_s is None else round(completed_s * 1e9)
        return {"requested_ns": round(requested_s * 1e9), "completed_ns": completed_ns, "outcome": outcome}

    page = flow([], [], duration_s=None, exchanges=[one(1.5, 4.0), one(2.0, 3.0)])
    assert download_time_s(page) == pytest.approx(2.5)
    broken = flow([], [], duration_s=None, exchanges=[one(1.5, 4.0), one(2.0, None, "the server closed")])
    assert download_time_s(broken) is None


def _message(
    requested_s: float, connected_s: float | None, secured_s: float | None, completed_s: float | None
) -> dict[str, object]:
    instants = {
        "requested_ns": requested_s,
        "connected_ns": connected_s,
        "secured_ns": secured_s,
        "completed_ns": completed_s,
    }
    ns = {name: None if at_s is None else round(at_s * 1e9) for name, at_s in instants.items()}
    return ns | {"outcome": "ok" if completed_s is not None else "refused"}


def test_message_delay_with_and_without_the_set_up_of_fresh_sessions() -> None:
    """TLS: 0.1 s and 0.3 s of set-up, then 0.05 s and 0.15 s; a refused message counts in neither."""
    rows = [_message(1, 1.05, 1.1, 1.15), _message(4, 4.1, 4.3, 4.45), _message(7, None, None, None)]
    fresh = flow([], [], exchanges=rows, interval_s=3.0)
    assert message_delay_s(fresh, with_setup=False) == pytest.approx(0.1)
    assert message_delay_s(fresh, with_setup=True) == pytest.approx(0.3)
    assert setup_time_s(fresh) == pytest.approx(0.2)


def test_message_delay_on_a_kept_session_has_no_set_up_in_it() -> None:
    rows = [_message(1, None, None, 1.15), _message(4, None, None, 4.05)]
    kept = flow([], [], exchanges=rows, interval_s=3.0, start_s=0.5, established_s=0.6)
    assert message_delay_s(kept, with_setup=False) == message_delay_s(kept, with_setup=True)
    assert message_delay_s(kept, with_setup=True) == pytest.approx(0.1)
    assert setup_time_s(kept) == pytest.approx(0.1)
    assert download_time_s(kept) is None


def test_a_flow_that_is_not_periodic_has_no_message_delay() -> None:
    page = flow([], [], duration_s=None, exchanges=[_message(1, 1.05, 1.1, 1.15)])
    assert message_delay_s(page, with_setup=True) is None
    assert setup_time_s(flow([], [], established_s=None)) is None


def test_download_time_runs_from_the_start_and_needs_every_byte() -> None:
    whole = flow([0.5, 0.6], [1, 4.5], duration_s=None, transfer_bytes=2000, established_s=0.4)
    assert download_time_s(whole) == pytest.approx(4.5)
    assert throughput_bps(whole) == pytest.approx(16000 / 4.1)
    cut = flow([0.5, 0.6], [1, None], duration_s=None, transfer_bytes=2000)
    assert download_time_s(cut) is None
    assert throughput_bps(cut) == pytest.approx(8000 / 20)


def test_jain_index_ends() -> None:
    """Equal shares give 1; one of two with everything gives a half (DEC-TR-301)."""
    busy, idle = flow([0, 1], [1, 2]), flow([0, 1], [None, None])
    assert jain_index([busy, busy]) == pytest.approx(1)
    assert jain_index([busy, idle]) == pytest.approx(0.5)
    assert jain_index([busy]) is None


def test_capacity_is_the_narrowest_link_of_the_forward_path() -> None:
    record = {
        "paths": [{"flow": "f0", "forward": ["a>b", "b>c"], "return": ["c>b"]}],
        "timeline": [
            {"at_s": 0.0, "link": "a>b", "rate_bps": 10},
            {"at_s": 0.0, "link": "b>c", "rate_bps": 20},
            {"at_s": 0.0, "link": "c>b", "rate_bps": 1},
            {"at_s": 2.0, "link": "b>c", "rate_bps": 4},
            {"at_s": 3.0, "link": "a>b", "up": False},
            {"at_s": 4.0, "link": "a>b", "up": True},
        ],
    }
    steps = path_capacity(record, "f0")
    assert steps is not None
    assert list(zip(steps.times_s, steps.values, strict=True)) == [(0, 10), (2, 4), (3, 0), (4, 4)]
    assert path_capacity(record, "other") is None
    assert path_capacity(record | {"timeline": []}, "f0") is None


def test_several_ways_carry_together_what_their_own_links_do() -> None:
    def rate(at_s: float, link: str, rate_bps: float) -> dict[str, Any]:
        return {"at_s": at_s, "link": link, "rate_bps": rate_bps}

    record = {
        "paths": [
            {"flow": "f0", "forward": ["a>b", "b>c"], "return": []},
            {"flow": "f0", "forward": ["a>b", "b>d"], "return": [], "addresses": ["10.0.4.1", "10.0.3.2"]},
        ],
        "timeline": [rate(0.0, "a>b", 10), rate(0.0, "b>c", 4), rate(0.0, "b>d", 3), rate(5.0, "b>d", 30)],
    }
    steps = path_capacity(record, "f0")
    assert steps is not None
    assert list(zip(steps.times_s, steps.values, strict=True)) == [(0, 7), (5, 10)]
    shared = {**record, "timeline": [rate(0.0, "a>b", 10)]}
    only_shared = path_capacity(shared, "f0")
    assert only_shared is not None
    assert set(only_shared.values) == {10}


def rates(**rates_bps: float) -> list[dict[str, Any]]:
    return [
        {"at_s": 0.0, "link": link.replace("_", ">"), "rate_bps": rate_bps}
        for link, rate_bps in rates_bps.items()
    ]


def test_ways_that_share_a_link_carry_no_more_than_it() -> None:
    """Of three ways two share b>c; then each two share a link, of which half a rate more fits."""
    three = [["a>b", "b>c", "c>x"], ["a>b", "b>c", "c>y"], ["a>b", "b>d"]]
    record = {
        "paths": [{"flow": "f0", "forward": way} for way in three],
        "timeline": rates(a_b=100, b_c=10, c_x=10, c_y=10, b_d=10),
    }
    steps = path_capacity(record, "f0")
    assert steps is not None
    assert steps.values.tolist() == [20]
    pairs = [["r>s", "s>t"], ["s>t", "t>u"], ["t>u", "r>s"]]
    record = {
        "paths": [{"flow": "f0", "forward": way} for way in pairs],
        "timeline": rates(r_s=10, s_t=10, t_u=10),
    }
    steps = path_capacity(record, "f0")
    assert steps is not None
    assert steps.values.tolist() == [15]


def test_capacity_goes_with_a_path_that_turns_to_another_way() -> None:
    """a>c is down from 20 to 40 s, and packets go over a>b from 25 to 45 s: nothing passes for 5 s."""

    def hop(tap: str, following: str, *during_s: list[float | None]) -> dict[str, Any]:
        ends = {"source": "10.1.1.1", "destination": "10.1.2.1"}
        return {**ends, "tap": tap, "next": following, "during_s": list(during_s)}

    record = {
        "flows": [{"id": "f0", "source": "10.1.1.1:40000", "destination": "10.1.2.1:5000"}],
        "paths": [{"flow": "f0", "forward": ["s>a", "a>c", "c>d"], "return": []}],
        "hops": [
            hop("s>a", "a>c", [0.0, 25.0], [45.0, None]),
            hop("s>a", "a>b", [25.0, 45.0]),
            hop("a>c", "c>d", [0.0, None]),
            hop("a>b", "b>c", [0.0, None]),
            hop("b>c", "c>d", [0.0, None]),
        ],
        "timeline": [
            *rates(a_c=10, a_b=4),
            {"at_s": 20.0, "link": "a>c", "up": False},
            {"at_s": 40.0, "link": "a>c", "up": True},
        ],
    }
    steps = path_capacity(record, "f0")
    assert steps is not None
    assert list(zip(steps.times_s, steps.values, strict=True)) == [(0, 10), (20, 0), (25, 4), (45, 10)]


def test_bytes_on_the_wire_are_those_that_entered_the_line_in_either_direction() -> None:
    """Only the first counted link of each way counts; what later links carried went in before."""
    counted = [("ab", 11_000), ("bc", 10_500), ("cb", 700), ("ba", 650)]
    record = {
        "paths": [{"flow": "f0", "forward": ["x", "ab", "bc"], "return": ["cb", "ba"]}],
        "links": [{"link": link, "sent_bytes": sent_bytes} for link, sent_bytes in counted],
    }
    assert wire_bytes(record) == 11_700
    assert wire_bytes({**record, "links": []}) is None
    some = flow([0, 1], [1, 2], size_bytes=5000)
    assert wire_bytes_per_byte(some) is None
    assert wire_bytes_per_byte(replace(some, wire_bytes=11_700)) == pytest.approx(1.17)
    assert wire_bytes_per_byte(replace(flow([0], [None]), wire_bytes=11_700)) is None


def test_every_kpi_says_what_it_is() -> None:
    kpis = registry()
    assert {"throughput_bps", "capacity_utilisation", "message_loss_ratio", "download_time_s"} <= kpis.keys()
    for kpi in kpis.values():
        assert kpi.definition.endswith(".")
        assert (kpi.of_flow is None) != (kpi.of_flows is None)
