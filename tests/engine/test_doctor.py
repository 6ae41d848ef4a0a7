"""The doctor: every cause that it knows is given to it, and must be named with its mend."""

import ctypes
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from gauntlet.engine import doctor, guest, kernel
from gauntlet.engine.doctor import (
    addresses,
    folders,
    guests,
    limits,
    machine,
    memory,
    tools,
    tracing,
)
from gauntlet.engine.doctor.addresses import Layout
from gauntlet.engine.doctor.apart import Tried, apart
from gauntlet.engine.doctor.check import Check
from gauntlet.engine.doctor.tracing import Traced
from gauntlet.engine.guest_memory import Place
from gauntlet.errors import RunError
from tests.engine import host

NOWHERE = Path("/nonexistent")
MIB = 1 << 20
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def says(check: Check, *words: str, required: bool) -> None:
    """The check found a fault: a cause and a mend, a sentence each, with these words among them."""
    assert not check.ok, check
    assert check.required is required, check
    assert check.detail.endswith("."), check
    assert check.remedy.endswith("."), check
    for word in words:
        assert word in f"{check.detail} {check.remedy}", check


# --- the machine ----------------------------------------------------------------------------------------


def test_other_machines_and_old_pythons_are_refused() -> None:
    assert not machine.system("Darwin", "24", "arm64").ok
    assert not machine.system("Linux", "6.12", "aarch64").ok
    assert machine.system("Linux", "6.12", "x86_64").ok
    assert not machine.python((3, 10, 1)).ok
    assert machine.python((3, 13, 0)).ok


def test_cores_are_those_of_the_affinity_within_the_quota(tmp_path: Path) -> None:
    assert (
        machine.cores(NOWHERE, allowed=4, present=16).detail == "4 of 16 may be used, 4 guests side by side"
    )
    root = host.write(tmp_path, host.version_2("/", {"cpu.max": "150000 100000"}))
    check = machine.cores(root, allowed=8, present=8)
    assert check.ok
    assert "(v2) give the time of 1.5" in check.detail
    assert "2 guests side by side" in check.detail


def test_less_than_a_core_is_worth_knowing(tmp_path: Path) -> None:
    files = {"cpu,cpuacct/cpu.cfs_quota_us": "50000", "cpu,cpuacct/cpu.cfs_period_us": "100000"}
    check = machine.cores(host.write(tmp_path, host.version_1("/", files)), allowed=8, present=8)
    assert not check.ok
    assert not check.required
    assert "--cpus" in check.remedy


# --- memory ---------------------------------------------------------------------------------------------


def test_memory_of_the_host_and_of_the_control_group(tmp_path: Path) -> None:
    roomy = host.write(tmp_path / "roomy", host.meminfo(MemAvailable=8))
    assert memory.room(roomy, guests=4).ok
    says(memory.room(roomy, guests=40), "8.0 GiB free", "--workers 27", required=False)
    tight = host.write(tmp_path / "tight", host.meminfo(MemAvailable=0.25))
    says(memory.room(tight, guests=1), "256 MiB free", required=True)
    boxed = host.write(
        tmp_path / "boxed",
        host.meminfo(MemAvailable=64)
        | host.version_2("/", {"memory.max": str(host.GIB), "memory.current": str(host.GIB // 2)}),
    )
    says(memory.room(boxed, guests=2), "512 MiB free of the 1.0 GiB", "control group", required=False)


def promise(most: int) -> Callable[[int], Tried[bool]]:
    return lambda size: Tried(True) if size <= most else Tried(None, "Cannot allocate memory")


def test_memory_that_is_not_promised(tmp_path: Path) -> None:
    strict = host.write(
        tmp_path,
        {"proc/sys/vm/overcommit_memory": "2\n"} | host.meminfo(CommitLimit=4, Committed_AS=3.5),
    )
    assert memory.commitment(strict, 2, promise(1 << 40)).ok
    says(
        memory.commitment(strict, 2, promise(500 * MIB)),
        "vm.overcommit_memory=2",
        "512 MiB are left",
        "--workers 1",
        required=False,
    )
    says(memory.commitment(strict, 2, promise(0)), "vm.overcommit_memory=0", required=True)
    says(memory.commitment(NOWHERE, 2, promise(0)), "refuses 400 MiB", required=True)


def test_an_address_space_limit_is_felt_by_the_promise_itself() -> None:
    def limited() -> bool:
        # What this process has mapped by now counts too, and a fork has it all.
        own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (own + (1 << 30), resource.RLIM_INFINITY))
        return memory.promised(8 << 30).result is None and memory.promised(64 * MIB).result is True

    assert apart(limited).result is True


def test_too_few_mappings(tmp_path: Path) -> None:
    root = host.write(tmp_path, {"proc/sys/vm/max_map_count": "1000\n"})
    says(memory.mappings(root, lambda _: Tried(900)), "900 mappings", "=1000", "=65530", required=True)
    says(memory.mappings(root, lambda _: Tried(None, "SIGSYS")), "SIGSYS", required=True)


def test_mappings_are_really_made_until_the_host_refuses() -> None:
    most = int(Path("/proc/sys/vm/max_map_count").read_text())
    # The libraries that this process has loaded by now are mappings too, and a fork has them all.
    own = len(Path("/proc/self/maps").read_text().splitlines())
    got = memory.mapped(most + 10_000).result
    assert got is not None
    assert most - own - 1000 < got <= most
    assert memory.mapped(100).result == 100


# --- folders --------------------------------------------------------------------------------------------


def places(*known: Place) -> Callable[[Path, int], Place]:
    return lambda folder, _size: next(place for place in known if place.folder == folder)


def memory_place(*known: Place, guests: int = 2) -> Check:
    return folders.guest_memory_place(guests, [place.folder for place in known], places(*known))


SHM = Place(Path("/dev/shm"), True, 8 << 30)
DISK = Place(Path("/tmp"), False, 80 << 30)


def test_guests_memory_in_a_tmpfs_with_room() -> None:
    check = memory_place(SHM, DISK)
    assert check.ok
    assert check.detail == "in /dev/shm (tmpfs, 8.0 GiB free)"


def test_a_small_dev_shm_costs_time_and_is_named() -> None:
    small = Place(Path("/dev/shm"), True, 64 * MIB, "only 64 MiB free")
    says(
        memory_place(small, DISK),
        "/tmp",
        "a disk",
        "/dev/shm: only 64 MiB free",
        "--shm-size",
        required=False,
    )


def test_a_noexec_tmpdir_is_passed_over_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/own")
    own = Place(Path("/own"), True, 0, "mounted noexec")
    says(memory_place(own, SHM), "/dev/shm", "instead", "/own: mounted noexec", "TMPDIR", required=False)


def test_no_folder_at_all_is_the_end() -> None:
    nothing = [Place(Path(name), True, 0, "mounted noexec") for name in ("/dev/shm", "/tmp")]
    says(memory_place(*nothing), "/dev/shm and /tmp: mounted noexec", "Set TMPDIR", required=True)


def test_room_for_fewer_guests_than_there_are_cores() -> None:
    check = memory_place(Place(Path("/dev/shm"), True, 600 * MIB), guests=4)
    says(check, "fewer than 4 guests", "--workers 2", required=False)


def test_scratch_space() -> None:
    assert folders.scratch(Path("/tmp"), 3 << 30).ok
    says(folders.scratch(Path("/tmp"), 1 << 30), "1.0 GiB", "/tmp", "TMPDIR", required=False)


# --- tracing --------------------------------------------------------------------------------------------

REFUSED = Tried(Traced("PTRACE_TRACEME", "Operation not permitted"))


@pytest.mark.parametrize(
    ("files", "tried", "words"),
    [
        ({tracing.YAMA: "2\n"}, REFUSED, ["ptrace_scope=2", "ptrace_scope=1"]),
        ({tracing.YAMA: "3\n"}, REFUSED, ["ptrace_scope=3", "next boot"]),
        ({"proc/self/status": "TracerPid:\t0\nSeccomp:\t2\n"}, REFUSED, ["seccomp", "--cap-add=SYS_PTRACE"]),
        ({"proc/self/status": "TracerPid:\t77\nSeccomp:\t0\n"}, REFUSED, ["process 77", "outside of it"]),
        ({"sys/fs/selinux/booleans/deny_ptrace": "1 1"}, REFUSED, ["deny_ptrace", "setsebool"]),
        ({}, Tried(Traced("PTRACE_SYSEMU", "Input/output error")), ["gVisor", "kernel of its own"]),
        (
            {tracing.YAMA: "1\n"},
            Tried(None, "ended by SIGSYS"),
            ["ended by SIGSYS", "something on this host"],
        ),
    ],
)
def test_who_forbids_tracing(
    tmp_path: Path, files: dict[str, str], tried: Tried[Traced], words: list[str]
) -> None:
    says(tracing.tracing(host.write(tmp_path, files), lambda: tried), *words, required=True)


def test_tracing_that_works_is_not_blamed_on_a_setting(tmp_path: Path) -> None:
    root = host.write(tmp_path, {tracing.YAMA: "2\n", "proc/self/status": "Seccomp:\t2\n"})
    assert tracing.tracing(root, lambda: Tried(Traced(state_bytes=2432))).ok


def test_the_state_of_the_registers() -> None:
    def amx() -> Tried[Traced]:
        return Tried(Traced(state_bytes=11_008))

    assert tracing.register_state(False, amx).detail == "11008 bytes"
    says(tracing.register_state(True, amx), "11008", "2696", "GAUNTLET_KERNEL", required=False)
    assert tracing.register_state(True, lambda: Tried(Traced(state_bytes=2432))).ok
    says(tracing.register_state(False, lambda: REFUSED), required=False)


def test_a_child_is_really_traced() -> None:
    found = tracing.traced().result
    assert found is not None
    assert found.refused == ""
    assert found.state_bytes >= 512 + 64, "the legacy area and the header of XSAVE"


# --- addresses ------------------------------------------------------------------------------------------


def laid_out(layout: Layout) -> Callable[[], Tried[Layout]]:
    return lambda: Tried(layout)


def test_addresses(tmp_path: Path) -> None:
    root = host.write(tmp_path, {"proc/cpuinfo": "processor : 0\nflags\t\t: fpu la57 sse\n"})
    check = addresses.addresses(root, laid_out(Layout(highest=0x7FFFF7FF0000)))
    assert check.ok
    assert "5 levels" in check.detail
    assert "4 levels" in addresses.addresses(NOWHERE, laid_out(Layout())).detail
    says(addresses.addresses(root, laid_out(Layout(highest=1 << 50))), "no5lvl", required=True)
    says(addresses.addresses(root, laid_out(Layout("0x60000000 (x)"))), "0x60000000", required=True)
    says(addresses.addresses(root, laid_out(Layout(alike=False))), "seccomp", required=False)
    says(addresses.addresses(root, lambda: Tried(None, "ended by SIGSYS")), "SIGSYS", required=True)


# --- limits ---------------------------------------------------------------------------------------------


def test_too_few_open_files() -> None:
    says(limits.open_files(lambda _: Tried(90), (100, 4096)), "100 files", "ulimit -n 1024", required=True)
    says(limits.open_files(lambda _: Tried(90), (100, 100)), "limits.conf", required=True)


def test_files_are_really_opened() -> None:
    def limited() -> int | None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
        return limits.opened(256).result

    got = apart(limited).result
    assert got is not None
    assert 50 < got < 100
    assert limits.opened(50).result == 50


def test_too_few_processes(tmp_path: Path) -> None:
    boxed = host.write(tmp_path, host.version_2("/", {"pids.max": "30", "pids.current": "5"}))
    says(limits.processes(boxed, 2, lambda _: Tried(25), 9999), "pids.max", "--workers 1", required=False)
    says(limits.processes(boxed, 2, lambda _: Tried(5), 9999), "pids.max", required=True)
    says(limits.processes(NOWHERE, 2, lambda _: Tried(5), 20), "this user (20)", "ulimit -u", required=True)


def test_processes_are_really_started_and_none_is_left() -> None:
    def alone() -> int:
        # A process that adopts orphans would have to wait for whatever an attempt leaves behind.
        assert ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
        got = limits.forked(20).result or 0
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
        return got

    assert apart(alone).result == 20


def test_a_limit_of_a_users_processes_is_felt() -> None:
    def limited() -> int | None:
        if os.geteuid() == 0:
            os.setuid(65534)  # nobody: the limit does not hold for root
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        return limits.forked(20).result

    assert (apart(limited).result or 0) < 20


def test_limits_of_time_and_space() -> None:
    assert limits.time_and_space({}).ok
    says(limits.time_and_space({resource.RLIMIT_CPU: 60}), "60 s", "ulimit -t", required=False)
    says(limits.time_and_space({resource.RLIMIT_AS: 1 << 30}), "1.0 GiB", "ulimit -v", required=False)
    says(limits.time_and_space({resource.RLIMIT_AS: 1 << 28}), "256 MiB", "ulimit -v", required=True)
    says(limits.time_and_space({resource.RLIMIT_DATA: 1 << 28}), "256 MiB", "ulimit -d", required=True)


# --- the guest ------------------------------------------------------------------------------------------


def test_a_kernel_that_is_missing_or_may_not_be_executed(tmp_path: Path) -> None:
    def missing() -> kernel.Image:
        raise RunError("The virtual-time kernel is not built yet; type `gauntlet kernel build` (once).")

    says(guests.image(missing), "not built yet.", "Type `gauntlet kernel build`", required=True)
    file = tmp_path / "linux"
    file.touch(0o644)
    image = kernel.Image(file, "6.12", "recipe", "source", "of a wheel")
    says(guests.image(lambda: image), "may not be executed", f"chmod +x {file}", required=True)
    file.chmod(0o755)
    found = guests.image(lambda: image)
    assert found.ok
    assert found.detail == f"Linux 6.12, of a wheel, at {file}"


def test_a_guest_without_its_parts_is_not_tried() -> None:
    def missing() -> guest.Machine:
        raise RunError("no kernel")

    says(guests.boot(missing), "fails above", required=True)


def test_a_guest_that_dies_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAUNTLET_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "linux"
    file.write_text("#!/bin/sh\necho 'Kernel panic - not syncing: no luck'\nexit 1\n")
    file.chmod(0o755)
    machine = guest.Machine(file, tmp_path / "first")
    says(guests.boot(lambda: machine), "no luck", "console", required=True)
    monkeypatch.setenv("GAUNTLET_KERNEL", str(file))
    says(guests.boot(lambda: machine), "no luck", "Unset GAUNTLET_KERNEL", required=True)


def test_tools_of_others_are_never_required() -> None:
    says(tools.tshark(""), "captures", "apt-get install tshark", required=False)
    assert tools.chromium("/usr/bin/chromium").ok


# --- all of it ------------------------------------------------------------------------------------------


def test_every_check_has_a_name_of_its_own_and_a_mend_where_it_fails() -> None:
    found = doctor.checks()
    assert len({check.name for check in found}) == len(found)
    assert all(check.ok or check.remedy for check in found)


def test_what_is_tried_apart_tells_how_it_ended() -> None:
    def refuse() -> int:
        raise PermissionError(1, "Operation not permitted")

    def die() -> int:
        os.kill(os.getpid(), 9)
        return 0

    assert apart(lambda: 7) == Tried(7)
    assert apart(refuse) == Tried(None, "Operation not permitted")
    assert apart(die) == Tried(None, "ended by SIGKILL")
    assert "ZeroDivisionError" in apart(lambda: 1 // 0).ended
