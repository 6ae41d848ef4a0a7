"""What in-path nodes did: as the certificates counted it, one row a protocol and direction; what the hosts'
kernels made of what came; and rules that did not do what they say, as the nodes themselves counted it.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc

from gauntlet.metrics.numbers import listed
from gauntlet.report.evaluation import Evaluation

COLUMNS = ("seen", "dropped", "altered", "late", "copied", "inserted", "waiting", "wrong_checksum")
"""What is counted, in packets; `wrong_checksum` of those that left."""

RECEIVED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "TCP segments": ("TcpInSegs",),
        "wrong checksum": ("TcpInCsumErrors", "UdpInCsumErrors", "Udp6InCsumErrors"),
        "asked back": ("TcpExtTCPChallengeACK",),
        "connections reset": ("TcpEstabResets",),
        "datagrams taken": ("UdpInDatagrams", "Udp6InDatagrams"),
        "for no socket": ("UdpNoPorts", "Udp6NoPorts"),
        "socket full": ("UdpRcvbufErrors", "Udp6RcvbufErrors"),
    }
)
"""What a host's kernel counts of what came, by the names of nstat(8). A reset that is not for the next octet
is asked back about (RFC 5961); datagrams are taken by the program that has the socket.
"""


@dataclass(frozen=True)
class Doing:
    """Over all runs of a protocol: what became of packets that left a node by a link direction."""

    protocol: str
    link: str
    runs: int
    counts: tuple[int, ...]
    """In the order of `COLUMNS`."""


@dataclass(frozen=True)
class Received:
    """Over all runs of a protocol: what the kernel of a host made of what came."""

    protocol: str
    node: str
    runs: int
    counts: tuple[int, ...]
    """In the order of `RECEIVED`."""


def doings(evaluation: Evaluation) -> list[Doing]:
    """The rows of the report's table, protocols in its order; none without in-path nodes."""
    checks = _emitted(evaluation)
    if not len(checks):
        return []
    protocol_of = _protocols(evaluation)
    found: dict[tuple[str, str], Counter[str]] = {}
    for check in checks.to_pylist():
        sums = found.setdefault((protocol_of[check["run"]], check["link"]), Counter())
        sums.update(
            {key.removesuffix("_packets"): count for key, count in json.loads(check["measured"]).items()}
        )
        sums["runs"] += 1
    return [
        Doing(protocol, link, sums["runs"], tuple(sums[name] for name in COLUMNS))
        for protocol, link, sums in _in_order(evaluation, found)
    ]


def received(evaluation: Evaluation) -> list[Received]:
    """A row a protocol and host, protocols in the report's order; none without in-path nodes."""
    if not len(_emitted(evaluation)):
        return []
    protocol_of = _protocols(evaluation)
    found: dict[tuple[str, str], Counter[str]] = {}
    for run in evaluation.results.runs():
        for host in run.record.get("kernel") or []:
            sums = found.setdefault((protocol_of[run.id], host["node"]), Counter())
            sums["runs"] += 1
            for column, names in RECEIVED.items():
                sums[column] += sum(host["counters"].get(name, 0) for name in names)
    return [
        Received(protocol, node, sums["runs"], tuple(sums[column] for column in RECEIVED))
        for protocol, node, sums in _in_order(evaluation, found)
    ]


def _protocols(evaluation: Evaluation) -> dict[str, str]:
    """The protocol of each run."""
    runs = evaluation.results.table("runs").select(["run", "protocol"]).to_pylist()
    return {row["run"]: row["protocol"] for row in runs}


def _in_order(
    evaluation: Evaluation, found: Mapping[tuple[str, str], Counter[str]]
) -> Iterator[tuple[str, str, Counter[str]]]:
    """Sums by protocol and place: protocols by their names, in the report's order."""
    labels = {style.key: style.label for style in evaluation.styles}
    order = {key: place for place, key in enumerate(labels)}
    for (protocol, place), sums in sorted(found.items(), key=lambda it: (order.get(it[0][0], 0), it[0])):
        yield labels.get(protocol, protocol), place, sums


def _emitted(evaluation: Evaluation) -> pa.Table:
    """What certificates say of all that left in-path nodes; no rows without such nodes."""
    checks = evaluation.results.table("certificates")
    return checks.filter(pc.equal(checks["name"], "emitted")).select(["run", "link", "measured"])


def idle_rules(evaluation: Evaluation) -> list[str]:
    """A sentence each about rules that matched nothing in any run, or had packets with which they could not
    do what they say; none without in-path nodes.
    """
    if not len(_emitted(evaluation)):
        return []
    labels = {style.key: style.label for style in evaluation.styles}
    protocol_of = {row.run: labels[row.protocol] for row in evaluation.rows}
    matched: dict[tuple[str, str], Counter[str]] = {}
    unfit: dict[tuple[str, str], Counter[str]] = {}
    for run in evaluation.results.runs():
        for node in run.record.get("in_path") or []:
            for rule in node["rules"]:
                key, protocol = (node["node"], rule["id"]), protocol_of.get(run.id, run.id)
                matched.setdefault(key, Counter())[protocol] += rule["matched_packets"]
                unfit.setdefault(key, Counter())[protocol] += rule["unfit_packets"]
    found = []
    for (node, rule), counts in matched.items():
        here = f"The rule {rule!r} of the in-path node {node}"
        if not counts.total():
            found.append(f"{here} matched no packet of any run.")
            continue
        failed = unfit[node, rule]
        named = listed([f"{name} {failed[name]} of {of}" for name, of in counts.items() if failed[name]])
        if failed.total():
            found.append(
                f"{here} matched packets with which it could not do what it says, since what it acts on is "
                f"not there ({named})."
            )
    return found
