"""What `make dist` refuses, and how `make dist-check` says what differs."""

import subprocess
import zipfile
from pathlib import Path

import pytest
from scripts.wheels import build, compare
from scripts.wheels.failure import Refused


def wheel(
    place: Path, files: dict[str, str], instant: tuple[int, int, int, int, int, int] | None = None
) -> Path:
    """A wheel with these files."""
    with zipfile.ZipFile(place, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, instant or (2020, 1, 1, 0, 0, 0)), content)
    return place


def test_the_first_difference_is_named(tmp_path: Path) -> None:
    one = wheel(tmp_path / "one.whl", {"a": "1", "b": "2"})
    others = {
        "only one has c": wheel(tmp_path / "2.whl", {"a": "1", "b": "2", "c": ""}),
        "their files are in another order": wheel(tmp_path / "3.whl", {"b": "2", "a": "1"}),
        "the content of b": wheel(tmp_path / "4.whl", {"a": "1", "b": "3"}),
        "date_time of a": wheel(tmp_path / "5.whl", {"a": "1", "b": "2"}, (2021, 1, 1, 0, 0, 0)),
    }
    assert {said: compare.difference(one, other) for said, other in others.items()} == {
        it: it for it in others
    }


def test_a_wheel_that_names_the_folder_of_its_build_is_refused(tmp_path: Path) -> None:
    environment = {"CARGO_TARGET_DIR": f"{tmp_path}/target", "PYTHONPATH": f"{tmp_path}/checkout/src"}
    build.check_paths(wheel(tmp_path / "good.whl", {"a": "/gauntlet/crates/player"}), environment)
    bad = wheel(tmp_path / "bad.whl", {"a": f"panicked at {tmp_path}/checkout/crates/player/main.rs\0"})
    with pytest.raises(Refused, match=r"^a in bad\.whl names a folder of this machine: .*/player/main\.rs$"):
        build.check_paths(bad, environment)


def test_a_wheel_without_a_portable_tag_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no manylinux tag"):
        build.check_tag(wheel(tmp_path / "gauntlet_net-1-py3-none-linux_x86_64.whl", {}))
    build.check_tag(wheel(tmp_path / "gauntlet_net_studies-1-py3-none-any.whl", {}))


@pytest.mark.parametrize(("asks_for", "agrees"), [("2_17", True), ("2_34", True), ("2_36", False)])
def test_a_tag_that_says_less_than_the_programs_ask_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asks_for: str, agrees: bool
) -> None:
    """auditwheel is played by a program that answers in its words, broken where it breaks lines."""
    answer = f'x.whl is\nconsistent with the following platform\ntag: "manylinux_{asks_for}_x86_64".'
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\n")
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    made = wheel(tmp_path / "gauntlet_net-1-py3-none-manylinux_2_34_x86_64.whl", {})
    if agrees:
        build.check_tag(made)
    else:
        with pytest.raises(Refused, match=r"does not find the tag of .* true; it says: .*manylinux_2_36"):
            build.check_tag(made)


def test_a_tag_that_auditwheel_says_nothing_of_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(Refused, match="does not find the tag"):
        build.check_tag(wheel(tmp_path / "gauntlet_net-1-py3-none-manylinux_2_34_x86_64.whl", {}))


def test_only_what_is_committed_is_built_twice(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    compare.refuse_changes(tmp_path)
    (tmp_path / "new").touch()
    with pytest.raises(Refused, match="new is not committed"):
        compare.refuse_changes(tmp_path)
