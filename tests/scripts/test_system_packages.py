"""`scripts/system-packages.sh` on machines of every kind, with apt, dpkg and sudo played by fakes."""

import pytest

from tests.scripts.conftest import ROOT, Machine

SCRIPT = ROOT / "scripts" / "system-packages.sh"

LOCKED = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 4711 (apt-get)"
STUMBLED = "E: Failed to fetch http://archive.example/debian/dists/bookworm/InRelease  Connection timed out"


def calls(machine: Machine, what: str) -> list[str]:
    """What apt-get was asked to do with `what` as its command, options left out."""
    return [line.split(f" {what} ", 1)[1] for line in machine.asked() if f" {what} " in f"{line} "]


def test_nothing_is_done_where_everything_is_installed(machine: Machine) -> None:
    machine.installed("gcc")
    machine.installed("make")
    done = machine.run(SCRIPT, "gcc", "make")
    assert (done.returncode, done.stdout, done.stderr, machine.asked()) == (0, "", "", [])


def test_what_is_missing_is_installed(machine: Machine) -> None:
    machine.installed("gcc")
    machine.installed("flex", status="deinstall ok config-files")
    done = machine.run(SCRIPT, "gcc", "flex", "bison")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Installing system packages: flex bison\n"
    assert calls(machine, "install") == ["--yes --no-install-recommends flex bison"]
    assert all("DPkg::Lock::Timeout=" in line for line in machine.asked())


def test_a_long_policy_is_read_to_its_end(machine: Machine) -> None:
    """Whoever stops reading at the first match kills apt-cache, and `pipefail` calls the package missing."""
    machine.candidate("linux-source-6.12")
    done = machine.run(SCRIPT, "--first-of", "linux-source-6.12", "linux-source-6.11")
    assert done.returncode == 0, done.stderr
    assert calls(machine, "install") == ["--yes --no-install-recommends linux-source-6.12"]


def test_the_first_that_is_to_be_had(machine: Machine) -> None:
    machine.candidate("linux-source-6.12", "(none)")
    machine.candidate("linux-source-6.11")
    machine.candidate("linux-source-6.8.0")
    names = ["linux-source-6.12", "linux-source-6.11", "linux-source-6.8.0"]
    done = machine.run(SCRIPT, "--first-of", *names)
    assert done.returncode == 0, done.stderr
    assert calls(machine, "install") == ["--yes --no-install-recommends linux-source-6.11"]


def test_the_first_that_is_installed_will_do(machine: Machine) -> None:
    machine.candidate("linux-source-6.12")
    machine.installed("linux-source-6.8.0")
    done = machine.run(SCRIPT, "--first-of", "linux-source-6.12", "linux-source-6.8.0")
    assert (done.returncode, machine.asked()) == (0, [])


def test_none_that_is_to_be_had(machine: Machine) -> None:
    done = machine.run(SCRIPT, "--first-of", "linux-source-6.12", "linux-source-6.11")
    assert done.returncode == 1
    assert done.stderr == "This distribution has no package of these: linux-source-6.12 linux-source-6.11.\n"


def test_optional_packages_are_left_out(machine: Machine) -> None:
    machine.candidate("tshark")
    done = machine.run(SCRIPT, "--if-available", "tshark", "chromium")
    assert done.returncode == 0, done.stderr
    assert calls(machine, "install") == ["--yes --no-install-recommends tshark"]


def test_no_optional_package_at_all(machine: Machine) -> None:
    done = machine.run(SCRIPT, "--if-available", "chromium")
    assert (done.returncode, calls(machine, "install")) == (0, [])
    assert "has no package of these: chromium" in done.stderr


def test_a_lock_of_another_apt_is_waited_for(machine: Machine) -> None:
    machine.updates_fail(*[LOCKED] * 7)
    done = machine.run(SCRIPT, "gcc")
    assert done.returncode == 0, done.stderr
    assert calls(machine, "sleep") == ["10"] * 7
    assert calls(machine, "install") == ["--yes --no-install-recommends gcc"]
    assert LOCKED not in done.stderr


def test_a_mirror_that_stumbles_is_asked_again(machine: Machine) -> None:
    machine.updates_fail(STUMBLED, STUMBLED)
    done = machine.run(SCRIPT, "gcc")
    assert done.returncode == 0, done.stderr
    assert calls(machine, "sleep") == ["10", "20"]
    assert calls(machine, "install") == ["--yes --no-install-recommends gcc"]


def test_lists_that_cannot_be_had_are_told_where_a_package_is_not_in_them(machine: Machine) -> None:
    machine.updates_fail(*[STUMBLED] * 3)
    done = machine.run(SCRIPT, "--first-of", "linux-source-6.12")
    assert done.returncode == 1
    assert STUMBLED in done.stderr
    assert "no package of these: linux-source-6.12 (apt-get update failed" in done.stderr


def test_old_lists_may_still_do(machine: Machine) -> None:
    """A broken source of another vendor is no reason to stop."""
    machine.updates_fail(*[STUMBLED] * 3)
    done = machine.run(SCRIPT, "gcc")
    assert done.returncode == 0, done.stderr
    assert calls(machine, "install") == ["--yes --no-install-recommends gcc"]


def test_a_lock_that_is_never_released_ends_the_waiting(machine: Machine) -> None:
    machine.updates_fail(*[LOCKED] * 100)
    done = machine.run(SCRIPT, "--first-of", "linux-source-6.12")
    assert done.returncode == 1
    assert LOCKED in done.stderr
    assert len(calls(machine, "sleep")) < 40


def test_an_installation_that_fails_is_told(machine: Machine) -> None:
    (machine.folder / "install-fails").touch()
    done = machine.run(SCRIPT, "gcc", "flex")
    assert done.returncode == 1
    assert "E: Sub-process /usr/bin/dpkg returned an error code (1)\n" in done.stderr
    assert "dpkg: error processing package flex (--configure):\n" in done.stderr, "it says so to apt's output"
    assert len(done.stderr.splitlines()) < 30
    assert "These system packages could not be installed: gcc flex; apt's reason stands above." in done.stderr


def test_an_ordinary_user_with_sudo(machine: Machine) -> None:
    machine.user_id = 1000
    (machine.folder / "passwordless").touch()
    done = machine.run(SCRIPT, "gcc")
    assert done.returncode == 0, done.stderr
    assert machine.asked()
    assert all(line.startswith("0 apt-get ") for line in machine.asked())


@pytest.mark.parametrize("sudo", ["absent", "asks for a password"])
@pytest.mark.parametrize(("words", "code"), [([], 1), (["--first-of"], 1), (["--if-available"], 0)])
def test_an_ordinary_user_without_sudo_is_told_what_to_type(
    machine: Machine, sudo: str, words: list[str], code: int
) -> None:
    machine.user_id = 1000
    machine.candidate("gcc")
    if sudo == "absent":
        machine.remove("sudo")
    done = machine.run(SCRIPT, *words, "gcc")
    assert (done.returncode, machine.asked()) == (code, [])
    assert "  sudo apt-get update && sudo apt-get install --no-install-recommends gcc\n" in done.stderr


@pytest.mark.parametrize(("words", "code"), [([], 1), (["--if-available"], 0)])
def test_a_distribution_without_apt(machine: Machine, words: list[str], code: int) -> None:
    machine.remove("apt-get")
    done = machine.run(SCRIPT, *words, "gcc")
    assert done.returncode == code
    assert "These packages are needed (Debian names): gcc." in done.stderr
