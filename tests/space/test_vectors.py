"""`gauntlet space vectors`: what is listed, played and written."""

import copy
import importlib.util
import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gauntlet.cli import main
from gauntlet.errors import RunError, UserError
from gauntlet.space import vectors

ABOUT = "two frames are protected and opened; neither is taken a second time"


def gauntlet(*words: str) -> Result:
    return CliRunner().invoke(main, ["space", "vectors", *words])


def changed(folder: Path) -> Path:
    """A file with one vector whose key is another one than its frames were made with."""
    (vector,) = (vector for vector in vectors.read([]) if vector.name == "tc-gcm-256")
    content = copy.deepcopy(vector.content)
    content["keys"][0]["octets"] = "ff" * 32
    file = folder / "changed.json"
    vectors.write([vectors.Vector(file, content)], file)
    return file


def test_the_list_says_what_each_is_about_and_what_it_has_refused() -> None:
    listed = {one["name"]: one for one in json.loads(gauntlet("list", "--json").stdout)}
    assert len(listed) == len(vectors.read([])) >= 94
    assert listed["tc-gcm-256"] == {
        "name": "tc-gcm-256",
        "about": ABOUT,
        "protocol": "tc",
        "algorithms": ["aes-gcm"],
        "source": "own",
        "steps": len(next(v for v in vectors.read([]) if v.name == "tc-gcm-256").content["steps"]),
        "refused": ["replay"],
        "file": "own.json",
    }
    assert listed["cryptolib-tc-clear"]["source"].startswith("nasa/CryptoLib, ")
    assert "replay" in gauntlet("list", "--only", "tc-gcm-256").stdout


def test_the_second_implementation_plays_all_and_names_what_differs(tmp_path: Path) -> None:
    assert vectors._python(vectors.read([])) == vectors.Verdict("python", len(vectors.read([])))
    verdict = vectors._python(vectors.read([changed(tmp_path)]))
    assert verdict.played == 1
    assert verdict.differences[0].startswith("tc-gcm-256, step 0: {'gives': '")


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_both_implementations_are_held_against_the_same_vectors(tmp_path: Path) -> None:
    told = gauntlet("check", "--only", "gcm")
    count = len(vectors.read([], "gcm"))
    assert told.stdout.splitlines() == [
        f"python: {count} vectors, 0 differences",
        f"rust: {count} vectors, 0 differences",
    ]
    assert told.exit_code == 0
    differs = gauntlet("check", str(changed(tmp_path)), "--json")
    assert differs.exit_code == 1
    for verdict in json.loads(differs.stdout):
        assert (verdict["played"], bool(verdict["differences"])) == (1, True), verdict["implementation"]


def test_who_cannot_play_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert "cargo" in vectors._rust(vectors.read([])).not_played
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "gauntlet-net[space]" in vectors._python(vectors.read([])).not_played
    # What nobody played is no success.
    assert gauntlet("check", "--only", "tc-gcm-256").exit_code == 1


def test_each_is_written_into_a_file_that_can_be_checked(tmp_path: Path) -> None:
    folder = tmp_path / "exported"
    assert gauntlet("export", "--only", "tm-gcm", "--to", str(folder)).stdout.startswith("6 vectors: ")
    files = sorted(folder.iterdir())
    assert {file.stem for file in files} == {vector.name for vector in vectors.read([], "tm-gcm")}
    assert vectors._python(vectors.read(files)).differences == []
    with pytest.raises(UserError, match="is there already"):
        vectors.export(vectors.read([], "tm-gcm"), folder)
    outside = vectors.Vector(tmp_path / "x.json", {"name": "../outside"})
    with pytest.raises(UserError, match=r"«\.\./outside» is no name for a file"):
        vectors.export([outside], tmp_path / "other")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("no JSON", "cannot be read as vectors"),
        ('{"format": 2, "vectors": []}', "no file of vectors of format 1"),
        ('{"format": 1, "vectors": []}', "No vector's name"),
    ],
)
def test_what_is_no_file_of_vectors_is_refused(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "vectors.json"
    file.write_text(content)
    with pytest.raises(UserError, match=sentence):
        vectors.read([file])
    with pytest.raises(UserError, match="cannot be read as vectors"):
        vectors.read([tmp_path / "none.json"])


def test_a_package_without_source_asks_for_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(vectors, "FOLDER", tmp_path)
    with pytest.raises(UserError, match="name files of them"):
        vectors.read([])


def _cargo_that(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *errors: str, answer: str = "", status: int = 0
) -> None:
    """A cargo that says this and compiles nothing."""
    told = "".join(f"echo '{line}' >&2\n" for line in errors)
    program = folder / "bin" / "cargo"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{told}echo '{answer}'\nexit {status}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        (("   Compiling aes v0.8.4", "   Compiling sdls v0.1.0", "    Finished `test` profile"), True),
        (("    Finished `test` profile", "     Running `vectors`"), False),
    ],
)
def test_that_the_crate_is_compiled_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, errors: tuple[str, ...], told: bool
) -> None:
    _cargo_that(tmp_path, monkeypatch, *errors, answer="1 vectors, 0 differences")
    said = gauntlet("check", "--only", "tc-gcm-256")
    assert said.exit_code == 0
    assert "rust: 1 vectors, 0 differences" in said.stdout.splitlines()
    assert said.stderr.count("compiling sdls") == told


def test_names_are_not_cut_however_narrow_the_terminal_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    told = gauntlet("list")
    for vector in vectors.read([]):
        assert vector.name in told.stdout


def test_a_program_that_says_something_else_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _cargo_that(tmp_path, monkeypatch, "   Compiling sdls v0.1.0", "it panicked", status=101)
    with pytest.raises(RunError, match="could not play the vectors: it panicked"):
        vectors._rust(vectors.read([], "tc-gcm-256"))
