"""From turns to figures: the best turn, the median of the rounds' ratios, and what the table says of them."""

from pathlib import Path
from typing import Any

import pytest

from gauntlet.errors import RunError
from speed import ns3, table, turns
from speed.turns import PEER, Turn


def turn(wall_s: float, cpu_s: float = 1.0) -> Turn:
    """A turn of 100 virtual seconds."""
    return Turn(100.0, wall_s, cpu_s, 2**27)


def test_contenders_take_turns_in_every_round() -> None:
    order = []

    def contender(name: str) -> Turn:
        order.append(name)
        return turn(1.0)

    found = turns.take_turns({"a": lambda: contender("a"), "b": lambda: contender("b")}, 2)
    assert order == ["a", "b", "a", "b"]
    assert {name: len(own) for name, own in found.items()} == {"a": 2, "b": 2}


def test_ratios_are_those_of_each_round() -> None:
    """The machine is half as fast in the second round: the ratios do not notice."""
    found = turns.figures(
        {PEER: [turn(10.0), turn(20.0), turn(10.0)], "x": [turn(2.0), turn(4.0), turn(1.0)]}
    )
    assert found["stacks"]["x"]["times_ns3_wall"] == pytest.approx(5.0)
    assert found["stacks"]["x"]["virtual_s_per_wall_s"] == pytest.approx(100.0)
    assert found["stacks"][PEER]["times_ns3_wall"] == pytest.approx(1.0)
    assert found["one_after_the_other"]["virtual_s_per_wall_s"] == pytest.approx(100.0)


def test_ratios_in_processor_time() -> None:
    found = turns.figures({PEER: [turn(1.0, cpu_s=6.0)], "x": [turn(9.0, cpu_s=2.0)]})
    assert found["stacks"]["x"]["times_ns3_cpu"] == pytest.approx(3.0)


def test_one_after_the_other_leaves_the_peer_out() -> None:
    found = turns.figures({PEER: [turn(50.0)], "x": [turn(1.0)], "y": [turn(3.0)]})
    assert found["one_after_the_other"]["virtual_s_per_wall_s"] == pytest.approx(50.0)


def test_without_the_peer_there_are_no_ratios() -> None:
    found = turns.figures({"x": [turn(2.0)]})
    assert not [key for key in found["stacks"]["x"] if key.startswith("times")]


def test_processor_time_is_that_of_the_programs_that_were_started() -> None:
    """A turn counts its own programs, not this process or its other children."""
    found = turns.measured(_sleep_a_moment)
    assert found.virtual_s == 7.0
    assert 0 < found.cpu_s < 0.9 * found.wall_s
    assert found.peak_bytes > 2**20


def _sleep_a_moment() -> float:
    import subprocess

    subprocess.run(["sleep", "0.5"], check=True)
    return 7.0


def test_the_failure_of_a_turn_is_told() -> None:
    with pytest.raises(RunError, match="no kernel"):
        turns.measured(_fail)


def _fail() -> float:
    raise RunError("no kernel")


def test_the_table_names_the_machine_the_kernel_and_what_is_missing() -> None:
    figures: dict[str, Any] = {
        "host": {
            "cpu": "Example 9000",
            "cores": 2,
            "distribution": "Debian",
            "kernel": "Linux 6.1",
            "load_1min_at_start": 0.5,
            "gauntlet": "1.0",
        },
        "guest_kernel": {"version": "6.12.1", "recipe_hash": "aa", "source_hash": "bb"},
        "core": 1,
        "rounds": 3,
        "parts": {
            "bulk": {"title": "greedy", **turns.figures({PEER: [turn(10.0)], "TCP": [turn(2.0, cpu_s=4.0)]})},
            "ns3": {"title": "the peer", "skipped": ns3.MISSING},
            "start": {"title": "start", "wall_s": 0.5, "turns_wall_s": [0.5, 0.6]},
        },
    }
    said = "\n".join([table.head(figures), *map(table.part, figures["parts"].values())])
    assert "Example 9000, 2 cores, Debian, Linux 6.1" in said
    assert "guest kernel 6.12.1 (recipe aa, source bb)" in said
    assert [line.split() for line in said.splitlines() if line.startswith("  TCP")] == [
        ["TCP", "50", "5.00", "0.25", "128"]
    ]
    assert "the peer: not measured (ns-3 is not installed" in said
    assert "start: wall_s 0.5" in said


def test_a_peer_that_does_not_compile_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\necho 'no such header' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RunError, match=r"(?s)line\.cc does not compile.*no such header"):
        ns3.build(tmp_path)
