"""The engine of the host ground with players that are scripts: what it asks, refuses, passes on, reports."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import host as host_ground
from gauntlet.engine.contract import Place
from gauntlet.engine.doctor import host_ground as doctor
from gauntlet.engine.host import Host
from gauntlet.errors import RunError

STOCK = {"net.core.rmem_max": "212992"}
RUN = {"id": "run", "seed": 1, "limit_s": 1.0, "sysctls": {**STOCK, "net.ipv4.tcp_mem": "1 2 3"}}


def player(folder: Path, text: str) -> Host:
    """A host ground whose player is this shell script."""
    program = folder / "player"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return Host(program, tuple(sorted(os.sched_getaffinity(0))), STOCK)


def checked(**changes: Any) -> str:
    """A script that answers like `--check`."""
    entry = {"run": "0", "refusal": None, "whole_kernel_sysctls": {}, **changes}
    return f"cat <<'END'\n{json.dumps([entry])}\nEND"


def test_its_identity_names_the_ground_the_player_and_the_machine(tmp_path: Path) -> None:
    one, other = player(tmp_path, "exit 0").identity(), player(tmp_path, "exit 1").identity()
    assert one["ground"] == "host"
    assert one["player_sha256"] != other["player_sha256"]
    assert {name: one[name] for name in ("kernel", "processor", "cores")} == {
        name: other[name] for name in ("kernel", "processor", "cores")
    }
    assert not player(tmp_path, "exit 0").exact


def test_what_the_player_refuses_is_refused_in_its_words(tmp_path: Path) -> None:
    assert player(tmp_path, checked()).refusals([RUN]) == [None]
    reason = "the rate needs the module sch_tbf."
    assert player(tmp_path, checked(refusal=reason)).refusals([RUN]) == [reason.rstrip(".")]
    assert player(tmp_path, "exit 1").refusals([]) == []


def test_a_setting_of_the_whole_kernel_is_refused_unless_it_is_a_stock_one(tmp_path: Path) -> None:
    stock = checked(whole_kernel_sysctls={"net.core.rmem_max": "4194304"})
    assert player(tmp_path, stock).refusals([RUN]) == [None]
    (own,) = player(tmp_path, checked(whole_kernel_sysctls={"net.ipv4.tcp_mem": "7 8 9"})).refusals([RUN])
    assert own is not None
    assert "net.ipv4.tcp_mem = 1 2 3 belongs to the whole kernel of this host" in own
    assert own.endswith("it has 7 8 9 (as root: sysctl -w net.ipv4.tcp_mem='1 2 3')")
    (absent,) = player(tmp_path, checked(whole_kernel_sysctls={"net.ipv4.tcp_mem": None})).refusals([RUN])
    assert absent is not None
    assert absent.endswith("it shows no such setting here")


def test_a_host_that_lets_nobody_play_says_so(tmp_path: Path) -> None:
    refused = """echo '{"event": "refused", "reason": "no user namespace."}'; exit 1"""
    with pytest.raises(RunError, match=r"The host ground cannot be used here: no user namespace\."):
        player(tmp_path, refused).refusals([RUN])


def test_events_are_passed_on_and_the_record_is_found(tmp_path: Path) -> None:
    script = (
        """echo '{"event": "started", "run": "run"}'; mkdir -p "$6/run"; echo '{}' > "$6/run/record.json"; """
        """echo 'no event'; echo '{"event": "finished", "run": "run", "outcome": "ok", "reason": null}'"""
    )
    events: list[str] = []
    engine = player(tmp_path, script)
    folder = engine.play(
        RUN, tmp_path / "out", place=Place(), on_event=lambda event: events.append(event["event"])
    )
    assert folder == tmp_path / "out" / "run"
    assert events == ["started", "finished"]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            """echo '{"event": "refused", "reason": "the plan is wrong."}'; exit 1""",
            "gave up: the plan is wrong.",
        ),
        ("echo words; exit 3", r"died \(exit code 3\). Its words are kept in .*console"),
        ("kill -9 $$", r"died \(ended by SIGKILL\)"),
        ("exit 0", "without a record"),
    ],
)
def test_a_player_that_leaves_no_record_is_reported(tmp_path: Path, script: str, said: str) -> None:
    with pytest.raises(RunError, match=said):
        player(tmp_path, script).play(RUN, tmp_path / "out", place=Place(console=tmp_path / "console"))


@pytest.mark.parametrize("script", ["sleep 1000", "exec >&- 2>&-; sleep 1000"])
def test_a_player_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(host_ground, "PATIENCE_S", -1.0)
    with pytest.raises(RunError, match="was ended"):
        player(tmp_path, script).play(RUN, tmp_path / "out", place=Place(console=tmp_path / "console"))


# --- the doctor -----------------------------------------------------------------------------------------


def found(*missing: str, accounting: str = "cgroup v2") -> dict[str, Any]:
    names = ("sch_tbf", "sch_netem", "sch_fq", "ip_gre")
    return {
        "rights": "user namespace",
        "accounting": accounting,
        "modules": [
            {"name": name, "purpose": f"{name} things", "missing": "none" if name in missing else None}
            for name in names
        ],
    }


def test_the_doctor_tells_what_the_host_ground_has() -> None:
    ground, kernel = doctor.checks(lambda: found("sch_fq"))
    assert ground.ok
    assert "namespaces by user namespace; control groups of version 2" in ground.detail
    assert kernel.ok, "nobody asks for fq"
    ground, _ = doctor.checks(lambda: found(accounting="rusage"))
    assert "no control group can be made" in ground.detail


def test_the_doctor_names_missing_modules_and_nothing_depends_on_them() -> None:
    _, kernel = doctor.checks(lambda: found("sch_netem", "ip_gre"))
    assert not kernel.ok
    assert not kernel.required
    assert "no sch_netem (delay and loss are made by a relay in user space instead)" in kernel.detail
    assert "no ip_gre (runs with ip_gre things are refused)" in kernel.detail
    assert "modprobe -a sch_netem ip_gre" in kernel.remedy


def test_the_doctor_goes_on_where_there_is_no_host_ground() -> None:
    def refuse() -> Any:
        raise RunError("The host ground cannot be used here: no user namespace.")

    (ground,) = doctor.checks(refuse)
    assert not ground.ok
    assert not ground.required
