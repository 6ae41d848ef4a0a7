"""What a bare root learns of this machine: how registries are reached, not what could stand in for one."""

import os
import tomllib
from pathlib import Path

import pytest
from scripts.fresh_machine import registries


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty root with the folders that the writers expect."""
    for folder in ("etc/apt/apt.conf.d",):
        (tmp_path / "root" / folder).mkdir(parents=True)
    return tmp_path / "root"


def _program(folder: Path, name: str, answer: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.txt").write_text(answer)
    (folder / name).write_text(f"#!/bin/sh\ncat {folder}/{name}.txt\n")
    (folder / name).chmod(0o755)


def test_pip_gets_the_index_and_no_wheels(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels, certificate = tmp_path / "wheels", tmp_path / "authority.pem"
    wheels.mkdir()
    certificate.write_text("certificate")
    (tmp_path / "pip.conf").write_text(
        f"[global]\nindex-url = https://old.example/simple\nfind-links = {wheels}\nno-index = false\n"
        f"cert = {certificate}\n[install]\nconstraint = {tmp_path}/c.txt\n"
    )
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_INDEX_URL", "https://new.example/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    registries.write_pip(root)
    written = (root / "etc/pip.conf").read_text()
    assert "index-url = https://new.example/simple\n" in written, "the environment wins, as in pip"
    assert f"cert = {certificate}\n" in written
    assert str(wheels) not in written
    assert "constraint" not in written
    assert (root / certificate.relative_to("/")).read_text() == "certificate"


def test_cargo_gets_the_registries_and_no_settings_of_builds(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "cargo"
    home.mkdir()
    (home / "config.toml").write_text(
        '[source.crates-io]\nreplace-with = "mirror"\n[source.mirror]\nregistry = "sparse+https://crates.example/"\n'
        '[http]\nmultiplexing = false\n[build]\ntarget-dir = "/somewhere"\n[env]\nCFLAGS = "-O1"\n'
    )
    monkeypatch.setenv("CARGO_HOME", str(home))
    registries.write_cargo(root)
    assert tomllib.loads((root / ".cargo/config.toml").read_text()) == {
        "source": {
            "crates-io": {"replace-with": "mirror"},
            "mirror": {"registry": "sparse+https://crates.example/"},
        },
        "http": {"multiplexing": False},
    }


def test_apt_reaches_the_same_archive_of_another_release(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = registries._own_suite()
    programs = tmp_path / "programs"
    _program(programs, "apt-get", (
        f"http://debian.example/debian/|{own}|main\nhttp://debian.example/debian/|{own}|contrib\n"
        f"http://debian.example/debian/|{own}-updates|main\nhttp://debian.example/security/|{own}-security|main\n"
        f"http://debian.example/debian/|{own}-backports|main\nhttp://vendor.example/apt/|vendor-{own}|main\n"
        "http://vendor.example/other/|stable|main\n"
    ))  # fmt: skip
    _program(programs, "apt-config", (
        'Acquire "";\nAcquire::http::Proxy "http://proxy.example:3128";\n'
        'Acquire::Check-Valid-Until "false";\nAcquire::Languages:: "none";\nAcquire::GzipIndexes "true";\n'
    ))  # fmt: skip
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    registries.write_apt(root, "forky")
    assert (root / "etc/apt/sources.list").read_text().splitlines() == [
        "deb http://debian.example/debian/ forky main",
        "deb http://debian.example/debian/ forky contrib",
        "deb http://debian.example/debian/ forky-updates main",
        "deb http://debian.example/security/ forky-security main",
    ]
    settings = (root / "etc/apt/apt.conf.d/99registries").read_text()
    assert "proxy.example:3128" in settings
    assert "Check-Valid-Until" in settings
    assert "Languages" not in settings
    assert "GzipIndexes" not in settings
    assert registries.apt_mirror("forky") == "http://debian.example/debian/"


def test_only_what_reaches_registries_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    wanted = {
        "https_proxy": "http://proxy.example:3128",
        "NO_PROXY": "localhost",
        "CARGO_REGISTRIES_CRATES_IO_PROTOCOL": "sparse",
        "CARGO_HTTP_CAINFO": "/etc/ssl/authority.pem",
    }
    for name, value in {
        **wanted,
        "PIP_FIND_LINKS": "/wheels",
        "CARGO_HOME": "/home/someone/.cargo",
        "CARGO_TARGET_DIR": "/target",
        "GAUNTLET_CACHE": "/cache",
        "RUSTFLAGS": "-O",
    }.items():
        monkeypatch.setenv(name, value)
    assert registries.environment() == wanted
