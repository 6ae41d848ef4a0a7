"""`scripts/check-toolchain.sh` says what is too old and what to type; Rust and Python are fakes."""

import pytest

from tests.scripts.conftest import ROOT, Machine

SCRIPT = ROOT / "scripts" / "check-toolchain.sh"


@pytest.fixture
def developer(machine: Machine) -> Machine:
    """A machine with Rust 1.88.0 and Python 3.11."""
    machine.real("sort", "cut")
    rust(machine, "1.88.0")
    machine.program("cargo", "#!/bin/bash\n")
    machine.program("python3", "#!/bin/bash\necho 3.11\n")
    return machine


def rust(machine: Machine, version: str) -> None:
    """Install a Rust of that version."""
    machine.program("rustc", f'#!/bin/bash\necho "rustc {version} (abcdef 2026-01-01)"\n')


@pytest.mark.parametrize("version", ["1.88.0", "1.89.0", "1.100.0", "2.0.0"])
def test_a_new_rust_is_taken(developer: Machine, version: str) -> None:
    rust(developer, version)
    done = developer.run(SCRIPT)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("version", ["1.87.0", "1.9.0", "0.99.0"])
def test_an_old_rust_is_not(developer: Machine, version: str) -> None:
    rust(developer, version)
    done = developer.run(SCRIPT)
    assert done.returncode == 1
    assert f"Rust 1.88 or newer is needed (found: {version})." in done.stderr
    assert "rustup.rs" in done.stderr


def test_with_rustup_one_command_mends_it(developer: Machine) -> None:
    rust(developer, "1.80.0")
    developer.program("rustup", "#!/bin/bash\n")
    assert "  rustup update stable\n" in developer.run(SCRIPT).stderr


def test_no_rust_at_all(developer: Machine) -> None:
    developer.remove("rustc")
    done = developer.run(SCRIPT)
    assert done.returncode == 1
    assert "(found: none)" in done.stderr


def test_components_that_are_missing(developer: Machine) -> None:
    developer.program("cargo", '#!/bin/bash\n[ "$1" != clippy ]\n')
    done = developer.run(SCRIPT)
    assert done.returncode == 1
    assert "rustup component add rustfmt clippy" in done.stderr


def test_an_old_python_is_not_taken_but_another_can_be_named(developer: Machine) -> None:
    developer.program("python3", "#!/bin/bash\necho 3.9\n")
    done = developer.run(SCRIPT)
    assert done.returncode == 1
    assert "Python 3.9 is too old; 3.11 or newer is needed" in done.stderr
    developer.program("python3.13", "#!/bin/bash\necho 3.13\n")
    assert developer.run(SCRIPT, PYTHON="python3.13").returncode == 0
