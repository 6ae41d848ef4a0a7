"""Dependencies point downward: no room imports one above it, and no files import each other in a circle."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import gauntlet

PACKAGE = Path(gauntlet.__file__).parent

ROOMS = (
    {"errors", "external"},
    {"certificate", "engine", "geography", "table", "units"},
    {"scenario"},
    {"experiment"},
    {"executor", "results"},
    {"evidence", "metrics"},
    {"packing"},
    {"playing", "rehearsal", "worker"},
    {"campaign", "figures"},
    {"advice", "attack", "defences", "hazards", "residual", "space"},
    {"traffic"},
    {"benches", "report"},
    {"evidence_pack", "notebook"},
    {"studies"},
    {"cli"},
    {"__main__", ""},
)
"""Rooms (folders and files at the top of the package) from the ground up; a floor does not know itself."""


def modules(package: Path = PACKAGE) -> dict[str, Path]:
    """The files of the package by the name that an import gives them, without `gauntlet.`."""
    found = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imported(tree: ast.AST, known: Mapping[str, object]) -> Iterator[str]:
    """What a file imports of the package, wherever in it: at its top, in functions, for types only, and by a
    name in quotes (`importlib.import_module`).
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "importlib.import_module":
            quoted = [word.value for word in node.args if isinstance(word, ast.Constant)]
            asked = {str(word).removeprefix("gauntlet.") for word in quoted}
            # Who asks for a package by name looks for what is in it.
            yield from (name for name in known if name in asked or name.rpartition(".")[0] in asked)
            continue
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            whole = node.module
            names = [f"{whole}.{alias.name}" for alias in node.names if alias.name != "__version__"]
        elif isinstance(node, ast.Import):
            whole, names = "", [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if (name + ".").startswith("gauntlet."):
                inner = name.removeprefix("gauntlet").removeprefix(".")
                yield inner if inner in known else whole.removeprefix("gauntlet").removeprefix(".")


def relative(tree: ast.AST) -> bool:
    """Whether a file imports by dots, which `imported` does not follow."""
    return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in ast.walk(tree))


def room(module: str) -> str:
    """The room in which a module stands."""
    return module.partition(".")[0]


def floors() -> dict[str, int]:
    """The floor of each room, 0 at the ground."""
    return {name: floor for floor, names in enumerate(ROOMS) for name in names}


def dependencies() -> dict[str, set[str]]:
    """The files of the package and what each imports of it."""
    known = modules()
    return {
        name: set(imported(ast.parse(file.read_text(encoding="utf-8")), known))
        for name, file in known.items()
    }


def upward(found: Mapping[str, set[str]]) -> list[str]:
    """Imports that do not lead down, as sentences."""
    height = floors()
    return sorted(
        f"{name} imports {other}"
        for name, others in found.items()
        for other in others
        if room(other) != room(name) and height[room(other)] >= height[room(name)]
    )


def circle(found: Mapping[str, set[str]]) -> list[str]:
    """A circle of files that import each other, or nothing."""
    try:
        TopologicalSorter({name: others - {name} for name, others in found.items()}).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_room_has_its_floor() -> None:
    assert {room(name) for name in modules()} == set(floors())


def test_no_room_imports_one_above_it() -> None:
    assert upward(dependencies()) == []


def test_no_circle_of_imports() -> None:
    assert circle(dependencies()) == []


def test_imports_say_the_whole_name() -> None:
    files = {name: ast.parse(file.read_text(encoding="utf-8")) for name, file in modules().items()}
    assert [name for name, tree in files.items() if relative(tree)] == []
    assert relative(ast.parse("def f():\n    from ..report import factors"))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("from gauntlet.report import factors", {"report.factors"}),
        ("def f():\n    from gauntlet.report.factors import Factor", {"report.factors"}),
        ("import gauntlet.report", {"report"}),
        ("from gauntlet import report", {"report"}),
        ("importlib.import_module('gauntlet.report.factors')", {"report.factors"}),
        ("import json", set()),
        ("importlib.import_module('gauntlet.report')", {"report", "report.factors"}),
    ],
)
def test_imports_are_found_wherever_they_stand(text: str, wanted: set[str]) -> None:
    assert set(imported(ast.parse(text), {"report": 0, "report.factors": 0})) == wanted


def test_a_way_up_and_a_circle_are_noticed() -> None:
    assert upward({"scenario.trace": {"report.factors"}, "report.factors": set()}) == [
        "scenario.trace imports report.factors"
    ]
    assert set(circle({"metrics.a": {"metrics.b"}, "metrics.b": {"metrics.a"}})) == {"metrics.a", "metrics.b"}
