"""Which patches `kernel/build.sh` applies to which Linux."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gauntlet.engine import kernel

_COMMON = ("0001", "0002", "0003", "0004", "0010")


def applied(version: str, scratch: Path) -> tuple[str, ...]:
    """The patches that the script hands to patch(1) for a source of `version`: folder and number."""
    major, minor = version.split(".")
    source = scratch / "linux"
    (source / "arch/um").mkdir(parents=True)
    (source / "arch/um/Makefile").touch()
    (source / "Makefile").write_text(f"VERSION = {major}\nPATCHLEVEL = {minor}\nSUBLEVEL = 1\n")
    tools = scratch / "tools"
    tools.mkdir()
    # Notes each patch instead of applying it; the build ends at its next step, which finds no kernel.
    said = scratch / "said"
    (tools / "patch").write_text(f'#!/bin/sh\necho "${{@##*--input=}}" >>{said}\n')
    (tools / "patch").chmod(0o755)
    script = kernel.recipe_folder() / "build.sh"
    done = subprocess.run(
        ["bash", str(script), str(source), str(scratch / "work"), str(scratch / "out")],
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0 and "step configure" in done.stdout, done.stdout + done.stderr
    files = [Path(line.split()[-1]) for line in said.read_text().splitlines()]
    return tuple(
        file.name[:4] if file.parent.name == "patches" else f"{file.parent.name}/{file.name[:4]}"
        for file in files
    )


@pytest.mark.parametrize(
    ("version", "folder"),
    [("6.6", None), ("6.11", None), ("6.12", "6.12"), ("7.2", "6.12"), ("7.3", "7.3"), ("7.10", "7.3")],
)
def test_a_source_gets_the_patches_of_the_newest_folder_that_is_not_newer(
    version: str, folder: str | None, tmp_path: Path
) -> None:
    found = applied(version, tmp_path)
    assert found[: len(_COMMON)] == _COMMON
    own = [patch.rpartition("/")[0] for patch in found[len(_COMMON) :]]
    numbers = [patch.rpartition("/")[2] for patch in found[len(_COMMON) :]]
    assert set(own) == ({folder} if folder else set())
    assert numbers == sorted(numbers)
    known = tuple(
        file.name[:4] if file.parent.name == "patches" else f"{file.parent.name}/{file.name[:4]}"
        for file in kernel.patches(f"{version}.1")
    )
    assert known == found


@pytest.mark.parametrize(
    ("change", "moved"),
    [
        ("patches/7.3/0005-um-extended-state-in-signal-frames.patch", {"7.3.4"}),
        ("patches/6.12/0005-um-extended-state-as-large-as-the-host-s.patch", {"6.12.117", "7.2.1"}),
        ("patches/0001-um-clock-tick-of-250-Hz.patch", {"6.11.1", "6.12.117", "7.2.1", "7.3.4"}),
        ("build.sh", {"6.11.1", "6.12.117", "7.2.1", "7.3.4"}),
    ],
)
def test_a_recipe_is_what_builds_its_version_and_no_more(
    change: str, moved: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(kernel.recipe_folder(), tmp_path / "kernel")
    monkeypatch.setattr(kernel, "recipe_folder", lambda: folder)
    versions = ("6.11.1", "6.12.117", "7.2.1", "7.3.4")
    before = {version: kernel.recipe_hash(version) for version in versions}
    with (folder / change).open("a") as file:
        file.write("\n")
    assert {version for version in versions if kernel.recipe_hash(version) != before[version]} == moved
