"""The map from which runs took their paths, with each set of paths that they had."""

from collections.abc import Mapping
from typing import Any

from gauntlet.figures.map import maps
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.figures.figure import Figure, figure


def geography(evaluation: Evaluation) -> list[Figure]:
    """One picture of all sets; none where runs had no map in common."""
    told = evaluation.results.map
    if told is None:
        return []
    network, sets = told["network"], told["sets"]
    places = {it["node"]: it for it in network["nodes"]}
    columns: dict[str, list[Any]] = {name: [] for name in ("set", "path", "node", "latitude", "longitude")}
    titled = [(_title(evaluation, network, it), it) for it in sets]
    for title, it in titled:
        for number, path in enumerate(it["paths"], start=1):
            for node in path["nodes"]:
                row = (title, number, node, places[node]["latitude"], places[node]["longitude"])
                for column, value in zip(columns.values(), row, strict=True):
                    column.append(value)
    several = " for each set" if len(sets) > 1 else ""
    circles = any(ring for it in sets for ring in (it["challenge"] or {}).get("rings", ()))
    failing = any((it["challenge"] or {}).get("nodes") for it in sets)
    what = (
        " In a circle nodes and links are down at the times beside it; one that grows or shrinks is drawn at "
        "its largest."
        if circles
        else " Crossed nodes are down at the times beside them."
        if failing
        else ""
    )
    if any("detours" in path for it in sets for path in it["paths"]):
        what += " Between two thin lines are the ways that paths take meanwhile."
    return [
        figure(
            name="map",
            title="The paths on the map",
            caption=f"{network['name']}: its links in grey, and the paths{several}.{what} Areas are true "
            "(Lambert's azimuthal equal-area projection), links are drawn straight.",
            chart=maps(network, titled),
            columns=columns,
        )
    ]


def _title(evaluation: Evaluation, network: Mapping[str, Any], it: Mapping[str, Any]) -> str:
    """By what a set of paths differs from the others; the map's name where nothing differs."""
    words = [
        f"{factor.words} {factor.label(it['factors'][factor.name])}"
        for factor in evaluation.factors
        if factor.name in it["factors"]
    ]
    return ", ".join(words) or str(network["name"])
