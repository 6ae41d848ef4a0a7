#!/usr/bin/env python3
"""Requirement → code → test: the last chapter of docs/restp-spec.md, from comments of the Rust sources.

A list item `- **[R-XXX-n]**` of the specification defines a requirement. Code and tests name it in a
comment (`// R-XXX-n`) or, for a test, in its name (`fn r_xxx_n_...`). Fails if a requirement has no code or
no test, if a source names an unknown requirement, if a settled question (A1 to L8) has no place, or if a
security clause has no mutant (mutants.toml) that could still be played: its text must stand once in the code,
its test must name the clause.
`--check` also fails if the chapter is not up to date, and changes nothing.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from scripts.mutants import mutants  # noqa: E402

SPEC = ROOT / "docs" / "restp-spec.md"
CRATES = ["restp-proto", "restp-sim", "restp", "restp-cli"]
BEGIN, END = "<!-- compliance: begin -->\n", "<!-- compliance: end -->\n"

# Clauses that keep opponents out, or a peer within its rights; others whose loss would show in no ordinary
# use may have mutants, too.
SECURITY = re.compile(r"R-(PROT|SEC|STR)-\d+|R-ENCAP-3|R-CM-(4|5|8|9|10)|R-OPT-[6-9]|R-MP-(3|4|11)|R-SIZE-1")

DEFINED = re.compile(r"^- \*\*\[(R-[A-Z]+-\d+)\]\*\*", re.MULTILINE)
CITED = re.compile(r"\bR-[A-Z]+-\d+\b")
FUNCTION = re.compile(r"\bfn (\w+)")
TEST_NAME = re.compile(r"\bfn r_([a-z]+)_(\d+)(?:_|\b)")
QUESTIONS = {
    "A": 15,
    "B": 12,
    "C": 5,
    "D": 16,
    "E": 8,
    "F": 6,
    "G": 11,
    "H": 14,
    "I": 9,
    "J": 7,
    "K": 4,
    "L": 8,
}


@dataclass
class Evidence:
    """Where a requirement is obeyed and shown."""

    code: set[str] = field(default_factory=set)
    tests: set[str] = field(default_factory=set)


def rust_files() -> Iterator[Path]:
    """Sources, tests, benches and fuzz bodies of the ResTP crates."""
    for crate in CRATES:
        for path in sorted((ROOT / "crates" / crate).rglob("*.rs")):
            if "target" not in path.parts:
                yield path


def is_test_file(path: Path) -> bool:
    """Whether a whole file consists of tests."""
    folders = {"tests", "fuzz"} & set(path.relative_to(ROOT).parts[2:-1])
    return bool(folders) or path.name in {"tests.rs", "properties.rs"}


def function_below(lines: list[str]) -> str:
    """Name of the function that the comment on the first of `lines` stands above; empty if it does not."""
    for line in lines:
        if not line.lstrip().startswith(("//", "#[")):
            function = FUNCTION.search(line)
            return function[1] if function else ""
    return ""


def citations(path: Path) -> Iterator[tuple[str, bool, str]]:
    """(requirement, in a test, function) for every citation in a file.

    A comment directly above a function belongs to that function, any other to the one around it. From
    `#[cfg(test)]` before a module with a body to the end of the file all is test, as unit tests stand last.
    """
    lines = path.read_text().splitlines()
    in_tests, around = is_test_file(path), ""
    for number, line in enumerate(lines):
        if line.startswith("#[cfg(test)]") and any("{" in after for after in lines[number + 1 : number + 2]):
            in_tests = True
        if named := TEST_NAME.search(line):
            yield f"R-{named[1].upper()}-{named[2]}", True, FUNCTION.findall(line)[0]
        if function := FUNCTION.search(line):
            around = function[1]
        owner = function_below(lines[number:]) or around
        for requirement in CITED.findall(line):
            yield requirement, in_tests, owner


def collect() -> dict[str, Evidence]:
    """All citations by requirement."""
    found: dict[str, Evidence] = defaultdict(Evidence)
    for path in rust_files():
        short = str(path.relative_to(ROOT / "crates"))
        for requirement, in_tests, function in citations(path):
            if in_tests:
                found[requirement].tests.add(f"{short}: {function}" if function else short)
            else:
                found[requirement].code.add(short)
    return found


def table(requirements: list[str], found: dict[str, Evidence]) -> str:
    """The chapter's table."""

    def cell(places: set[str]) -> str:
        return "<br>".join(f"`{place}`" for place in sorted(places)) or "**none**"

    rows = [
        f"| {name} | {cell(found[name].code)} | {cell(found[name].tests)} |"
        if name in found
        else f"| {name} | **none** | **none** |"
        for name in requirements
    ]
    return "\n".join(["| requirement | code | tests |", "|---|---|---|", *rows]) + "\n"


def question_gaps(spec: str) -> list[str]:
    """Settled questions without a place in the table of chapter 19 or, for L, in its text."""
    ids = [f"{letter}{number}" for letter, count in QUESTIONS.items() for number in range(1, count + 1)]
    return [name for name in ids if f"\n| {name} | " not in spec and f"({name})" not in spec]


def mutant_gaps(requirements: list[str], found: dict[str, Evidence]) -> list[str]:
    """One sentence for each security clause without a mutant, and for each mutant that has rotted."""
    known = mutants("restp-proto")
    clauses = {mutant.rule for mutant in known}
    sentences = [
        f"{name} is a security clause and has no mutant in mutants.toml"
        for name in requirements
        if SECURITY.fullmatch(name) and name not in clauses
    ]
    for mutant in known:
        tests = {place.rpartition(": ")[2] for place in found.get(mutant.rule, Evidence()).tests}
        if mutant.test not in tests:
            sentences.append(
                f"a mutant of {mutant.rule} counts on {mutant.test}, a test that does not name the clause"
            )
        if (count := mutant.occurrences()) != 1:
            sentences.append(
                f"a mutant of {mutant.rule} changes a text that stands {count} times in {mutant.file}"
            )
    return sentences


def problems(spec: str, requirements: list[str], found: dict[str, Evidence]) -> list[str]:
    """One sentence for everything that is missing."""
    empty = Evidence()
    sentences = [f"{name} has no code" for name in requirements if not found.get(name, empty).code]
    sentences += [f"{name} has no test" for name in requirements if not found.get(name, empty).tests]
    sentences += [
        f"{name} is named in the sources but not defined" for name in sorted(set(found) - set(requirements))
    ]
    sentences += [
        f"{name} is cited in the specification but not defined"
        for name in sorted(set(CITED.findall(spec)) - set(requirements))
    ]
    sentences += [
        f"{name} is defined twice" for name in sorted({n for n in requirements if requirements.count(n) > 1})
    ]
    sentences += mutant_gaps(requirements, found)
    return sentences + [f"the settled question {name} has no place" for name in question_gaps(spec)]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing, fail if the chapter is out of date"
    )
    check = parser.parse_args().check

    spec = SPEC.read_text()
    head, begin, rest = spec.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        print(f"{SPEC.name} lacks the lines {BEGIN.strip()} and {END.strip()}", file=sys.stderr)
        return 1
    text = head + tail
    requirements = DEFINED.findall(text)
    found = collect()
    wanted = head + BEGIN + table(requirements, found) + END + tail
    sentences = problems(text, requirements, found)
    if check and wanted != spec:
        sentences.append(f"the last chapter of {SPEC.name} is out of date: run compliance.py")
    if not check:
        SPEC.write_text(wanted)
    for sentence in sentences:
        print(sentence, file=sys.stderr)
    covered = sum(1 for name in requirements if name in found and found[name].code and found[name].tests)
    print(f"{covered} of {len(requirements)} requirements have code and test")
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main())
