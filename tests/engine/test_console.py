"""The last words of dead guests, out of what their kernels really printed."""

from pathlib import Path

import pytest

from gauntlet.engine import console

# Linux 6.12 on a processor with AMX, in the order in which it came.
AMX = """\
Warning: tempdir /tmp/guest is not on tmpfs
userspace - ptrace set fp regs failed, errno = 14
Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b
CPU: 0 UID: 0 PID: 1 Comm: gauntlet-player Not tainted 6.12.117 #1
Stack:
 00000000 6c42bd60 60488e35 6c42be00
 6001fe70 60629260 6c42be00 6002af80
 00000100 6040d12a 00000000 6040ad59
Call Trace:
 [<6001fe70>] ? 0x000000006001fe70
 [<6002af80>] ? 0x000000006002af80
 [<600c8c11>] ? 0x00000000600c8c11
"""

# The kernel's own log, printed where no console was there yet: each line begins with its level.
TOO_SMALL = """\
kmsg_dump:
<5>Linux version 6.12.117 (gauntlet@gauntlet) (gcc (Debian 12.2.0-14) 12.2.0, GNU ld 2.40) #1 1970-01-01
<6>Zone ranges:
<6>Early memory node ranges
<0>Kernel panic - not syncing: Failed to allocate 12615680 bytes for node 0 memory map
<4>CPU: 0 UID: 0 PID: 0 Comm: swapper Not tainted 6.12.117 #1
<4>Stack:
<4> ffffffffffffffff 604cfd20 60488e35 00000000
"""


def test_the_failed_call_comes_first_then_the_panic_and_no_address() -> None:
    words = console.last_words(AMX.splitlines())
    assert words.lines == (
        "userspace - ptrace set fp regs failed, errno = 14 (Bad address)",
        "Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b "
        "(its first process was ended by SIGSEGV)",
    )
    assert "gauntlet kernel build" in words.mend


def test_the_log_of_a_kernel_without_console_is_read_by_its_levels() -> None:
    words = console.last_words(TOO_SMALL.splitlines())
    assert words.lines == (
        "Kernel panic - not syncing: Failed to allocate 12615680 bytes for node 0 memory map",
    )
    assert "too small" in words.mend


def test_stamps_of_the_kernels_clock_are_left_out() -> None:
    said = [
        "[    0.000000] Out of memory: Killed process 21 (python3)",
        "[   12.345678] Kernel panic - not syncing: x",
    ]
    assert console.last_words(said).lines == (
        "Out of memory: Killed process 21 (python3)",
        "Kernel panic - not syncing: x",
    )


def test_lines_that_the_kernel_wrote_for_people_come_before_all_others() -> None:
    said = [
        "gauntlet-kernel: the registers of this processor need 11008 bytes, and there is room for 8192",
        *AMX.splitlines(),
    ]
    words = console.last_words(said)
    assert words.lines[0] == ("the registers of this processor need 11008 bytes, and there is room for 8192")
    assert len(words.lines) == 2, "and the panic"
    assert words.mend == "", "such a line says its mend itself"


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("/dev/shm must be not mounted noexec", "TMPDIR"),
        ("Bus error - the host /dev/shm or /tmp mount likely just ran out of space", "gauntlet doctor"),
        (
            "UML ran out of memory on the host side! This can happen due to a memory limitation",
            "max_map_count",
        ),
        ("Too few physical memory! Needed=12582912, given=8388608", "too small"),
        ("Kernel panic - not syncing: Requested init /nope failed (error -2).", "GAUNTLET_PLAYER"),
        ("ptrace: Operation not permitted", "gauntlet doctor"),
        ("Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000000", "GAUNTLET_PLAYER"),
        ("write: No space left on device", "TMPDIR"),
    ],
)
def test_a_known_cause_is_answered_with_its_mend(line: str, named: str) -> None:
    words = console.last_words(["Warning: tempdir /x is not on tmpfs", line])
    assert words.lines[0].startswith(line.removesuffix("."))
    assert named in words.mend


def test_a_defect_of_the_first_program_is_told_with_its_message() -> None:
    said = [
        '{"event":"started","run":"one"}',
        "",
        "thread 'main' panicked at crates/player/src/main.rs:40:5:",
        "no more than one link may be called west",
        "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
        "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00006500",
    ]
    words = console.last_words(said)
    assert words.lines[0].endswith("main.rs:40:5: no more than one link may be called west")
    assert words.lines[1].endswith("(its first process left with exit code 101)")


def test_what_happened_before_the_panic_is_not_mixed_with_what_follows_from_it() -> None:
    said = ["Kernel panic - not syncing: first", "Kernel panic - not syncing: second", "ptrace failed"]
    assert console.last_words(said).lines == ("Kernel panic - not syncing: first",)


def test_a_guest_that_named_no_failure_is_quoted_with_its_last_lines() -> None:
    said = ["one", "two", "three", "four", '{"event":"started","run":"r"}', " 71db0000 71c2bec0"]
    assert console.last_words(said).quoted() == '"two", then "three", then "four"'
    assert console.last_words([]).quoted() == ""


def test_a_flood_is_kept_at_both_ends_and_counted_between(tmp_path: Path) -> None:
    kept = console.Console()
    for number in range(100_000):
        kept.add(f"line {number:06} {'x' * 200}")
    lines = kept.lines()
    assert lines[0].startswith("line 000000 ")
    assert lines[-1].startswith("line 099999 ")
    gap = next(line for line in lines if "left out" in line)
    assert int(gap.split()[0].removeprefix("[")) == 100_000 - (len(lines) - 1)
    kept.keep(tmp_path / "deep" / "file.txt", ["heading"])
    text = (tmp_path / "deep" / "file.txt").read_text()
    assert text.startswith("# heading\nline 000000 ")
    assert len(text) < 6 << 20


def test_consoles_in_the_cache_do_not_pile_up(tmp_path: Path) -> None:
    places = []
    for _ in range(30):
        place = console.own_place(tmp_path)
        assert place not in places
        console.Console().keep(place, [])
        places.append(place)
    left = set((tmp_path / "consoles").iterdir())
    assert len(left) == 20
    assert places[-1] in left
