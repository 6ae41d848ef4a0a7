"""What is imported is declared, what is declared is used: nothing rests on what happens to be installed."""

import ast
import copy
import functools
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = "src/gauntlet"
NO_FLOW = ["pandas", "polars", "jax", "scikit-learn"]
"""Extras that no flow needs: tests have them from the group docs."""

DEVELOPMENT = ("benchmarks", "crates", "experiments", "packaging", "scripts", "studies", "tests", "wireshark")

OURS = {"crates", "gauntlet", "studies", "tests", "scripts", "restp_decoder", "test_dissector"} | {
    entry.stem for entry in (ROOT / "benchmarks").iterdir()
}

PARTS = {
    "markupsafe": "jinja2",  # what its templates take and return
    "pydantic-core": "pydantic",  # the type of its errors; pydantic demands one version of it exactly
}
"""Packages that are part of another one's interface and that it brings along in the version that it needs."""

TOOLS = {
    "maturin": "builds the package",
    "setuptools": "builds pyftpdlib, which PyPI has as a source package only",
    "mypy": "a program: `make lint`",
    "ruff": "a program: `make lint`",
    "pytest-xdist": "an extension of pytest: `--numprocesses`",
}
"""What the development group has although nothing imports it, and why."""

DOCS_TOOLS = {"mkdocs-material", "mkdocstrings"}
"""What mkdocs.yml names; what else the group docs has is imported."""

DIST_TOOLS = {"auditwheel", "click-man", "maturin"}
"""Programs of `make dist` (scripts/wheels/build.py); what builds a wheel stands in its own pyproject.toml."""


def normal(name: str) -> str:
    """The name of a package as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    """The packages of a list of requirements."""
    return {normal(re.split(r"[^\w.-]", text, maxsplit=1)[0]) for text in requirements}


@functools.cache
def imported(folder: str) -> frozenset[str]:
    """Top-level modules of other projects that the Python files below a folder import, at any depth."""
    found = set()
    for file in (ROOT / folder).rglob("*.py"):
        found |= set(modules(ast.parse(file.read_text(encoding="utf-8"), str(file))))
    return frozenset(found - OURS - sys.stdlib_module_names)


def modules(tree: ast.AST) -> Iterator[str]:
    """Top-level modules that a file imports; relative imports are of its own project."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.split(".")[0]


@functools.cache
def origins() -> Mapping[str, list[str]]:
    """Which packages of this installation each module comes from."""
    return importlib.metadata.packages_distributions()


def package(module: str) -> str:
    """The declared package that a module comes from."""
    found = {normal(name) for name in origins().get(module, [])}
    if not found:
        return module
    (name,) = found
    return PARTS.get(name, name)


def faults(project: Mapping[str, Any]) -> list[str]:
    """Sentences on what pyproject.toml lacks or has too much."""
    extras = project["project"].get("optional-dependencies", {})
    runtime = names(project["project"]["dependencies"]).union(*map(names, extras.values()))
    runtime -= {project["project"]["name"]}  # an extra may consist of others
    development = names(project["dependency-groups"]["dev"])
    docs = names(project["dependency-groups"]["docs"])
    optional = set().union(*map(names, extras.values()))
    program = {package(module) for module in imported(PROGRAM)}
    others = {package(module) for folder in DEVELOPMENT for module in imported(folder)}
    builders = names(project["build-system"]["requires"])
    dist, wanted = names(project["dependency-groups"]["dist"]), DIST_TOOLS | builders | wheel_builders()
    return [
        *(f"{PROGRAM} imports {name}, which is no dependency" for name in program - runtime),
        *(f"{name} is imported but declared nowhere" for name in others - runtime - development - docs),
        *(f"the dependency {name} is not imported by {PROGRAM}" for name in runtime - program),
        *(f"nothing imports {name} of the group dev" for name in development - others - set(TOOLS)),
        *(f"the tool {name} is not in the group dev: it {TOOLS[name]}" for name in set(TOOLS) - development),
        *(f"{name} builds the package and is not in the group dev" for name in builders - development),
        *(f"{name} is declared twice" for name in development & (runtime | docs)),
        *(f"nothing imports {name} of the group docs" for name in docs - others - optional - DOCS_TOOLS),
        *(f"the site's {name} is not in the group docs" for name in DOCS_TOOLS - docs),
        *(f"tests of the extra {name} would lack it" for name in (optional - docs) & names(NO_FLOW)),
        *(f"`make dist` needs {name}, which is not in the group dist" for name in wanted - dist),
        *(f"nothing of `make dist` needs {name}" for name in dist - wanted),
    ]


def wheel_builders() -> set[str]:
    """What builds the wheels that have a folder of their own in packaging/."""
    files = (ROOT / "packaging").glob("*/pyproject.toml")
    return names(
        [text for file in files for text in tomllib.loads(file.read_text())["build-system"]["requires"]]
    )


@pytest.fixture
def project() -> dict[str, Any]:
    """The project's declarations."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_what_is_imported_is_declared_and_the_other_way_round(project: dict[str, Any]) -> None:
    assert faults(project) == []


def test_nothing_declared_can_be_taken_away_unnoticed(project: dict[str, Any]) -> None:
    def groups(of: dict[str, Any]) -> list[list[str]]:
        return [of["project"]["dependencies"], *of["dependency-groups"].values()]

    for number, group in enumerate(groups(project)):
        for requirement in group:
            less = copy.deepcopy(project)
            groups(less)[number].remove(requirement)
            assert faults(less) != [], requirement


@pytest.mark.parametrize("group", ["dependencies", "dev", "docs", "dist"])
def test_what_nothing_imports_is_noticed(project: dict[str, Any], group: str) -> None:
    lists = {"dependencies": project["project"]["dependencies"], **project["dependency-groups"]}
    lists[group].append("left-pad>=1")
    assert ["left-pad" in fault for fault in faults(project)] == [True]


def test_parts_are_brought_along() -> None:
    for part, whole in PARTS.items():
        assert part in names(importlib.metadata.requires(whole) or [])


def test_scripts_need_no_package_at_all() -> None:
    """They run before anything is installed."""
    assert imported("scripts") == frozenset()
