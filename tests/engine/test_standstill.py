"""Why a guest stands still: what follows from what its host sees."""

import os
import signal
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from gauntlet.engine import standstill
from gauntlet.engine.standstill import Finding, Glance, Process, Seen

KERNEL, FIRST, OTHER = 10, 11, 12
PROGRAM = Path("/usr/bin/gauntlet-player")


def found(
    used: Mapping[int, tuple[str, int]],
    *,
    calls: Mapping[str, int] | None = None,
    command: Sequence[str] = (),
    faults: int = 0,
    waits_in: str = "",
) -> Finding:
    """The finding after ten seconds in which processes used so many ticks, 100 a second."""
    before = Glance(100.0, {pid: Process(pid, "S", 500, 1000) for pid in used})
    now = Glance(
        110.0, {pid: Process(pid, state, 500 + ticks, 1000 + faults) for pid, (state, ticks) in used.items()}
    )
    seen = Seen(KERNEL, before, now, 100.0, enough_s=5.0)
    return standstill.judge(seen, calls=calls or {}, command=command, program=PROGRAM, waits_in=waits_in)


def test_a_program_that_computes_is_named() -> None:
    finding = found(
        {KERNEL: ("S", 0), FIRST: ("t", 0), OTHER: ("R", 990)},
        calls={"running": 100},
        command=["sh", "-c", "while :;\n do :; done"],
    )
    assert "the program `sh -c while :; do :; done` in it computes without a pause" in finding.sentence
    assert "9.9 s of CPU in the last 10.0 s" in finding.sentence
    assert not finding.starved


def test_a_program_that_makes_system_calls_is_told_from_one_that_computes() -> None:
    finding = found(
        {KERNEL: ("R", 800), OTHER: ("t", 180)},
        calls={"running": 40, "110": 45, "-1": 15},
        command=["poller"],
    )
    assert "`poller` in it makes one system call after the other, mostly getppid" in finding.sentence


def test_a_system_call_without_a_name_has_its_number() -> None:
    assert "mostly number 451" in found({KERNEL: ("R", 800), OTHER: ("t", 180)}, calls={"451": 9}).sentence


def test_a_program_that_faults_is_told_too() -> None:
    finding = found({KERNEL: ("R", 600), OTHER: ("t", 300)}, calls={"running": 50, "-1": 50}, faults=50_000)
    assert "a program in it makes page fault after page fault" in finding.sentence


def test_where_the_host_hides_system_calls_nothing_is_said_of_them() -> None:
    finding = found({KERNEL: ("R", 600), OTHER: ("t", 300)})
    assert finding.sentence.startswith("a program in it runs without a pause")


def test_the_first_program_is_ours() -> None:
    finding = found({KERNEL: ("S", 0), FIRST: ("R", 990)}, calls={"running": 9}, command=[str(PROGRAM)])
    assert "its first program, gauntlet's own, computes" in finding.sentence


def test_a_kernel_that_is_busy_by_itself_blames_no_program() -> None:
    finding = found({KERNEL: ("R", 995), FIRST: ("t", 0), OTHER: ("t", 3)}, command=["innocent"])
    assert "its kernel itself is busy" in finding.sentence
    assert "innocent" not in finding.sentence


def test_nothing_runs() -> None:
    finding = found({KERNEL: ("S", 1), FIRST: ("t", 0)}, waits_in="read")
    assert finding.sentence.startswith("nothing in it runs")
    assert "the host's system call read" in finding.sentence
    assert not finding.starved


@pytest.mark.parametrize(("state", "said"), [("R", "ready to run"), ("D", "waits for a disk")])
def test_a_host_that_gives_no_cpu_is_not_the_guests_fault(state: str, said: str) -> None:
    finding = found({KERNEL: ("S", 10), OTHER: (state, 120)})
    assert said in finding.sentence
    assert finding.starved


@pytest.mark.parametrize(("state", "said"), [("T", "stopped from outside"), ("Z", "has ended")])
def test_a_kernel_that_is_stopped_or_gone(state: str, said: str) -> None:
    assert said in found({KERNEL: (state, 0), OTHER: ("R", 990)}).sentence
    assert "has ended" in found({OTHER: ("R", 990)}).sentence


def stack(end: int, strings: Sequence[bytes]) -> bytes:
    """The end of a program's stack as the kernel makes it: auxiliary vector, platform's name, strings."""
    behind = b"x86_64\0" + b"".join(text + b"\0" for text in strings) + bytes(8)
    vector = struct.pack("<QQQQ", 15, end - len(behind), 0, 0)
    return b"locals x86_64\0 of the program" + vector + os.urandom(16).replace(b"x", b"y") + behind


def test_a_command_line_is_read_from_the_top_of_a_stack() -> None:
    end = 0x7F7FF23000
    words = [b"python3", b"-c", "print('ä')".encode(), b"", b"x86_64"]
    full = stack(end, [*words, b"HOME=/", b"A=b=c", b"/usr/bin/python3"])
    assert standstill.command_line_in(full, end) == [word.decode() for word in words]
    assert standstill.command_line_in(stack(end, [b"true", b"/bin/true"]), end) == ["true"], "no environment"
    assert standstill.command_line_in(full, end + 4096) == [], "the vector points elsewhere: no stack's end"
    assert standstill.command_line_in(full[:-1] + b"x", end) == []


def test_processes_of_a_session_are_seen_with_their_states() -> None:
    command = ["sh", "-c", "sleep 1000 & echo both; wait"]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"both\n"
        assert len(standstill.glance(process.pid).processes) == 2
        os.kill(process.pid, signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        before = standstill.glance(process.pid)
        assert before.processes[process.pid].state == "T"
        assert "stopped from outside" in standstill.look(process.pid, before, PROGRAM, 0.0).sentence
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
