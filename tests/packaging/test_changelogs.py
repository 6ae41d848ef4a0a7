"""The libraries' changelogs name every breaking change that cargo-semver-checks found (`make semver`)."""

import re

import pytest
from scripts.breaking import CRATES, LIST, Break, read_list, read_output

BREAKS = list(read_list(LIST.read_text()))


def newest(changelog: str) -> str:
    """The section of the newest version."""
    return changelog.split("\n## ")[1]


def code(text: str) -> set[str]:
    """Every identifier in a code span."""
    return {word for span in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", span)}


@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: f"{broken.crate}: {broken.item}")
def test_a_breaking_change_stands_in_the_changelog(broken: Break) -> None:
    section = newest((CRATES / broken.crate / "CHANGELOG.md").read_text())
    missing = set(broken.names()) - code(section.partition("\nNew:")[0])
    assert not missing, f"crates/{broken.crate}/CHANGELOG.md does not name {', '.join(sorted(missing))}"


def test_the_tools_output_is_read_as_crate_lint_and_item() -> None:
    output = """    Checking one v0.1.0 -> v0.2.0 (assume minor change)

--- failure struct_pub_field_missing: pub struct's pub field removed or renamed ---

Failed in:
  field a of struct B, previously in file /somewhere/b.rs:3

     Summary semver requires new major version: 1 major and 0 minor checks failed
    Checking two v0.1.0 -> v0.2.0 (assume minor change)
     Summary no semver update required
"""
    broken = Break("one", "struct_pub_field_missing", "field a of struct B")
    assert read_output(output.splitlines()) == ({broken}, 2)
    assert broken.names() == ["a", "B"]


def test_of_a_path_its_last_part_is_asked_for_and_no_private_field() -> None:
    assert Break("one", "function_missing", "function one::two::three").names() == ["three"]
    assert Break("one", "constructible_struct_adds_private_field", "field Keys.material").names() == ["Keys"]
