"""Numbers of this study alone: rates while a circle stands, silences, messages in time, paths on the map."""

from collections.abc import Callable, Mapping

import networkx as nx
import numpy as np

from gauntlet.geography import methods, packaged
from gauntlet.geography.challenges import profiles
from gauntlet.geography.challenges.intervals import covers
from gauntlet.geography.wanted import Wanted
from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.steps import Floats

NETWORK, SOURCE, TARGET, CHALLENGE = "us-fibre", "Oklahoma City", "Washington DC", "nashville"
WANTED = Wanted(paths=3, apart_km=50.0)
"""What paths.toml asks for."""

BEFORE_S = (5.0, 20.0)
"""Before the first circle, once the connection has its rate."""
FIRST_S, SECOND_S, THIRD_S = (21.0, 40.0), (61.0, 80.0), (101.0, 120.0)
"""While a circle stands, from a second after it comes."""
WIFI_S, NO_WIFI_S = ((12.0, 20.0), (42.0, 50.0)), ((30.0, 40.0),)
"""While the Wi-Fi of wifi.toml is in reach, from two seconds after it comes, and while it is not."""

IN_TIME_S, AT_ALL_S = 0.5, 5.0
"""What a message may take: of the order of UNISIG SUBSET-093, and ten times as much."""


def _arrivals(flow: FlowData) -> tuple[Floats, Floats]:
    """When messages arrived, in order, seconds of the run, and the bits of each."""
    at_s = flow.received_ns[flow.arrived] / NS_PER_S
    order = np.argsort(at_s, kind="stable")
    bits: Floats = 8.0 * flow.size_bytes[flow.arrived][order].astype(np.float64)
    return at_s[order], bits


def _rate_bps(flow: FlowData, *spans: tuple[float, float]) -> float:
    """Application bits that arrive in these spans, over their length."""
    at_s, bits = _arrivals(flow)
    within = sum(float(bits[(at_s > begin_s) & (at_s <= end_s)].sum()) for begin_s, end_s in spans)
    return within / sum(end_s - begin_s for begin_s, end_s in spans)


def rate_before_bps(flow: FlowData) -> float | None:
    """Before the first circle."""
    return _rate_bps(flow, BEFORE_S)


def rate_first_bps(flow: FlowData) -> float | None:
    """While the first circle stands."""
    return _rate_bps(flow, FIRST_S)


def rate_second_bps(flow: FlowData) -> float | None:
    """While the second circle stands."""
    return _rate_bps(flow, SECOND_S)


def rate_third_bps(flow: FlowData) -> float | None:
    """While the third circle stands."""
    return _rate_bps(flow, THIRD_S)


def rate_with_wifi_bps(flow: FlowData) -> float | None:
    """While Wi-Fi is in reach."""
    return _rate_bps(flow, *WIFI_S)


def rate_without_wifi_bps(flow: FlowData) -> float | None:
    """Between the stations."""
    return _rate_bps(flow, *NO_WIFI_S)


def longest_silence_s(flow: FlowData) -> float | None:
    """The longest time without an arrival, from the first one to the end of sending; None without any."""
    at_s, _ = _arrivals(flow)
    duration_s = flow.plan.get("app_params", {}).get("duration_s")
    if duration_s is None or not at_s.size:
        return None
    end_s = float(flow.record["start_s"]) + float(duration_s)
    return float(np.diff(np.append(at_s[at_s <= end_s], end_s)).max()) if at_s[0] <= end_s else None


def _share_within(flow: FlowData, bound_s: float) -> float | None:
    """Of the messages of a periodic source those that came within a time from when they were due."""
    interval_s = flow.plan.get("app_params", {}).get("interval_s")
    if interval_s is None or not flow.exchanges:
        return None
    start_s = float(flow.record["start_s"])
    came = 0
    for row in flow.exchanges:
        if row["completed_ns"] is not None:
            due_s = start_s + float(interval_s) * float(row["seq"])
            came += int(row["completed_ns"]) / NS_PER_S - due_s <= bound_s
    return came / len(flow.exchanges)


def in_time_share(flow: FlowData) -> float | None:
    """Within IN_TIME_S."""
    return _share_within(flow, IN_TIME_S)


def at_all_share(flow: FlowData) -> float | None:
    """Within AT_ALL_S."""
    return _share_within(flow, AT_ALL_S)


MEASURES: Mapping[str, Callable[[FlowData], float | None]] = {
    it.__name__: it
    for it in (
        rate_before_bps,
        rate_first_bps,
        rate_second_bps,
        rate_third_bps,
        rate_with_wifi_bps,
        rate_without_wifi_bps,
        longest_silence_s,
        in_time_share,
        at_all_share,
    )
}
"""By the name that study.toml gives."""


def paths_down(method: str, moment_s: float) -> float:
    """How many of the three paths of a method are down at a moment."""
    network = packaged.load(NETWORK)
    down = profiles.outages(CHALLENGE, network)
    return float(sum(covers(down.of_path(it.path), moment_s) for it in _paths(method)))


def next_hops(method: str, cities: str) -> float:
    """How many of these cities, written with commas between them, are next to the source on some path."""
    return float(len({it.path[1] for it in _paths(method)} & {it.strip() for it in cities.split(",")}))


def apart_km(method: str) -> float:
    """The least distance of two of the three paths."""
    return min(it.apart_km for it in _paths(method) if it.apart_km is not None)


def ways_left(moment_s: float) -> float:
    """How many paths without a common node the map has left at a moment, whatever their length."""
    network = packaged.load(NETWORK)
    nodes, links = profiles.outages(CHALLENGE, network).at(moment_s)
    left = network.graph.copy()
    left.remove_edges_from(links)
    left.remove_nodes_from(nodes)
    if SOURCE not in left or TARGET not in left:
        return 0.0
    return float(nx.node_connectivity(left, SOURCE, TARGET))


def _paths(method: str) -> list[methods.Described]:
    return methods.find(packaged.load(NETWORK), SOURCE, TARGET, method, WANTED)


FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "paths_down": paths_down,
    "next_hops": next_hops,
    "apart_km": apart_km,
    "ways_left": ways_left,
}
"""What expressions of the ledger call."""
