"""`scripts/msrv.sh` checks the stated Rust with that Rust where rustup has it; rustup and cargo are fakes."""

import json
import sys
from pathlib import Path

import pytest

from tests.scripts.conftest import ROOT, Machine

SCRIPT = ROOT / "scripts" / "msrv.sh"
STATED = "1.88"
TRIPLE = "x86_64-unknown-linux-gnu"


@pytest.fixture
def developer(machine: Machine) -> Machine:
    """Its rustup has one Rust, newer than the stated one; its libraries ask for the stated one."""
    machine.real("dirname")
    machine.program("python3", f'#!/bin/bash\nexec {sys.executable} "$@"\n')
    toolchains(machine, f"stable-{TRIPLE} (active, default)")
    libraries(machine, "1.56", None, "1.88.0")
    return machine


def toolchains(machine: Machine, *names: str) -> None:
    """What rustup has."""
    machine.program("rustup", "#!/bin/bash\necho '" + "\n".join(names) + "'\n")


def libraries(machine: Machine, *wanted: str | None) -> None:
    """Libraries that ask for these versions of Rust; what cargo is asked to check is logged."""
    packages = [
        {"name": f"library{number}", "version": "0.1.0", "rust_version": version}
        for number, version in enumerate(wanted)
    ]
    (machine.folder / "metadata").write_text(json.dumps({"packages": packages}))
    machine.program(
        "cargo",
        '#!/bin/bash\nif [ "$1" = metadata ]; then echo "$(<"$FAKES/metadata")"; '
        'else echo "$*" >>"$FAKES/log"; fi\n',
    )


def log(machine: Machine) -> str:
    """What cargo was asked besides its metadata."""
    file: Path = machine.folder / "log"
    return file.read_text() if file.exists() else ""


@pytest.mark.parametrize("name", [f"{STATED}-{TRIPLE}", f"{STATED}.0-{TRIPLE}"])
def test_the_stated_rust_checks_where_rustup_has_it(developer: Machine, name: str) -> None:
    toolchains(developer, f"stable-{TRIPLE} (active, default)", name)
    done = developer.run(SCRIPT)
    assert (done.returncode, done.stderr) == (0, "")
    assert log(developer).startswith(f"+{name} check --locked --workspace --all-targets")
    assert f"Rust {STATED} is new enough" in done.stdout


@pytest.mark.parametrize("name", [f"1.880.0-{TRIPLE}", f"11.88-{TRIPLE}", f"nightly-1.88-{TRIPLE}"])
def test_where_it_has_not_that_is_said(developer: Machine, name: str) -> None:
    toolchains(developer, name)
    done = developer.run(SCRIPT)
    assert (done.returncode, log(developer)) == (0, "")
    assert "Not compiled with it" in done.stdout
    assert f"rustup toolchain install {STATED}" in done.stdout


def test_without_rustup_that_is_said_too(developer: Machine) -> None:
    developer.remove("rustup")
    done = developer.run(SCRIPT)
    assert done.returncode == 0
    assert "Not compiled with it" in done.stdout


def test_a_library_that_asks_for_more_is_named(developer: Machine) -> None:
    libraries(developer, "1.88", "1.89", "1.100.0")
    done = developer.run(SCRIPT)
    assert done.returncode == 1
    assert "  library1 0.1.0 asks for Rust 1.89\n  library2 0.1.0 asks for Rust 1.100.0\n" in done.stderr


def test_what_the_compiler_refuses_is_no_success(developer: Machine) -> None:
    toolchains(developer, f"{STATED}-{TRIPLE}")
    developer.program("cargo", "#!/bin/bash\nexit 101\n")
    assert developer.run(SCRIPT).returncode == 101
