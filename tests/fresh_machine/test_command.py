"""`make fresh-machine` runs what README tells a new user to type, and never passes by not running it."""

import shutil
import subprocess
from pathlib import Path

import pytest
from scripts.fresh_machine import __main__ as fresh_machine
from scripts.fresh_machine import ways

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_commands_are_readmes() -> None:
    assert fresh_machine.readme_commands((ROOT / "README.md").read_text()) == ["make demo", "make test"]


def test_a_readme_without_commands_is_refused() -> None:
    with pytest.raises(SystemExit, match="no shell block with a make command"):
        fresh_machine.readme_commands("# Gauntlet\n\n```sh\npip install gauntlet-net\n```\n")


def test_the_way_from_wheels_is_readmes() -> None:
    commands = fresh_machine.wheel_commands((ROOT / "README.md").read_text())
    assert commands[0].startswith("python3 -m venv ")
    assert "pip install dist/" in commands[1]
    assert commands[2].endswith("gauntlet demo")


def test_a_readme_that_installs_no_wheels_is_refused() -> None:
    with pytest.raises(SystemExit, match="no shell block that installs wheels"):
        fresh_machine.wheel_commands("# Gauntlet\n\n```sh\npip install gauntlet-net\n```\n")


def test_without_wheels_the_sentence_says_what_makes_them(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no wheel of Gauntlet in .*`make dist` makes them"):
        ways.wheels(tmp_path)


def test_a_root_that_can_build_is_no_judge_of_wheels(tmp_path: Path) -> None:
    (tmp_path / "gauntlet_net-1-py3-none-any.whl").touch()
    place = tmp_path / "root"
    (place / "usr/bin").mkdir(parents=True)
    (place / "usr/bin/gcc").touch(mode=0o755)
    with pytest.raises(SystemExit, match="The root has gcc, so it is not bare"):
        ways.wheels(tmp_path).prepare(place, tmp_path / "carried")


def test_what_one_root_compiled_serves_the_next(tmp_path: Path) -> None:
    checkout, place, carried = (tmp_path / name for name in ("checkout", "root", "carried"))
    (checkout / "src").mkdir(parents=True)
    (checkout / "src/main.rs").write_text("fn main() {}\n")
    (checkout / "Cargo.toml").write_text('[package]\nname = "small"\nedition = "2024"\n[workspace]\n')
    who = ("-c", "user.name=Test", "-c", "user.email=test@localhost")
    for command in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "--message=Small"]):
        subprocess.run(["git", "-C", checkout, *command], check=True)
    way = ways.source(checkout)
    said = []
    for _ in range(2):
        way.prepare(place, carried)
        build = ["cargo", "build", "--release", "--offline", "--target-dir", "target"]
        done = subprocess.run(build, cwd=place / "gauntlet", check=True, capture_output=True, text=True)
        said.append("Compiling small" in done.stderr)
        way.carry(place, carried)
        shutil.rmtree(place)
    assert said == [True, False]


def test_a_try_names_a_release_and_commands_of_readme() -> None:
    commands = ["make demo", "make test"]
    assert fresh_machine.parse_try("bookworm", commands) == ("bookworm", commands)
    assert fresh_machine.parse_try("trixie:demo", commands) == ("trixie", ["make demo"])
    with pytest.raises(SystemExit, match=r"`make bench`; it has make demo, make test"):
        fresh_machine.parse_try("trixie:bench", commands)


def test_the_makefile_says_where_set_up_ends() -> None:
    assert fresh_machine.SET_UP in (ROOT / "Makefile").read_text(), (
        "seconds of set-up and of the rest are told apart"
    )


def test_without_root_rights_it_fails_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("sys.argv", ["fresh_machine"])
    assert fresh_machine.main() == 1
    said = capsys.readouterr().err.strip()
    assert said == "A bare root needs root rights (mounts, chroot): run `sudo make fresh-machine`."
