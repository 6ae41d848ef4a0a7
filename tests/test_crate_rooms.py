"""Dependencies point downward in the Rust crates too: no files of a crate import each other in a circle.

An import is what a `use` line names, or another path into the crate, outside of tests. A name that a file
only hands on (`pub use`) is followed to the file that has it.
"""

import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = Path(__file__).parent.parent / "crates"

_NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|r#"(?s:.*?)"#|"(?:\\.|[^"\\])*"', re.DOTALL)
_USE = re.compile(r"^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.MULTILINE)
_PATH = re.compile(r"(?<![\w:])\w+(?:::\w+)+")
_PLACED = re.compile(r'#\[path\s*=\s*"([^"]+)"\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+);')


def without_tests(text: str) -> str:
    """The code of a file without comments, strings and what is compiled for tests only."""
    text = _NOISE.sub(" ", text)
    while found := re.search(
        r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))?\s+)?(?:mod\s+\w+\s*(\{|;)|[^{;]*(\{|;))", text
    ):
        end = found.end()
        depth = 1 if text[end - 1] == "{" else 0
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: found.start()] + text[end:]
    return text


def leaves(tree: str) -> list[str]:
    """The paths in what follows `use`, braces multiplied out, without other names (`as`)."""
    tree = tree.strip()
    head, brace, rest = tree.partition("{")
    if not brace:
        return [tree.partition(" as ")[0].strip()]
    parts, depth, part = [], 0, ""
    for letter in rest[: rest.rindex("}")]:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    return [head + leaf for piece in [*parts, part] if piece.strip() for leaf in leaves(piece)]


def files(root: Path) -> dict[str, Path]:
    """The files below a crate's (or a program's) first file by the path of their module; the first is ''."""
    found = {"": root}
    waiting = [("", root, root.parent)]
    while waiting:
        name, file, folder = waiting.pop()
        text = file.read_text(encoding="utf-8")
        placed = {inner: path for path, inner in _PLACED.findall(text)}
        for inner in re.findall(
            r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+);", without_tests(text), re.MULTILINE
        ):
            whole = f"{name}::{inner}".removeprefix("::")
            # One that stands in for another, where a feature is left out, has that one's name with a dash.
            places = [folder / f"{inner}.rs", folder / inner / "mod.rs"]
            places += [file.parent / placed[inner]] if inner in placed else []
            names = (whole, f"{whole}'")
            for called, place in zip(names, [it for it in places if it.is_file()], strict=False):
                if called not in found:
                    found[called] = place
                    waiting.append((called, place, folder / inner))
    return found


class Crate:
    """The files of a crate and what each imports of it."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = {name: without_tests(text) for name, text in texts.items()}
        self.handed_on = {name: self._handed_on(name, text) for name, text in self.texts.items()}

    def _absolute(self, module: str, path: str) -> str | None:
        """A path of the crate from its root; none for what is of another crate."""
        parts = path.split("::")
        here = module.split("::") if module else []
        if parts[0] == "crate":
            here, parts = [], parts[1:]
        elif parts[0] in ("self", "super"):
            while parts and parts[0] in ("self", "super"):
                here = here[:-1] if parts[0] == "super" else here
                parts = parts[1:]
        elif "::".join([*here, parts[0]]) not in self.texts:
            return None
        return "::".join([*here, *parts])

    def _handed_on(self, module: str, text: str) -> dict[str, str]:
        found = {}
        for public, tree in _USE.findall(text):
            for leaf in leaves(tree) if public else []:
                if (whole := self._absolute(module, leaf)) is not None:
                    found[leaf.rpartition("::")[2]] = whole
        return found

    def file_of(self, path: str, seen: frozenset[str] = frozenset()) -> str:
        """The module whose file has what a path names."""
        module, rest = path, list[str]()
        while module not in self.texts:
            module, _, last = module.rpartition("::")
            rest.insert(0, last)
        handed = self.handed_on[module].get(rest[0]) if rest else None
        if handed is not None and path not in seen:
            return self.file_of("::".join([handed, *rest[1:]]), seen | {path})
        return module

    def imports(self, module: str) -> set[str]:
        """The modules that a file imports, other than by handing their names on."""
        text = self.texts[module]
        paths = [leaf for public, tree in _USE.findall(text) if not public for leaf in leaves(tree)]
        paths += _PATH.findall(_USE.sub(" ", text))
        found = (self._absolute(module, path) for path in paths)
        return {self.file_of(path) for path in found if path is not None} - {module}


def circle(imports: Mapping[str, set[str]]) -> list[str]:
    """A circle of files that import each other, or nothing."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def roots() -> list[Path]:
    """The first files of all libraries, programs, examples, tests and benches of the crates."""
    found = [file for name in ("lib.rs", "main.rs") for file in CRATES.glob(f"*/src/{name}")]
    found += CRATES.glob("*/src/bin/*/main.rs")
    for folder in ("examples", "tests", "benches"):
        found += [*CRATES.glob(f"*/{folder}/*.rs"), *CRATES.glob(f"*/{folder}/*/main.rs")]
    return sorted(found)


def crate(root: Path) -> Crate:
    """The crate, or program, that begins with this file."""
    return Crate({name: file.read_text(encoding="utf-8") for name, file in files(root).items()})


def dependencies(found: Crate) -> dict[str, set[str]]:
    """The files of a crate and what each imports of it."""
    return {name: found.imports(name) for name in found.texts}


@pytest.mark.parametrize("root", roots(), ids=lambda root: str(root.relative_to(CRATES)))
def test_no_circle_of_imports(root: Path) -> None:
    assert circle(dependencies(crate(root))) == []


def test_all_files_of_a_crate_are_read() -> None:
    read = {file for root in roots() for file in files(root).values()}
    there = {file for crate in CRATES.iterdir() for file in (crate / "src").rglob("*.rs")}
    assert {"transports", "workload", "netlab", "player", "flight-links"} <= {
        file.relative_to(CRATES).parts[0] for file in there
    }
    # What is compiled for tests only is no part of the house.
    assert {file.name for file in there - read} <= {"tests.rs", "properties.rs", "loopback.rs"}


CONTRACTS = ("transport", "params", "peers", "opening", "session", "context", "clock", "error", "sample")


def test_contracts_lie_below_the_transports_and_the_registry_above() -> None:
    found = dependencies(crate(CRATES / "transports/src/lib.rs"))
    folders = {"kernel", "stacks"}
    for name in CONTRACTS:
        assert not {other for other in found[name] if other.partition("::")[0] in folders}, name
    assert {name for name, others in found.items() if "stacks" in others} <= {""}


@pytest.mark.parametrize("name", ["transport", "http::carrier"])
def test_no_contract_of_a_transport_names_a_library(name: str) -> None:
    text = crate(CRATES / "transports/src/lib.rs").texts[name]
    assert re.findall(r"\b(?:quinn|quiche|s2n|rustls|hyper|h3|restp|socket2|libc)\w*::", text) == []


def test_applications_know_no_transport() -> None:
    named = re.compile(r"\btransports::(?:kernel|stacks)\b|\b(?:quinn|quiche|s2n_quic|rustls)\w*::")
    texts = crate(CRATES / "workload/src/lib.rs").texts
    assert [name for name, text in texts.items() if named.search(text)] == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("use crate::a::Name;", {"a"}),
        ("use crate::{a, b::{Inner, inner::Deep}};", {"a", "b::inner"}),
        ("use super::a::Name as Other;", {"a"}),
        ("fn f() { crate::a::g(); }", {"a"}),
        ("fn f() { inner::g(); }", {"b::inner"}),
        ("use crate::Name;", {"a"}),
        ("pub use crate::a::Name;", set()),
        ('// use crate::a::Name;\nconst A: &str = "crate::a::Name";', set()),
        ("#[cfg(test)]\nmod tests {\n    use crate::a::Name;\n    fn f() { {} }\n}", set()),
        ("use std::io;\nuse serde::a::Name;", set()),
    ],
)
def test_imports_are_found_wherever_they_stand(text: str, wanted: set[str]) -> None:
    others = {"": "pub use a::Name;", "a": "pub struct Name;", "b::inner": ""}
    assert Crate({**others, "b": text}).imports("b") == wanted


def test_a_circle_is_noticed() -> None:
    texts = {"": "mod a; mod b;", "a": "use crate::b::B;", "b": "use super::a::A;"}
    assert set(circle(dependencies(Crate(texts)))) == {"a", "b"}
    # The face of a folder is imported by nobody inside who it hands on.
    face = {"a": "pub use inner::Name;\nfn f() { inner::g(); }", "a::inner": "use super::Other;", "": ""}
    assert set(circle(dependencies(Crate(face)))) == {"a", "a::inner"}
