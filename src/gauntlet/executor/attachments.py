"""What flows that programs carry need besides their plan: files by hash, libraries by version.

Of a program these count: the files that its command names, what a script's first line starts it with, for a
Python program (also one given as `-m MODULE`) the modules that it imports from beside it, from the working
folder of `-m` and from PYTHONPATH, and the versions of Python and of the packages that it imports, with what
those require. Not seen is what a program loads in other ways: shared libraries, data files and programs that
only its code names.
"""

import ast
import importlib.metadata
import platform
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
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
        own, needed = _of_programs(stack)
        paths.update(own)
        libraries.update(needed)
    return {str(path): sha256_of_file(path) for path in sorted(paths)}, dict(sorted(libraries.items()))


def is_here(path: str, sha256: str) -> bool:
    """Whether this machine has a file with this content at this path."""
    return Path(path).is_file() and sha256_of_file(Path(path)) == sha256


def own(stacks: Sequence[Mapping[str, Any]], files: Iterable[str]) -> list[str]:
    """Which of the files of stacks are the user's own: those in an experiment's folder, or in a folder that
    its PYTHONPATH names. All others belong to programs that are installed.
    """
    folders = set()
    for stack in stacks:
        folder = Path(stack["working_directory"])
        if folder != Path("/"):  # that of programs that ship
            given = stack["environment"].get("PYTHONPATH", "").split(":")
            folders.update([folder, *(folder / path for path in given if path)])
    return [path for path in files if any(folder in Path(path).parents for folder in folders)]


def lacking(
    stacks: Sequence[Mapping[str, Any]],
    files: Mapping[str, str],
    libraries: Mapping[str, str],
    brought: Iterable[str],
) -> str | None:
    """What this machine lacks of all that a plan's stacks need, without a full stop; None when it has it.

    `brought` are the paths of files that came with the plan.
    """
    came = set(brought)
    for name, version in libraries.items():
        here = platform.python_version() if name == "python" else _version(name)
        if here != version:
            return f"the run needs {name} {version}, and there is {here or 'none'}"
    for stack in stacks:
        for command in (stack["client"], stack["server"]):
            program = command[0]
            path = stack["environment"].get("PATH", PATH)
            if program not in came and shutil.which(program, path=path) is None:
                return f"the run needs the program {program}, which is not there"
    for path, sha256 in files.items():
        if path not in came and not is_here(path, sha256):
            what = "is another one there" if Path(path).exists() else "is not there"
            return f"the run needs the file {path}, which {what}"
    return None


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def check(files: Mapping[str, str]) -> None:
    """See that files are still what a plan says. Raises RunError with the first that is not."""
    for path, sha256 in files.items():
        if not is_here(path, sha256):
            raise RunError(
                f"{path} is not what it was when the runs were planned; leave it alone while they are "
                "played. The same command plans them anew."
            )


def _of_programs(stack: Mapping[str, Any]) -> tuple[set[Path], dict[str, str]]:
    """Files of a stack's programs and versions of what they import."""
    folder, environment = Path(stack["working_directory"]), stack["environment"]
    given = [folder / path for path in environment.get("PYTHONPATH", "").split(":") if path]
    paths: set[Path] = set()
    imported: set[str] = set()
    python: dict[str, str] = {}
    for command in (stack["client"], stack["server"]):
        files = list(_named(command, folder, environment.get("PATH", PATH)))
        modules = _started_as_modules(command)
        paths.update(files)
        for file in filter(_is_python, files):
            _follow(_imports(file), (file.parent, *given), paths, imported)
        _follow(modules, (folder, *given), paths, imported)
        if modules or any(map(_is_python, files)):
            python = {"python": platform.python_version()}
    return paths, python | _versions(imported)


def _named(command: Sequence[str], folder: Path, search: str) -> Iterator[Path]:
    """The files that a command names: its program and what starts it, arguments that are files, the modules
    that ship.
    """
    program = shutil.which(command[0], path=search)
    if program is not None:
        yield Path(program).resolve()
        for word in _first_line(Path(program)):
            if (interpreter := shutil.which(word, path=search)) is not None:
                yield Path(interpreter).resolve()
    for word in command[1:]:
        value = word.partition("=")[2] if word.startswith("-") else word
        if word.startswith(f"{shipped.__name__}."):
            yield _HOME / f"{word.rpartition('.')[2]}.py"
            yield _HOME / "__init__.py"
        elif value and (folder / value).is_file():
            yield (folder / value).resolve()


def _started_as_modules(command: Sequence[str]) -> set[str]:
    """What a command has Python run by name (`-m MODULE`), but for what ships."""
    after = {module for word, module in pairwise(command) if word == "-m"}
    return {module for module in after if not module.startswith(f"{shipped.__name__}.")}


def _first_line(file: Path) -> list[str]:
    """The words behind the #! of a script, which start it; of any other file none."""
    try:
        with file.open("rb") as opened:
            line = opened.readline(256)
    except OSError:  # it is said where the file is hashed
        return []
    return line[2:].decode(errors="replace").split() if line.startswith(b"#!") else []


def _is_python(file: Path) -> bool:
    return file.suffix == ".py" or any("python" in Path(word).name for word in _first_line(file))


def _follow(modules: Iterable[str], folders: Sequence[Path], paths: set[Path], imported: set[str]) -> None:
    """Add the files in these folders that have the modules, and what they import from there or from beside
    them; and the names of all other modules.
    """
    for module in modules:
        root = module.removeprefix(f"{shipped.__name__}.").partition(".")[0]
        found = _files_of(root, (_HOME,) if module.startswith(f"{shipped.__name__}.") else folders)
        if not found:
            imported.add(root)
        for file in found - paths:
            paths.add(file)
            _follow(_imports(file), (file.parent, *folders), paths, imported)


def _files_of(module: str, folders: Iterable[Path]) -> set[Path]:
    """The Python files of a module or of a package, with `__init__.py` or not, in any of these folders."""
    found: set[Path] = set()
    for folder in folders:
        file = folder / f"{module}.py"
        found.update([file] if file.is_file() else (folder / module).rglob("*.py"))
    return {file.resolve() for file in found}


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
