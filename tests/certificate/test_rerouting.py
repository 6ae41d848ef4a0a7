"""Changes of routes: which packets a stage has to hand on, and whether changes were made as planned."""

from typing import Any

import numpy as np
import pytest

from gauntlet.certificate.answers import Findings
from gauntlet.certificate.capture import TapPackets
from gauntlet.certificate.headers import pair_code
from gauntlet.certificate.rerouting import check_route_changes, ways_in
from gauntlet.certificate.stages import read_routes, stage_inputs

ENDS = ("10.1.1.1", "10.1.2.1")
PAIR = pair_code(*ENDS)
FLOWS = [{"id": "f0", "source": "10.1.1.1:40000", "destination": "10.1.2.1:5000"}]
PATHS = [{"flow": "f0", "forward": ["a>n", "n>x"], "return": []}]


def hop(following: str, *during_s: tuple[float, float | None]) -> dict[str, Any]:
    own = {"source": ENDS[0], "destination": ENDS[1], "tap": "a>n", "next": following}
    return {**own, "during_s": [list(it) for it in during_s]}


HOPS = [hop("n>x", (0.0, 5.0), (9.5, None)), hop("n>y", (5.0, 9.0))]


def tap(*times_s: float) -> TapPackets:
    count = len(times_s)
    times_ns = np.array([round(it * 1e9) for it in times_s], np.int64)
    values: dict[str, Any] = {
        "time_ns": times_ns,
        "length": np.full(count, 100, np.int64),
        "key": np.arange(count, dtype=np.uint64),
        "pair": np.full(count, PAIR, np.uint64),
        "local": np.zeros(count, np.bool_),
        "rows": np.arange(count),
    }
    wanted = TapPackets.__dataclass_fields__
    return TapPackets(**{key: values.get(key, np.zeros(count, np.bool_)) for key in wanted})


def entering(stage: str, hops: list[dict[str, Any]], *times_s: float) -> dict[float, bool]:
    """By the instants of those packets that may enter a stage: whether they must."""
    routes = read_routes(FLOWS, PATHS, hops)
    found = stage_inputs(routes.feeds[stage], {"a>n": tap(*times_s)}, routes, during=routes.during.get(stage))
    return dict(zip((found.time_ns / 1e9).tolist(), found.expected.tolist(), strict=True))


def test_a_packet_enters_the_stage_to_which_routes_lead_at_its_moment() -> None:
    times_s = (1.0, 4.9, 5.1, 8.9, 9.1, 9.4, 9.6, 100.0)
    assert entering("n>x", HOPS, *times_s) == dict.fromkeys((1.0, 4.9, 9.6, 100.0), True)
    assert entering("n>y", HOPS, *times_s) == dict.fromkeys((5.1, 8.9), True)


def test_beside_a_change_it_may_enter_either() -> None:
    beside_s = (5.0 - 2e-6, 5.0, 5.0 + 2e-6)
    assert entering("n>x", HOPS, *beside_s) == dict.fromkeys(beside_s, False)
    assert entering("n>y", HOPS, *beside_s) == dict.fromkeys(beside_s, False)


def test_behind_a_switch_it_may_enter_any_at_any_time() -> None:
    hops = [hop("n>x"), hop("n>y")]
    assert entering("n>x", hops, 1.0, 7.0) == {1.0: False, 7.0: False}
    assert entering("n>y", hops, 1.0, 7.0) == {1.0: False, 7.0: False}


def test_without_changes_paths_say_it() -> None:
    assert entering("n>x", [], 1.0, 7.0) == {1.0: True, 7.0: True}
    assert "n>y" not in read_routes(FLOWS, PATHS).feeds


CHANGE = {"at_s": 5.0, "node": "n", "to": "10.1.2.0/24", "via": "10.2.0.2"}


def judged(planned: list[Any], made: list[Any], virtual_s: float = 20.0) -> list[Any]:
    findings = Findings()
    record = {"virtual_s": virtual_s, **({"route_changes": made} if made else {})}
    check_route_changes({"route_changes": planned} if planned else {}, record, findings)
    return [check for check in findings.checks if check.name == "routes"]


@pytest.mark.parametrize(
    ("made", "virtual_s", "said"),
    [
        ([CHANGE], 20.0, None),
        ([{**CHANGE, "at_s": 5.000_001}], 20.0, None),
        ([], 4.0, None),
        ([], 20.0, "planned at 5.000000 s was never made"),
        ([{**CHANGE, "at_s": 5.1}], 20.0, "was made 100 ms later"),
        ([{**CHANGE, "at_s": 4.9}], 20.0, "was made 100 ms earlier"),
        ([{**CHANGE, "via": "10.3.0.2"}], 20.0, "was not made, but one of n"),
        ([CHANGE, CHANGE], 20.0, "changed 2 routes and not 1"),
    ],
)
def test_changes_are_made_as_planned(made: list[Any], virtual_s: float, said: str | None) -> None:
    (check,) = judged([CHANGE], made, virtual_s)
    if said is None:
        assert check.answer == "confirmed", check
    else:
        assert check.answer == "contradicted"
        assert said in check.sentence, check.sentence


def test_a_run_without_changes_has_no_such_check() -> None:
    assert judged([], []) == []


TOLD = {**FLOWS[0], "from": "client", "to": "x"}
WAY = {"flow": "f0", "forward": ["a>n", "n>x"], "return": ["x>n"]}


def last_links(hops: list[dict[str, Any]], way: dict[str, Any] = WAY) -> list[list[str]]:
    return [it["forward"] for it in ways_in(TOLD, [way], {"hops": hops})]


def test_what_arrives_may_come_over_each_link_to_the_receiver_that_changes_lead_to() -> None:
    hops = [hop("n>x", (0.0, 5.0)), hop("n>y", (5.0, None)), {**hop("y>x", (5.0, None)), "tap": "n>y"}]
    assert last_links(hops) == [["a>n", "n>x"], ["a>n", "y>x"]]
    assert last_links([]) == [["a>n", "n>x"]]


def test_links_over_which_other_packets_come_are_none_of_them() -> None:
    back = {**hop("y>x", (5.0, None)), "source": ENDS[1], "destination": ENDS[0]}
    other_path = {**hop("z>x", (5.0, None)), "source": "10.2.1.1", "destination": "10.2.2.1"}
    assert last_links([back, other_path]) == [["a>n", "n>x"]]
    second = {**WAY, "addresses": ["10.2.1.1", "10.2.2.1"]}
    assert last_links([back, other_path], second) == [["a>n", "n>x"], ["a>n", "z>x"]]
