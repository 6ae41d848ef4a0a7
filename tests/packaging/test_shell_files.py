"""What travels in the wheel for shells and `man`: of every command, and always the same bytes."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from scripts.wheels import build

from tests.documentation.parsing import walked

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = dict(walked())


def made(share: Path, **environment: str) -> Path:
    """The files as the build of the wheel makes them."""
    program = [sys.executable, str(ROOT / "packaging" / "shell_files.py"), str(share)]
    subprocess.run(program, check=True, env={**os.environ, **environment})
    return share


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files."""
    return made(tmp_path_factory.mktemp("share"))


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_has_a_page_with_all_its_options(share: Path, path: str) -> None:
    page = (share / "man" / "man1" / f"{path.replace(' ', '-')}.1").read_text()
    assert re.match(rf'\.TH "{path.upper()}" "1" "2020-01-01"', page)
    options = {name for it in COMMANDS[path].params if isinstance(it, click.Option) for name in it.opts}
    plain = page.replace("\\-", "-")
    assert {name for name in options if name not in plain} == set()
    assert "..." not in page.partition(".SH SYNOPSIS")[0]


def test_examples_stay_as_they_are_typed(share: Path) -> None:
    page = (share / "man" / "man1" / "gauntlet-run.1").read_text()
    assert re.search(r"^\.nf\n(  gauntlet run .*\n){7}\.fi$", page, re.MULTILINE)


def test_nothing_of_the_machine_or_the_day_is_in_them(share: Path, tmp_path: Path) -> None:
    again = made(tmp_path / "elsewhere", PYTHONHASHSEED="7", TZ="Asia/Tokyo", COLUMNS="33", LANG="C")
    files = sorted(file.relative_to(share) for file in share.rglob("*") if file.is_file())
    assert len(files) == len(COMMANDS) + 3
    assert files == sorted(file.relative_to(again) for file in again.rglob("*") if file.is_file())
    assert all((share / file).read_bytes() == (again / file).read_bytes() for file in files)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (("sc",), {"scenario", "schema"}),
        (("scenario", "ex"), {"export"}),
        (("run", "--re"), {"--repetitions"}),
        (("completion", ""), {"bash", "zsh", "fish"}),
    ],
)
def test_bash_completes_commands_and_options(
    share: Path, tmp_path: Path, typed: tuple[str, ...], offered: set[str]
) -> None:
    program = tmp_path / "gauntlet"
    start = (ROOT / "packaging" / "gauntlet-net" / "scripts" / "gauntlet").read_text()
    program.write_text(start.replace("#!python", f"#!{sys.executable}"))
    program.chmod(0o755)
    words = " ".join(f"'{word}'" for word in ("gauntlet", *typed))
    script = (
        f"source {share}/bash-completion/completions/gauntlet; COMP_WORDS=({words}); "
        f"COMP_CWORD={len(typed)}; "
        '_gauntlet_completion gauntlet; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], check=True, capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    assert set(done.stdout.split()) == offered


def test_the_wheel_takes_them(tmp_path: Path) -> None:
    """They lie in the folder `data` of what pyproject.toml names: the root of an installation."""
    (tmp_path / "packaging").mkdir()
    shutil.copy(ROOT / "packaging" / "shell_files.py", tmp_path / "packaging")
    stale = tmp_path / "packaging" / "gauntlet-net" / "data" / "share" / "man" / "man1" / "gauntlet-gone.1"
    stale.parent.mkdir(parents=True)
    stale.touch()
    build.write_shell_files(tmp_path, {**os.environ, "PYTHONPATH": str(ROOT / "src")})
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["data"]
    assert (tmp_path / data / "data" / "share" / "man" / "man1" / "gauntlet.1").is_file()
    assert not stale.exists()
