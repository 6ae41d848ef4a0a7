"""What flows that programs carry need besides their plan: files by hash, libraries by version.

Of a program these count: the files that its command names, for a Python program also the modules beside it
that it imports, and the versions of Python and of the packages that it imports, with what those require. Not
seen is what a program loads in other ways: shared libraries, data files that only its code names.
"""

import ast
import importlib.metadata
import platform
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from gauntlet import external as shipped
from gauntlet.engine.hashes import sha256_of_file
from gauntlet.errors import RunError
from gauntlet.experiment.external import PATH

_HOME = Path(shipped.__file__).parent
_NAME = re.compile(r"[A-Za-z0-9._-]+")

Attached = tuple[Mapping[str, str], Mapping[str, str]]
"""Hashes of files by path, versions of libraries by name."""


def attached(stacks: Sequence[Mapping[str, Any]]) -> Attached:
    """Files and libraries of stacks (`stack_params` of flows that programs carry).

    Raises RunError for a file that cannot be read.
    """
    if not stacks:
        return {}, {}
    paths: set[Path] = set()
    libraries: dict[str, str] = {}
    for stack in stacks:
        commands = (stack["client"], stack["server"])
        search = stack["environment"].get("PATH", PATH)
        own, needed = _of_programs(commands, Path(stack["working_directory"]), search)
        paths.update(own)
        libraries.update(needed)
    return {str(path): sha256_of_file(path) for path in sorted(paths)}, dict(sorted(libraries.items()))


def check(files: Mapping[str, str]) -> None:
    """See that files are still what a plan says. Raises RunError with the first that is not."""
    for path, sha256 in files.items():
        if not Path(path).is_file() or sha256_of_file(Path(path)) != sha256:
            raise RunError(
                f"{path} is not what it was when the runs were planned; leave it alone while they are "
                "played. The same command plans them anew."
            )


def _of_programs(
    commands: Iterable[Sequence[str]], folder: Path, search: str
) -> tuple[set[Path], dict[str, str]]:
    """Files of programs and versions of what they import."""
    paths: set[Path] = set()
    imported: set[str] = set()
    python: dict[str, str] = {}
    for command in commands:
        files = list(_named(command, folder, search))
        paths.update(files)
        for file in files:
            if file.suffix == ".py":
                _follow(file, paths, imported)
                python = {"python": platform.python_version()}
    return paths, python | _versions(imported)


def _named(command: Sequence[str], folder: Path, path: str) -> Iterator[Path]:
    """The files that a command names: its program, arguments that are files, the modules that ship."""
    program = shutil.which(command[0], path=path)
    if program is not None:
        yield Path(program).resolve()
    for word in command[1:]:
        if word.startswith(f"{shipped.__name__}."):
            yield _HOME / f"{word.rpartition('.')[2]}.py"
            yield _HOME / "__init__.py"
        elif word and not word.startswith("-") and (folder / word).is_file():
            yield (folder / word).resolve()


def _follow(file: Path, paths: set[Path], imported: set[str]) -> None:
    """Add the modules beside a Python program that it imports, and the names of all others."""
    for module in _imports(file):
        folder = _HOME if module.startswith(f"{shipped.__name__}.") else file.parent
        root = module.removeprefix(f"{shipped.__name__}.").partition(".")[0]
        beside, package = folder / f"{root}.py", folder / root
        if beside.is_file():
            found = [beside]
        elif (package / "__init__.py").is_file():
            found = sorted(package.rglob("*.py"))
        else:
            imported.add(root)
            continue
        for module_file in found:
            if module_file.resolve() not in paths:
                paths.add(module_file.resolve())
                _follow(module_file, paths, imported)


def _imports(file: Path) -> set[str]:
    """The modules that a Python file imports, by full name; of one that is no Python: none."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # `from package import module` may name a module; a name that is none finds no file.
            module = f"{node.module}." if node.module else ""
            found.update(f"{module}{alias.name}" for alias in node.names)
            found.update([node.module] if node.module else [])
    return found


def _versions(modules: Iterable[str]) -> dict[str, str]:
    """Versions of the distributions that have these modules, and of what they require in turn."""
    homes = _distributions()
    waiting = [name for module in modules for name in homes.get(module, ())]
    versions: dict[str, str] = {}
    while waiting:
        try:
            found = importlib.metadata.distribution(waiting.pop())
        except importlib.metadata.PackageNotFoundError:
            continue
        name = found.metadata["Name"].lower()
        if name not in versions:
            versions[name] = found.version
            waiting += [
                match[0]
                for text in found.requires or ()
                if "extra ==" not in text and (match := _NAME.match(text))
            ]
    return versions


@cache
def _distributions() -> Mapping[str, Sequence[str]]:
    """Distributions by the modules that they bring."""
    return importlib.metadata.packages_distributions()
