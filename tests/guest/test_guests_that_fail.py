"""What happens when a run, a program or a guest goes wrong: a sentence, and nothing else is lost."""

import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import guest
from gauntlet.errors import RunError
from tests.guest.conftest import Play, gauntlet, run_plan, tcp_flow

EXPERIMENT = """
[experiment]
name = "one"
repetitions = 1

[scenario]
name = "constant"
rate = "10 Mbit/s"
delay = "10 ms"

[matrix]
protocols = ["tcp-cubic"]

[workload]
app = "bulk"
size = "100 kB"
"""

StandIn = Callable[[str], guest.Machine]


@pytest.fixture
def standing_in(machine: guest.Machine, tmp_path: Path) -> StandIn:
    """Machines whose kernel is a shell script with the given body."""

    def make(body: str) -> guest.Machine:
        file = tmp_path / "linux"
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)
        return replace(machine, kernel=file)

    return make


@pytest.fixture(autouse=True)
def own_cache_of_consoles(monkeypatch: pytest.MonkeyPatch, machine: guest.Machine, tmp_path: Path) -> None:
    """Consoles that are kept in the user's cache are kept beside the test instead."""
    monkeypatch.setenv("GAUNTLET_KERNEL", str(machine.kernel))
    monkeypatch.setenv("GAUNTLET_CACHE", str(tmp_path / "cache"))


def program(*argv: str) -> dict[str, Any]:
    """A program on the client."""
    return {"id": "own", "node": "client", "argv": [shutil.which(argv[0]), *argv[1:]]}


def signals(machine: guest.Machine, number: signal.Signals) -> Callable[[Mapping[str, Any]], None]:
    """A listener that sends a signal to the kernel of the guest when it tells of its progress."""

    def listen(event: Mapping[str, Any]) -> None:
        if event["event"] == "progress":
            os.kill(_kernel_of(machine), number)

    return listen


def _kernel_of(machine: guest.Machine) -> int:
    # The list may leave children out while others end (proc(5)), so it is read again.
    for _ in range(100):
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
        for pid in children:
            if _program(pid) == machine.kernel.resolve():
                return int(pid)
    raise AssertionError(f"no child of ours is {machine.kernel}")


def _program(pid: str) -> Path | None:
    """What a process runs; None of one that has just ended."""
    try:
        return Path(f"/proc/{pid}/exe").readlink()
    except FileNotFoundError:
        return None


def kept_console(sentence: str) -> str:
    """The file that an error says the console is kept in."""
    found = re.search(r"Its console is kept in (\S+)\.$", sentence)
    assert found, sentence
    return Path(found[1]).read_text()


def test_a_run_that_fails_says_why_and_the_next_one_is_played(play: Play) -> None:
    unknown = tcp_flow(stack_params={"congestion_control": "warp"})
    records = play(run_plan(id="first", flows=[unknown]), run_plan(id="second", flows=[tcp_flow()]))
    first = records["first"]
    said = first["reason"] or first["flows"][0]["reason"]
    assert "warp" in said
    assert "cubic" in said, "the sentence names what would be right"
    assert records["second"]["flows"][0]["received_bytes"] == 1_000_000


def test_a_run_longer_than_its_limit_is_ended(play: Play) -> None:
    record = play(run_plan(limit_s=5.0, flows=[tcp_flow(size_bytes=100_000_000)]))["run"]
    assert record["flows"][0]["outcome"] == "failed"
    assert "limit of 5 s" in record["flows"][0]["reason"]


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"speed": 1}, "speed"),
        ({"network": {"preset": "moon"}}, "moon"),
        ({"timeline": [{"at_s": 0.0, "link": "west>mid", "rate_bps": -1.0}]}, "rate_bps"),
        ({"timeline": [{"at_s": 0.0, "link": "west>moon", "rate_bps": 1.0}]}, "west>moon"),
        ({"sysctls": {"net.ipv4.tcp_moon": "1"}}, "net.ipv4.tcp_moon"),
    ],
)
def test_a_wrong_plan_is_refused_with_the_wrong_word_in_the_sentence(
    play: Play, change: dict[str, object], names: str
) -> None:
    try:
        said = play(run_plan(**change))["run"]["reason"]
    except RunError as error:
        said = str(error)
    assert names in said


# --- guests that stand still -----------------------------------------------------------------------------


def test_a_program_that_computes_for_ever_is_named_and_ended(play: Play) -> None:
    with pytest.raises(RunError) as caught:
        play(run_plan(programs=[program("sh", "-c", "while :; do :; done")]), stall_wall_s=2.0)
    said = str(caught.value)
    assert "stood still" in said
    assert "at the start of its run" in said
    assert "-c while :; do :; done` in it computes without a pause" in said
    assert kept_console(said).startswith("# Console of a guest")
    assert not [name for name in _commands() if "while :; do :; done" in name], "nothing of the guest is left"


def test_a_program_that_polls_without_sleeping_is_told_from_one_that_computes(play: Play) -> None:
    poller = program("python3", "-c", "import os\nwhile True: os.getppid()")
    with pytest.raises(RunError, match=r"while True: os.getppid\(\)` in it makes one system call .* getppid"):
        play(run_plan(programs=[poller]), stall_wall_s=2.0)


def test_a_guest_that_is_stopped_from_outside_is_not_blamed_on_a_program(
    play: Play, machine: guest.Machine
) -> None:
    run = run_plan(programs=[program("sleep", "60")])
    with pytest.raises(RunError, match=r"in its run at .* its kernel has been stopped from outside"):
        play(run, stall_wall_s=2.0, on_event=signals(machine, signal.SIGSTOP))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("while :; do :; done", "its kernel itself is busy"),
        ("exec sleep 1000", "nothing in it runs"),
    ],
)
def test_a_kernel_in_an_endless_loop_and_one_that_waits_blame_no_program(
    play: Play, standing_in: StandIn, body: str, said: str
) -> None:
    with pytest.raises(RunError, match=f"before its first report.*{said}"):
        play(run_plan(), machine=standing_in(body), stall_wall_s=2.0)


# --- guests that die -------------------------------------------------------------------------------------


def test_a_first_program_that_ends_is_told_with_its_exit_code(play: Play, machine: guest.Machine) -> None:
    false = Path(shutil.which("false") or "/bin/false")
    with pytest.raises(RunError) as caught:
        play(machine=replace(machine, program=false))
    said = str(caught.value)
    assert "before its first report" in said
    assert "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100" in said
    assert "its first process left with exit code 1" in said
    assert "Call Trace:" in kept_console(said), "the whole console is kept"
    assert "Call Trace:" not in said


def test_a_guest_without_its_first_program_says_so(
    play: Play, machine: guest.Machine, tmp_path: Path
) -> None:
    missing = replace(machine, program=tmp_path / "none")
    with pytest.raises(RunError, match=r"Requested init .*/none failed \(error -2\).*GAUNTLET_PLAYER"):
        play(machine=missing)


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        ("8M", r"8388608 bytes of memory \(mem=\) are too few: the kernel itself needs \d+"),
        ("16M", r"Kernel panic - not syncing: .* memory is too small for what it plays: give it more"),
    ],
)
def test_too_little_memory_is_told(play: Play, machine: guest.Machine, memory: str, words: str) -> None:
    with pytest.raises(RunError, match=words):
        play(run_plan(flows=[tcp_flow()]), machine=replace(machine, memory=memory))


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGKILL, "ended by SIGKILL"),
        (signal.SIGSEGV, "Kernel panic - not syncing: "),
        (signal.SIGTERM, "exit code 1"),
    ],
)
def test_a_guest_that_is_killed_while_it_plays_names_the_run_and_how(
    play: Play, machine: guest.Machine, number: signal.Signals, said: str
) -> None:
    run = run_plan(id="victim", programs=[program("sleep", "60")])
    with pytest.raises(RunError) as caught:
        play(run, on_event=signals(machine, number))
    assert "The guest died (in its run at " in str(caught.value)
    assert said in str(caught.value)
    assert '"event":"progress"' in kept_console(str(caught.value))


# What Linux 6.12 prints on a processor with AMX, which few that run this test will have.
AMX = """\
echo 'Warning: tempdir /tmp/guest is not on tmpfs'
echo 'userspace - ptrace set fp regs failed, errno = 14'
echo 'Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b'
echo 'CPU: 0 UID: 0 PID: 1 Comm: gauntlet-player Not tainted 6.12.117 #1'
echo 'Stack:'
echo ' 00000000 6c42bd60 60488e35 6c42be00'
echo 'Call Trace:'
echo ' [<6001fe70>] ? 0x000000006001fe70'
kill -ABRT $$
"""


def test_a_kernel_without_room_for_amx_says_the_failed_call_and_no_address(
    play: Play, standing_in: StandIn
) -> None:
    with pytest.raises(RunError) as caught:
        play(run_plan(), machine=standing_in(AMX))
    said = str(caught.value)
    assert '"userspace - ptrace set fp regs failed, errno = 14 (Bad address)", then "Kernel panic' in said
    assert "gauntlet kernel build" in said
    assert "6001fe70" not in said
    assert "[<6001fe70>]" in kept_console(said)


def test_a_guest_that_the_host_ended_for_want_of_memory(
    play: Play, standing_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = iter([7, 8])
    monkeypatch.setattr(guest, "oom_kills", lambda: next(counts))
    with pytest.raises(
        RunError, match=r"ended by SIGKILL\): it said nothing; .* want of memory .*--workers 1"
    ):
        play(run_plan(), machine=standing_in("kill -KILL $$"))


def test_a_console_that_cannot_be_kept_is_no_second_failure(
    play: Play, standing_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GAUNTLET_CACHE", str(tmp_path / "file"))
    with pytest.raises(RunError, match=r"The guest died .* could not be kept in .*file.*: Not a directory"):
        play(run_plan(), machine=standing_in("exit 1"))


def test_what_the_kernel_says_in_plain_words_comes_first(play: Play, standing_in: StandIn) -> None:
    plain = "echo 'gauntlet-kernel: there is no room for the registers of this processor'\n"
    with pytest.raises(RunError, match='it said "there is no room for the registers of this processor"'):
        play(run_plan(), machine=standing_in(plain + AMX))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda file: None, "there is no such file; type `gauntlet kernel build`"),
        (lambda file: file.mkdir(), "it is a folder"),
        (lambda file: file.write_text("#!/bin/sh\n"), "may not be executed; type `chmod"),
        (lambda file: (file.write_text("no program"), file.chmod(0o755)), "it is no program of this host"),
        (lambda file: shutil.copy(shutil.which("true") or "/bin/true", file), "a virtual-time kernel?"),
    ],
    ids=["missing", "a folder", "not executable", "not a program", "another program"],
)
def test_a_wrong_kernel_is_refused_with_its_mend(
    machine: guest.Machine, tmp_path: Path, make: Callable[[Path], object], said: str
) -> None:
    file = tmp_path / "linux"
    make(file)
    with pytest.raises(RunError, match=re.escape(said)):
        guest.boot([], tmp_path / "out", seed=1, machine=replace(machine, kernel=file))


def test_the_console_of_a_run_that_died_is_kept_with_the_results(
    machine: guest.Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that dies in the campaign, not before it, and only as long as a file is there."""
    curse, kernel = tmp_path / "curse", tmp_path / "linux"
    dies = f'case "$*" in *.work-*) if [ -e {curse} ]; then\n{AMX}fi;; esac\n'
    kernel.write_text(f'#!/bin/sh\n{dies}exec {machine.kernel} "$@"\n')
    kernel.chmod(0o755)
    monkeypatch.setenv("GAUNTLET_KERNEL", str(kernel))
    experiment = tmp_path / "one.toml"
    experiment.write_text(EXPERIMENT)
    results = tmp_path / "results"

    curse.touch()
    gauntlet("run", experiment, "--out", results, "--quiet")
    [record] = results.glob("runs/*/record.json")
    reason = json.loads(record.read_text())["reason"]
    console = results / "consoles" / f"{record.parent.name}.txt"
    assert f"Its console is kept in {console}." in reason
    assert "ptrace set fp regs failed" in reason
    assert "[<6001fe70>]" in console.read_text()

    curse.unlink()
    answer = gauntlet("run", experiment, "--out", results, "--quiet")
    assert answer.code == 0, answer.err
    assert json.loads(record.read_text())["outcome"] == "ok"
    assert not console.exists(), "it is gone when the run is played"


# --- programs of the user --------------------------------------------------------------------------------


def test_an_own_program_runs_on_the_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(os.urandom(300_000))
    fetch = (
        "import os, urllib.request as u; "
        "print(len(u.urlopen(f\"http://{os.environ['GAUNTLET_SERVER']}:8000/file\").read()))"
    )
    answer = gauntlet(
        "exec", "--scenario", "hsr", "--server", "python3 -m http.server 8000", "--", "python3", "-c", fetch,
        cwd=tmp_path,
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert answer.out.strip() == "300000"


def test_exec_ends_with_the_programs_exit_code(tmp_path: Path) -> None:
    answer = gauntlet("exec", "--scenario", "hsr", "--", "sh", "-c", "exit 7", cwd=tmp_path)
    assert answer.code == 7


def _commands() -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
    return found
