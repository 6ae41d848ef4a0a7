"""Which flows have the same work, and which of them send all they can."""

from typing import Any

import pytest

from gauntlet.report.subjects import is_greedy, subjects_of

BASE: dict[str, Any] = {
    "name": None,
    "app": "cbr",
    "direction": "up",
    "packet_bytes": 1448,
    "duration_s": 10.0,
    "size_bytes": None,
    "pages": None,
    "page": None,
    "http": None,
    "mean_on_s": None,
    "mean_off_s": None,
    "interval_s": None,
    "count": None,
    "connection": None,
    "rate_bps": 8000,
    "protocol": "tcp-bbr",
}


def spec(*flows: dict[str, Any]) -> dict[str, Any]:
    return {"flows": [{**BASE, **flow} for flow in flows]}


@pytest.mark.parametrize(
    "other",
    [
        {"name": "etcs"},
        {"app": "voip"},
        {"direction": "down"},
        {"packet_bytes": 100},
        {"duration_s": 20.0},
        {"size_bytes": 1000},
        {"pages": 3},
        {"page": "news"},
        {"http": "3"},
        {"mean_on_s": 1.0},
        {"mean_off_s": 1.0},
        {"interval_s": 0.5},
        {"count": 3},
        {"connection": "fresh"},
        {"judge": {"kpi": "delay_p99_s", "at_most": 1.0}},
        {"background": True},
        {"options": {"dscp": 46}},
        {"rate_bps": 16000},
    ],
    ids=lambda other: next(iter(other)),
)
def test_other_work_is_another_subject(other: dict[str, Any]) -> None:
    found = subjects_of([spec({}, other)])
    assert len(set(found.values())) == 2
    assert all(found.values())


def test_flows_between_other_nodes_are_apart_unless_one_name_joins_them() -> None:
    ends = [{"sender": "a", "receiver": "s"}, {"sender": "b", "receiver": "s"}]
    assert subjects_of([spec(*ends)]) == {0: "cbr a to s", 1: "cbr b to s"}
    assert subjects_of([spec(*({"name": "upload", **it} for it in ends))]) == {0: "", 1: ""}


def test_what_carries_a_flow_is_not_its_work() -> None:
    assert subjects_of([spec({}, {"protocol": "udp", "source": "10.0.0.2"})]) == {0: "", 1: ""}


def test_as_much_as_there_is_is_the_same_work_as_the_rate_that_it_is_for_udp() -> None:
    assert subjects_of([spec({"rate_bps": None}, {"protocol": "udp"})]) == {0: "", 1: ""}


def test_flows_that_differ_in_one_run_only_are_apart_in_all() -> None:
    """A matrix over the size of one flow: in its first run both are alike."""
    alike, apart = spec({"size_bytes": 10}, {"size_bytes": 10}), spec({"size_bytes": 10}, {"size_bytes": 99})
    assert subjects_of([alike, apart]) == {0: "cbr up, flow 1", 1: "cbr up, flow 2"}


def test_a_neighbour_that_only_some_runs_have_is_judged_with_its_like() -> None:
    assert subjects_of([spec({}), spec({}, {"app": "bulk"}, {})]) == {0: "cbr up", 1: "bulk up", 2: "cbr up"}


def test_names_are_those_of_the_file_and_no_two_are_the_same() -> None:
    found = subjects_of(
        [spec({"name": "etcs"}, {"app": "bulk", "direction": "down"}, {"count": 2}, {"count": 3})]
    )
    assert list(found.values()) == ["etcs", "bulk down", "cbr up, flow 3", "cbr up, flow 4"]


@pytest.mark.parametrize(
    ("app", "rate_bps", "greedy"),
    [("cbr", None, True), ("bulk", None, True), ("cbr", 8000, False), ("voip", None, False)],
)
def test_greedy_is_who_sends_all_it_can(app: str, rate_bps: int | None, greedy: bool) -> None:
    assert is_greedy({"app": app, "rate_bps": rate_bps}) is greedy
