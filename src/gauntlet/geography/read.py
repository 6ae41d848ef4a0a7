"""Networks from files: GraphML, GML and node-link JSON, by networkx (docs/formats/network.md)."""

import json
import math
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import networkx as nx

from gauntlet.errors import UserError
from gauntlet.geography import fibre, sphere
from gauntlet.geography.network import Link, Network
from gauntlet.geography.sphere import Place

_LATITUDE, _LONGITUDE = ("latitude", "lat"), ("longitude", "lon", "lng", "long")
_NAME = ("label", "name")
_RIGHT = "give each node 'latitude' and 'longitude' in degrees"


def read(path: Path) -> Network:
    """A network from a file, whose ending says its format. Raises UserError saying what is missing."""
    known = {".graphml": _graphml, ".gml": _gml, ".json": _json}
    reader = known.get(path.suffix.lower())
    if reader is None:
        raise UserError(f"{path}: a network is a file that ends in {', '.join(known)}.")
    try:
        graph = reader(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}.") from error
    return from_graph(graph, str(path), path.stem)


def from_graph(graph: Any, where: str, name: str) -> Network:
    """A network from a graph of networkx whose nodes have places. Directions do not count, and parallel
    links are one, the shortest.
    """
    if graph.number_of_nodes() == 0:
        raise UserError(f"{where}: the network has no nodes.")
    names = {node: str(_one_of(data, _NAME, node)) for node, data in graph.nodes(data=True)}
    _refuse_twice(names.values(), where, "node", "give each a name of its own")
    nodes = {names[node]: _place(data, f"{where}: {names[node]}") for node, data in graph.nodes(data=True)}
    links: dict[tuple[str, str], float] = {}
    for first, second, data in graph.edges(data=True):
        ends = (names[first], names[second])
        if ends[0] == ends[1]:
            raise UserError(f"{where}: a link leads from {ends[0]} to itself; take it out.")
        if ends[::-1] in links:
            ends = ends[::-1]
        length_km = _length_km(data, nodes[ends[0]], nodes[ends[1]], f"{where}: {ends[0]} to {ends[1]}")
        links[ends] = min(length_km, links.get(ends, math.inf))
    alone = [it for it in nodes if not any(it in ends for ends in links)]
    if alone:
        raise UserError(f"{where}: no link leads to {alone[0]}; add one or take the node out.")
    said = {key: str(graph.graph.get(key, "")) for key in ("source", "licence", "note")}
    return Network(
        name=str(graph.graph.get("name") or name),
        nodes=nodes,
        links=tuple(Link(ends, length_km) for ends, length_km in links.items()),
        **said,
    )


def _graphml(path: Path) -> Any:
    try:
        tags = ET.parse(path).getroot().iter()
        _refuse_twice(
            (str(tag.get("id")) for tag in tags if tag.tag.rpartition("}")[2] == "node"), str(path), "id"
        )
        return nx.read_graphml(path)
    except (ET.ParseError, nx.NetworkXError, KeyError, ValueError) as error:
        raise _unreadable(path, "GraphML", error) from error


def _gml(path: Path) -> Any:
    try:
        # Not by label: names that are there twice are told of in one place, for all formats alike.
        return nx.read_gml(path, label="id")
    except (nx.NetworkXError, KeyError, ValueError) as error:
        raise _unreadable(path, "GML", error) from error


def _json(path: Path) -> Any:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _unreadable(path, "JSON", error) from error
    links = "edges" if isinstance(data, dict) and "edges" in data else "links"
    if not isinstance(data, dict) or not all(isinstance(data.get(it), list) for it in ("nodes", links)):
        raise UserError(f"{path}: no node-link data; the file needs a list 'nodes' and a list 'edges'.")
    nodes = data["nodes"]
    if not all(isinstance(node, dict) and isinstance(node.get("id"), str | int) for node in nodes):
        raise UserError(f"{path}: a node has no 'id'; give each one, a text or a number.")
    _refuse_twice((str(node["id"]) for node in nodes), str(path), "id")
    try:
        graph = nx.node_link_graph(data, edges=links)
    except (nx.NetworkXError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(path, "node-link JSON", error) from error
    unknown = set(graph) - {node["id"] for node in nodes}
    if unknown:
        raise UserError(f"{path}: a link leads to '{min(map(str, unknown))}', which is no node.")
    return graph


def _unreadable(path: Path, kind: str, error: Exception) -> UserError:
    first = str(error).strip().partition("\n")[0].rstrip(".")
    return UserError(f"{path}: not readable as {kind}: {first or type(error).__name__}.")


def _refuse_twice(given: Iterable[str], where: str, what: str, right: str = "give each its own") -> None:
    twice = [it for it, count in Counter(given).items() if count > 1]
    if twice:
        raise UserError(f"{where}: the {what} '{twice[0]}' is there twice; {right}.")


def _one_of(data: Mapping[str, Any], keys: tuple[str, ...], otherwise: Any = None) -> Any:
    folded = {str(key).lower(): value for key, value in data.items()}
    return next((folded[key] for key in keys if folded.get(key) not in (None, "")), otherwise)


def _place(data: Mapping[str, Any], where: str) -> Place:
    both = data.get("pos")
    if isinstance(both, list | tuple) and len(both) == 2:
        longitude, latitude = both
    else:
        latitude, longitude = _one_of(data, _LATITUDE), _one_of(data, _LONGITUDE)
    if latitude is None or longitude is None:
        raise UserError(f"{where} has no coordinates; {_RIGHT}.")
    place = Place(_number(latitude, where), _number(longitude, where))
    if not (-90 <= place.latitude <= 90 and -180 <= place.longitude <= 180):
        raise UserError(f"{where} is at {place.latitude:g}, {place.longitude:g}, which is nowhere; {_RIGHT}.")
    return place


def _number(given: Any, where: str) -> float:
    try:
        found = float(given)
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise UserError(f"{where}: the coordinate {given!r} is no number; {_RIGHT}.")
    return found


def _length_km(data: Mapping[str, Any], first: Place, second: Place, where: str) -> float:
    distance_km = sphere.distance_km(first, second)
    given = data.get("length_km")
    if given is None:
        return fibre.cable_km(distance_km)
    try:
        length_km = float(given)
    except (TypeError, ValueError):
        length_km = math.nan
    # A hundredth of a degree is about a kilometre: places are not known better than that.
    if not (math.isfinite(length_km) and length_km >= distance_km - 2):
        raise UserError(
            f"{where}: 'length_km' is {given!r}; a cable is a number of kilometres, and no shorter than the "
            f"{distance_km:.0f} km between its ends."
        )
    return length_km
