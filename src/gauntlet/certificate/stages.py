"""Which packets enter which link direction: the way of each flow from tap to tap.

A *stage* is a tapped link direction `a>b` with everything between it and the taps that feed it: its output is
the tap `a>b`, its input is what the previous taps of the flows' paths saw and what is routed into it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import tolerance
from gauntlet.certificate.capture import TapPackets
from gauntlet.certificate.headers import pair_code

Ints = npt.NDArray[np.int64]
Spans = Sequence[tuple[int, int]]
"""Times in nanoseconds, each from one instant to another; none: nothing tells when."""

END_NS = 2**62


@dataclass(frozen=True)
class Routes:
    """`feeds[stage][tap]`: address pairs that go from the tap into the stage. `flow_pairs`: all pairs of the
    run's flows.

    `unread` names the flows and programs whose addresses the record does not tell: their packets may come out
    of a stage, but need not. `during[stage][tap][pair]`: when they do, where routes change; what is not in it
    does all the time.
    """

    feeds: dict[str, dict[str, set[int]]]
    flow_pairs: set[int]
    unread: tuple[str, ...]
    during: dict[str, dict[str, dict[int, Spans]]] = field(default_factory=dict)


def read_routes(
    flows: Sequence[Mapping[str, Any]],
    paths: Sequence[Mapping[str, Any]],
    hops: Sequence[Mapping[str, Any]] = (),
) -> Routes:
    """The routes of a run from its record's `flows`, `paths` and, where routes change, `hops`."""
    changing = {pair_code(hop["source"], hop["destination"]) for hop in hops}
    addresses, unread = {}, []
    for flow in flows:
        try:
            ends = address_of(flow["source"]), address_of(flow["destination"])
            addresses[flow["id"]] = (pair_code(*ends), pair_code(*reversed(ends)))
        except (KeyError, ValueError, AttributeError):
            unread.append(str(flow.get("id")))
    feeds: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    pairs: set[int] = set()
    for path in paths:
        ways = (path["forward"], path["return"])
        codes = addresses.get(path["flow"])
        if codes is not None and "addresses" in path:
            source, destination = path["addresses"]
            codes = (pair_code(source, destination), pair_code(destination, source))
        if codes is None and path["flow"] not in unread:
            unread.append(path["flow"])
        for number, taps in enumerate(ways):
            known = set() if codes is None else {codes[number]}
            pairs |= known
            for tap, stage in pairwise(taps):
                feeds[stage][tap] |= known - changing
    during: dict[str, dict[str, dict[int, Spans]]] = defaultdict(lambda: defaultdict(dict))
    for hop in hops:
        pair = pair_code(hop["source"], hop["destination"])
        feeds[hop["next"]][hop["tap"]].add(pair)
        during[hop["next"]][hop["tap"]][pair] = [_span(*it) for it in hop["during_s"]]
    return Routes(
        {stage: {tap: its for tap, its in taps.items() if its or not hops} for stage, taps in feeds.items()},
        pairs,
        tuple(unread),
        {stage: dict(taps) for stage, taps in during.items()},
    )


def _span(from_s: float, until_s: float | None) -> tuple[int, int]:
    """What holds from the beginning holds before it, too."""
    begin_ns = -END_NS if from_s <= 0 else round(from_s * 1e9)
    return begin_ns, END_NS if until_s is None else round(until_s * 1e9)


def address_of(endpoint: str) -> str:
    """The address of `address:port`."""
    return endpoint.rpartition(":")[0].strip("[]")


@dataclass(frozen=True)
class Inputs:
    """Packets that enter a stage, in order of arrival at its taps; one entry per packet.

    `expected` tells which ones must come out: packets of the run's flows. The way of any other packet (an
    ICMP message of a router, an address that no flow names) is not known, so that it may come out or not.
    `feed` numbers the tap that saw it, `rows` are its places among the capture's records.
    """

    time_ns: Ints
    length: Ints
    key: npt.NDArray[np.uint64]
    pair: npt.NDArray[np.uint64]
    expected: npt.NDArray[np.bool_]
    feed: Ints
    rows: Ints

    def __len__(self) -> int:
        return len(self.time_ns)


def stage_inputs(
    feeds: Mapping[str, set[int]],
    taps: Mapping[str, TapPackets],
    routes: Routes,
    returned: str | None = None,
    during: Mapping[str, Mapping[int, Spans]] | None = None,
) -> Inputs:
    """Everything that goes or may go into a stage, as its feeding taps saw it.

    `returned`: the one of them by which an in-path node may send packets back that the stage's router then
    sends to it again. They may come out, or not. `during`: of the stage, by tap and pair, as in `Routes`.
    """
    parts = []
    carried = set[int]().union(*feeds.values())
    for number, (link, pairs) in enumerate(feeds.items()):
        tap = taps[link]
        expected = _is_one_of(tap.pair, pairs)
        if link == returned:
            possible = _is_one_of(tap.pair, carried)
        else:
            possible = expected | ~(tap.local | _is_one_of(tap.pair, routes.flow_pairs))
            for pair, spans in ((during or {}).get(link, {})).items():
                of_pair = tap.pair == np.uint64(pair)
                expected &= ~of_pair | _within(tap.time_ns, spans, -1)
                possible &= ~of_pair | _within(tap.time_ns, spans, 1)
        rows = np.flatnonzero(possible)
        feed = np.full(len(rows), number)
        parts.append(
            (
                tap.time_ns[rows],
                tap.length[rows],
                tap.key[rows],
                tap.pair[rows],
                expected[rows],
                feed,
                tap.rows[rows],
            )
        )
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    if len(parts) > 1:
        order = np.argsort(columns[0], kind="stable")
        columns = [column[order] for column in columns]
    return Inputs(*columns)


def _within(time_ns: Ints, spans: Spans, sign: int) -> npt.NDArray[np.bool_]:
    """What lies within the spans beyond doubt (`sign` -1), or may (1). Beside a change a packet may still go
    the way before it, or already the one after it.
    """
    if not spans:
        return np.full(len(time_ns), sign > 0)
    margin_ns = sign * tolerance.current().late_ns
    found = np.zeros(len(time_ns), np.bool_)
    for begin_ns, end_ns in spans:
        found |= (time_ns >= begin_ns - margin_ns) & (time_ns < end_ns + margin_ns)
    return found


def _is_one_of(pairs: npt.NDArray[np.uint64], wanted: set[int]) -> npt.NDArray[np.bool_]:
    found = np.zeros(len(pairs), np.bool_)
    for pair in wanted:
        found |= pairs == np.uint64(pair)
    return found
