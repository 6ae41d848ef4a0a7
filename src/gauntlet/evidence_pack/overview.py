"""The claims of an experiment at a glance: a grid of protocols and EN 50159's threats."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gauntlet.defences.data import default
from gauntlet.evidence import FEWEST
from gauntlet.evidence.verdict import DISTURBED, INVALID, NOT_NOTICED, SIGNALLED
from gauntlet.evidence_pack.claims import acted_before, besides
from gauntlet.experiment.threats import NONE
from gauntlet.metrics.numbers import number


@dataclass(frozen=True)
class Row:
    """The claims on one protocol under one condition."""

    protocol: str
    condition: str
    cells: list[list[dict[str, Any]]] = field(default_factory=list)
    """In the order of the grid's columns; several where several flows are judged apart."""

    @property
    def n(self) -> int | None:
        """N of all cells, told once; None where they differ."""
        found = {cell["n"] for those in self.cells for cell in those}
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True)
class Grid:
    """The claims of an experiment."""

    columns: Sequence[tuple[str, str]]
    """Of each threat EN 50159's name and the experiment's, the control last."""
    rows: Sequence[Row]


def grid(claims: Sequence[Mapping[str, Any]]) -> Grid:
    """The grid of the claims of one experiment, protocols and conditions in their order."""
    names = {it["condition"]["threat"]: _en(it) for it in claims}
    order = [threat.name for threat in default().threats]
    columns = sorted(names, key=lambda name: (order.index(names[name]) if name != NONE else len(order), name))
    rows: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for it in claims:
        key = it["condition"]["protocol"], besides(it["condition"])
        rows.setdefault(key, []).append(it)
    return Grid(
        [(names[name], "control" if name == NONE else name) for name in columns],
        [
            Row(
                protocol,
                condition,
                [[_cell(it) for it in mine if it["condition"]["threat"] == name] for name in columns],
            )
            for (protocol, condition), mine in rows.items()
        ],
    )


def _en(claim: Mapping[str, Any]) -> str:
    return str(claim["requirement"]["threat"]) if claim["requirement"] else "No threat"


def _cell(claim: Mapping[str, Any]) -> dict[str, Any]:
    finding = claim["finding"]
    n, bound = finding["trials"], _bound(finding)
    return {
        "id": claim["id"],
        "verdicts": verdicts(finding),
        "n": n,
        "bound": bound,
        "count": ", ".join(filter(None, (f"N = {n}", bound))),
        "before": acted_before(finding),
    }


def verdicts(finding: Mapping[str, Any]) -> list[tuple[str, int, str]]:
    """Each verdict of a cell, how often, and how it looks: good, warn, bad, none."""
    return [
        (verdict, n, _mood(verdict, warn=finding["accepted_before"] > 0))
        for verdict, n in finding["verdicts"].items()
    ]


def _mood(verdict: str, *, warn: bool) -> str:
    if verdict in NOT_NOTICED or verdict == DISTURBED:
        return "bad"
    if verdict == SIGNALLED and warn:
        return "warn"
    return "none" if verdict == INVALID else "good"


def _bound(finding: Mapping[str, Any]) -> str:
    if finding["bound"] is not None and finding["distinct"] >= FEWEST:
        return f"at most {number(finding['bound'])}"
    asked = not finding["control"] and not finding["not_noticed"]
    return "copies" if finding["copies"] and asked else ""
