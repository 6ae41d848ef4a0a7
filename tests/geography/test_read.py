"""Files: the three formats say the same, names and coordinates are found, and each fault is one sentence."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from gauntlet.errors import UserError
from gauntlet.geography import fibre, packaged, sphere
from gauntlet.geography.network import Network
from gauntlet.geography.read import from_graph, read


def three() -> Any:
    """A graph of networkx with what a file can say."""
    graph = nx.Graph()
    for number, (label, latitude, longitude) in enumerate(
        [("Alpha", 10.0, 20.0), ("Beta", 10.0, 22.0), ("Gamma", 12.0, 21.0)]
    ):
        graph.add_node(number, label=label, Latitude=latitude, Longitude=longitude)
    graph.add_edge(0, 1)
    graph.add_edge(1, 2, length_km=400.0)
    return graph


def as_json(graph: Any, path: Path) -> None:
    """As d3 and networkx write it."""
    path.write_text(json.dumps(nx.node_link_data(graph, edges="edges")))


WRITERS: dict[str, Callable[[Any, Path], None]] = {
    "own.graphml": nx.write_graphml,
    "own.gml": lambda graph, path: nx.write_gml(nx.relabel_nodes(graph, dict(graph.nodes("label"))), path),
    "own.json": as_json,
}


def parts(network: Network) -> tuple[object, ...]:
    """What is to be the same whatever the format."""
    return dict(network.nodes), {link.ends: link.length_km for link in network.links}


@pytest.mark.parametrize("name", WRITERS)
def test_the_formats_say_the_same(name: str, tmp_path: Path) -> None:
    WRITERS[name](three(), tmp_path / name)
    found = read(tmp_path / name)
    assert parts(found) == parts(from_graph(three(), "there", "own"))
    assert found.name == "own"
    assert list(found.nodes) == ["Alpha", "Beta", "Gamma"]
    lengths = {link.ends: link.length_km for link in found.links}
    alpha_beta = sphere.distance_km(found.nodes["Alpha"], found.nodes["Beta"])
    assert lengths == {("Alpha", "Beta"): fibre.cable_km(alpha_beta), ("Beta", "Gamma"): 400.0}


def test_a_topology_of_the_zoo_is_read(tmp_path: Path) -> None:
    (tmp_path / "zoo.gml").write_text(
        'graph [\n  directed 1\n  multigraph 1\n  Network "Zoo"\n'
        '  node [ id 0 label "Here" Latitude 1.5 Longitude -2.5 Internal 1 ]\n'
        '  node [ id 1 label "There" Latitude 2.5 Longitude -2.5 Internal 1 ]\n'
        "  edge [ source 0 target 1 key 0 ]\n  edge [ source 0 target 1 key 1 ]\n"
        "  edge [ source 1 target 0 key 0 ]\n]\n"
    )
    found = read(tmp_path / "zoo.gml")
    assert list(found.nodes) == ["Here", "There"]
    assert [link.ends for link in found.links] == [("Here", "There")], "parallel and both ways are one"


def test_other_names_of_coordinates(tmp_path: Path) -> None:
    nodes = [{"id": "a", "lat": 1, "lon": 2}, {"id": "b", "pos": [3, 4]}, {"id": "c", "LAT": "5", "lng": "6"}]
    links = [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}]
    (tmp_path / "own.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    found = read(tmp_path / "own.json").nodes
    assert [(it.latitude, it.longitude) for it in found.values()] == [(1, 2), (4, 3), (5, 6)]


A = {"id": "a", "latitude": 1, "longitude": 2}
B = {"id": "b", "latitude": 1, "longitude": 3}
LINK = {"source": "a", "target": "b"}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"nodes": [A, {"id": "b"}], "edges": [LINK]}, "b has no coordinates; give each node 'latitude'"),
        ({"nodes": [A, B | {"latitude": "x"}], "edges": [LINK]}, "coordinate 'x' is no number"),
        ({"nodes": [A, B | {"latitude": float("nan")}], "edges": [LINK]}, "coordinate nan is no number"),
        ({"nodes": [A, B | {"latitude": 91}], "edges": [LINK]}, "at 91, 3, which is nowhere"),
        ({"nodes": [A, B, A | {"id": "c"}], "edges": [LINK]}, "no link leads to c"),
        ({"nodes": [A, B, A], "edges": [LINK]}, "the id 'a' is there twice"),
        ({"nodes": [A, B | {"label": "a"}], "edges": [LINK]}, "the node 'a' is there twice"),
        ({"nodes": [A, B], "edges": [LINK, {"source": "a", "target": "a"}]}, "from a to itself"),
        ({"nodes": [A, B], "edges": [LINK, {"source": "a", "target": "z"}]}, "'z', which is no node"),
        ({"nodes": [A, B], "edges": [LINK | {"length_km": 50}]}, "no shorter than the 111 km"),
        ({"nodes": [A, B], "edges": [LINK | {"length_km": "far"}]}, "'length_km' is 'far'"),
        ({"nodes": [A, B]}, "no node-link data"),
        ({"nodes": [A, B], "edges": [{"source": "a"}]}, "not readable as node-link JSON"),
        ({"nodes": [A, {"latitude": 1}], "edges": []}, "a node has no 'id'"),
        ({"nodes": [], "edges": []}, "has no nodes"),
        ({"graph": {}}, "no node-link data"),
        ([1, 2], "no node-link data"),
    ],
)
def test_each_fault_is_one_sentence(data: object, words: str, tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps(data))
    with pytest.raises(UserError) as told:
        read(path)
    assert words in str(told.value)
    assert str(told.value).startswith(str(path))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("own.json", "{", "not readable as JSON"),
        ("own.gml", "graph [ node [ id 0", "not readable as GML"),
        ("own.gml", "graph [ node [ id 0 ] node [ id 0 ] ]", "not readable as GML: node id 0 is duplicated"),
        ("own.graphml", "<graphml", "not readable as GraphML"),
        ("own.graphml", "<graphml/>", "not readable as GraphML"),
        (
            "own.graphml",
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
            '<node id="a"/><node id="a"/></graph></graphml>',
            "the id 'a' is there twice",
        ),
        ("own.csv", "a,b", "a file that ends in .graphml, .gml, .json"),
    ],
)
def test_unreadable_files_are_one_sentence(name: str, text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError) as told:
        read(tmp_path / name)
    assert words in str(told.value)
    assert "\n" not in str(told.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for name in WRITERS:
        with pytest.raises(UserError, match="cannot be read: No such file"):
            packaged.load(str(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "nodes", "links"), [("us-fibre", 75, 105), ("os3e", 34, 41), ("nobel-eu", 28, 41)]
)
def test_packaged_networks_have_sources_and_hang_together(name: str, nodes: int, links: int) -> None:
    found = packaged.load(name)
    assert (len(found.nodes), len(found.links)) == (nodes, links)
    assert found.source
    assert found.licence
    assert nx.is_connected(found.graph)
    # A slip in a sign or a digit is a cable through half the continent, or one of no length.
    assert min(link.length_km for link in found.links) > 10
    assert max(link.length_km for link in found.links) < 2500


def test_the_packaged_networks_are_all_named() -> None:
    folder = Path(packaged.__file__).parent / "networks"
    assert {file.stem for file in folder.iterdir()} == set(packaged.NAMES)
    with pytest.raises(UserError, match="did you mean 'us-fibre'"):
        packaged.load("us-fiber")
    with pytest.raises(UserError, match="there are us-fibre"):
        packaged.load("x")


def test_nodes_are_named_in_any_case() -> None:
    found = packaged.load("us-fibre")
    assert found.node("oklahoma city") == "Oklahoma City"
    with pytest.raises(UserError, match="did you mean 'Nashville'"):
        found.node("Nashvile")
    with pytest.raises(UserError, match="both ends are 'Atlanta'"):
        found.two("Atlanta", "atlanta")


def test_the_network_of_the_format_s_page_is_read(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "formats" / "network.md"
    (block,) = re.findall(r"^```json\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (tmp_path / "own.json").write_text(block)
    found = read(tmp_path / "own.json")
    assert (found.name, found.source, len(found.links)) == ("Two ways", "made up", 4)
    assert {link.ends: link.length_km for link in found.links}[("west", "north")] == 400
