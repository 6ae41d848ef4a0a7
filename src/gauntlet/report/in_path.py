"""What in-path nodes did, as the certificates counted it: one row a protocol and direction."""

import json
from collections import Counter
from dataclasses import dataclass

import pyarrow.compute as pc

from gauntlet.report.evaluation import Evaluation

COLUMNS = ("seen", "dropped", "altered", "late", "copied", "inserted", "waiting", "wrong_checksum")
"""What is counted, in packets; `wrong_checksum` of those that left."""


@dataclass(frozen=True)
class Doing:
    """Over all runs of a protocol: what became of packets that left a node by a link direction."""

    protocol: str
    link: str
    runs: int
    counts: tuple[int, ...]
    """In the order of `COLUMNS`."""


def doings(evaluation: Evaluation) -> list[Doing]:
    """The rows of the report's table, protocols in its order; none without in-path nodes."""
    checks = evaluation.results.table("certificates")
    checks = checks.filter(pc.equal(checks["name"], "emitted")).select(["run", "link", "measured"])
    if not len(checks):
        return []
    runs = evaluation.results.table("runs").select(["run", "protocol"]).to_pylist()
    protocol_of = {row["run"]: row["protocol"] for row in runs}
    found: dict[tuple[str, str], Counter[str]] = {}
    for check in checks.to_pylist():
        sums = found.setdefault((protocol_of[check["run"]], check["link"]), Counter())
        sums.update(
            {key.removesuffix("_packets"): count for key, count in json.loads(check["measured"]).items()}
        )
        sums["runs"] += 1
    labels = {style.key: style.label for style in evaluation.styles}
    order = {key: place for place, key in enumerate(labels)}
    return [
        Doing(labels.get(protocol, protocol), link, sums["runs"], tuple(sums[name] for name in COLUMNS))
        for (protocol, link), sums in sorted(found.items(), key=lambda it: (order.get(it[0][0], 0), it[0]))
    ]
