#!/usr/bin/env python3
"""What broke in the libraries' interfaces: cargo-semver-checks' findings against a committed list.

Reads the output of `cargo semver-checks --release-type minor` (`make semver`) and fails if it names others
than `crates/breaking-changes.txt`, one a line: crate, lint, item. `--keep` writes that list. Whether the
changelogs name each item of it is asked by tests/packaging/test_changelogs.py, which needs no tool.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

CRATES = Path(__file__).resolve().parents[1] / "crates"
LIST = CRATES / "breaking-changes.txt"

_CHECKING = re.compile(r"^\s+Checking (\S+) v")
_SUMMARY = re.compile(r"^\s+Summary (semver requires|no semver update)")
_FAILURE = re.compile(r"^--- failure (\w+):")
_PLACE = re.compile(r",? (previously in file|in file|in) \S+.*$")
_KINDS = re.compile(
    r"feature|mod|const|function|trait|method|type|struct|enum|variant|field|is|no|longer|of"
    r"|now|takes|instead|parameters|\d+"
)
"""Words of an item that name nothing."""


@dataclass(frozen=True, order=True)
class Break:
    """One breaking change."""

    crate: str
    lint: str
    item: str

    def names(self) -> list[str]:
        """The identifiers that a changelog must name; of a path its last part only."""
        words = (word.rpartition("::")[2] for word in self.item.split() if not _KINDS.fullmatch(word))
        names = [name for word in words for name in re.split(r"[.:]", word)]
        # Whoever uses the structure cannot see the field.
        return names[:1] if self.lint == "constructible_struct_adds_private_field" else names


def read_output(lines: Iterable[str]) -> tuple[set[Break], int]:
    """The breaking changes that cargo-semver-checks names, and how many crates it has checked to the end."""
    crate, lint, listed, checked = "", "", False, 0
    found: set[Break] = set()
    for line in lines:
        if start := _CHECKING.match(line):
            crate = start[1]
        elif _SUMMARY.match(line):
            checked += 1
        elif failure := _FAILURE.match(line):
            lint, listed = failure[1], False
        elif line.startswith("Failed in:"):
            listed = True
        elif listed and line.startswith("  "):
            found.add(Break(crate, lint, _PLACE.sub("", line.strip())))
        else:
            listed = False
    return found, checked


def read_list(text: str) -> Iterator[Break]:
    """The committed list."""
    for line in text.splitlines():
        crate, lint, item = line.split(" ", 2)
        yield Break(crate, lint, item)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("crates", type=int, help="how many crates the output is about")
    parser.add_argument("--keep", action="store_true", help="write the list")
    arguments = parser.parse_args()

    lines = sys.stdin.read().splitlines()
    found, checked = read_output(lines)
    if checked != arguments.crates:
        print("\n".join(lines), file=sys.stderr)
        print(f"{checked} of {arguments.crates} crates were checked to the end", file=sys.stderr)
        return 1
    text = "".join(f"{each.crate} {each.lint} {each.item}\n" for each in sorted(found))
    if arguments.keep:
        LIST.write_text(text)
        return 0
    kept = set(read_list(LIST.read_text()))
    for each in sorted(found - kept):
        print(f"{each.crate} breaks and {LIST.name} does not say so: {each.item} ({each.lint})")
    for each in sorted(kept - found):
        print(f"{each.crate} does not break what {LIST.name} says: {each.item} ({each.lint})")
    if found != kept:
        print("`make semver SEMVER_KEEP=--keep` writes the list; the changelogs must name each item of it.")
    return int(found != kept)


if __name__ == "__main__":
    sys.exit(main())
