"""The crates for crates.io: what a package says of itself is whole, and travels with it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
LIMIT = 5
"""Keywords, and categories, that crates.io takes (doc.rust-lang.org/cargo/reference/manifest.html)."""


def published() -> dict[str, dict[str, Any]]:
    """The manifests of the crates that `cargo publish --workspace` takes, by folder."""
    paths = sorted(ROOT.glob("crates/*/Cargo.toml"))
    manifests = {path.parent.name: tomllib.loads(path.read_text()) for path in paths}
    return {name: made for name, made in manifests.items() if made["package"].get("publish", True)}


CRATES = published()


def root_module(crate: str) -> Path:
    """The file of its library."""
    return ROOT / "crates" / crate / "src" / "lib.rs"


LIBRARIES = [name for name in CRATES if root_module(name).exists()]


def files(crate: str) -> set[str]:
    """Files and folders at the top that are packaged."""
    return {entry.removeprefix("/") for entry in CRATES[crate]["package"]["include"]}


@pytest.mark.parametrize("crate", CRATES)
def test_a_package_says_what_it_is_and_where_it_is_documented(crate: str) -> None:
    package = CRATES[crate]["package"]
    assert package["description"]
    assert package["documentation"].startswith("https://docs.rs/")
    assert package["documentation"].endswith(package["name"])
    for key in ("license", "rust-version"):
        assert package[key] == {"workspace": True}, key
    for key in ("keywords", "categories"):
        assert 0 < len(package[key]) <= LIMIT, key
    assert all(re.fullmatch(r"[a-z][a-z0-9_-]{0,19}", keyword) for keyword in package["keywords"])


@pytest.mark.parametrize("crate", CRATES)
def test_licence_read_me_and_changelog_travel_with_it(crate: str) -> None:
    folder = ROOT / "crates" / crate
    assert CRATES[crate]["package"]["readme"] == "README.md"
    assert {"src", "README.md", "CHANGELOG.md", "LICENSE"} <= files(crate)
    assert all((folder / entry).exists() for entry in files(crate))
    assert (folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    newest = re.search(r"^## (\S+)$", (folder / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest and newest[1] == CRATES[crate]["package"]["version"]


@pytest.mark.parametrize("crate", LIBRARIES)
def test_a_library_is_built_for_docs_rs_with_everything_it_has(crate: str) -> None:
    settings = CRATES[crate]["package"]["metadata"]["docs"]["rs"]
    assert settings["all-features"] is True
    assert settings["rustdoc-args"] == ["--cfg", "docsrs"]
    assert "#![cfg_attr(docsrs, feature(doc_cfg))]" in root_module(crate).read_text()


@pytest.mark.parametrize("crate", CRATES)
def test_features_are_told_by_the_read_me_and_by_the_documentation(crate: str) -> None:
    read_me = (ROOT / "crates" / crate / "README.md").read_text()
    texts = {"README.md": read_me}
    if crate in LIBRARIES:
        source = root_module(crate).read_text()
        said = "\n".join(line for line in source.splitlines() if line.startswith("//!"))
        texts["lib.rs"] = read_me if source.startswith('#![doc = include_str!("../README.md")]') else said
    for feature in set(CRATES[crate].get("features", {})) - {"default"}:
        for place, text in texts.items():
            assert f"`{feature}`" in text, f"crates/{crate}: {place} does not tell of the feature {feature}"


def test_who_is_needed_by_a_published_crate_is_published_in_the_version_that_is_asked_for() -> None:
    ours = {made["package"]["name"]: made["package"]["version"] for made in CRATES.values()}
    asked = 0
    for crate, made in CRATES.items():
        for name in made.get("dependencies", {}):
            entry = WORKSPACE["dependencies"].get(name)
            if not isinstance(entry, dict) or "path" not in entry:
                continue
            package = entry.get("package", name)
            assert package in ours, f"crates/{crate} needs {package}, which is not published"
            assert entry.get("version") == ours[package], f"{package} in Cargo.toml"
            asked += 1
    assert asked
