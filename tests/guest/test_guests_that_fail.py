"""What happens when a run, a program or a guest goes wrong: a sentence, and nothing else is lost."""

import os
import shutil
from pathlib import Path

import pytest

from gauntlet.engine import guest
from gauntlet.errors import RunError
from tests.guest.conftest import Play, gauntlet, run_plan, tcp_flow


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


def test_a_program_that_spins_on_the_clock_is_ended_with_a_sentence(play: Play) -> None:
    spinner = {
        "id": "spinner",
        "node": "client",
        "argv": [shutil.which("sh"), "-c", "while :; do :; done"],
    }
    with pytest.raises(RunError, match=r"stood still .* run run"):
        play(run_plan(programs=[spinner]), stall_wall_s=3.0)
    assert not [name for name in _commands() if "while :; do :; done" in name], "nothing of the guest is left"


def test_a_guest_that_cannot_boot_says_so(machine: guest.Machine, tmp_path: Path) -> None:
    broken = guest.Machine(machine.kernel, tmp_path / "no-such-program")
    with pytest.raises(RunError, match="guest died"):
        guest.boot([], tmp_path / "out", seed=1, machine=broken)


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
