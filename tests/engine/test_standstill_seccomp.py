"""What a stub in seccomp mode hands over to its guest's kernel, read from made-up files of /proc."""

import itertools
import struct
from pathlib import Path

import pytest

from gauntlet.engine import standstill

PID = 42
# Lower than in a guest: no file system takes a file as long as an address space.
_STUB_TOP, _START = 0x100000000, 0x100002000
_SIGSYS, _SYS_SECCOMP, _AUDIT_ARCH_X86_64 = 31, 1, 0xC000003E
_SIGSEGV, _SEGV_MAPERR = 11, 1


def caught(call: int) -> bytes:
    """siginfo_t of a system call that a filter caught, as sigaction(2) has it."""
    return struct.pack("<iiiiQiI", _SIGSYS, 0, _SYS_SECCOMP, 0, 0x401000, call, _AUDIT_ARCH_X86_64)


def faulted() -> bytes:
    """siginfo_t of a page fault."""
    return struct.pack("<iiiiQQ", _SIGSEGV, 0, _SEGV_MAPERR, 0, 0x601000, 0)


def stub(proc: Path, siginfo: bytes) -> Path:
    """A /proc with one stub, in whose page lies the host's word on why it stopped last."""
    folder = proc / str(PID)
    folder.mkdir()
    (folder / "maps").write_text(
        "00400000-00401000 rw-s 00000000 00:1b 7 /dev/shm/memory\n"
        f"{_START - 4096:x}-{_START:x} r-xs 00000000 00:1b 7 /dev/shm/memory\n"
        f"{_START:x}-{_START + 4096:x} rw-s 00001000 00:1b 7 /dev/shm/memory\n"
    )
    with (folder / "mem").open("wb") as memory:
        memory.seek(_START + 1000)
        memory.write(siginfo + bytes(200))
    return proc


@pytest.fixture(autouse=True)
def _programs_end_lower(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standstill, "_STUB_TOP", _STUB_TOP)


@pytest.fixture
def leaves_often(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = itertools.count(0, 100_000)
    monkeypatch.setattr(standstill, "_gave_way", lambda _pid, _proc: next(counts))


@pytest.mark.usefixtures("leaves_often")
def test_a_call_that_is_made_over_and_over_has_its_number(tmp_path: Path) -> None:
    assert set(standstill._handed_over(PID, stub(tmp_path, caught(110)))) == {"110"}


@pytest.mark.usefixtures("leaves_often")
def test_a_fault_is_no_call(tmp_path: Path) -> None:
    assert set(standstill._handed_over(PID, stub(tmp_path, faulted()))) == {"-1"}


def test_a_stub_that_keeps_the_processor_hands_nothing_over(tmp_path: Path) -> None:
    """Its last call may have been long ago."""
    proc = stub(tmp_path, caught(110))
    (proc / str(PID) / "status").write_text(
        "voluntary_ctxt_switches:\t30\nnonvoluntary_ctxt_switches:\t200\n"
    )
    assert not standstill._handed_over(PID, proc)


def test_times_of_both_kinds_are_counted(tmp_path: Path) -> None:
    (tmp_path / str(PID)).mkdir()
    (tmp_path / str(PID) / "status").write_text(
        "Name:\tx\nvoluntary_ctxt_switches:\t30\nnonvoluntary_ctxt_switches:\t200\n"
    )
    assert standstill._gave_way(PID, tmp_path) == 230
