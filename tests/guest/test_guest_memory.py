"""Equal guests have equal memory, as much as their run asks for, and a little more decides nothing."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import guest
from gauntlet.engine.contract import Place
from gauntlet.engine.doctor import addresses
from gauntlet.engine.virtual import Virtual
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import load_experiment
from gauntlet.experiment.plans import plan_run
from tests.guest.conftest import ROOT, Play, run_plan

READER = {"id": "reader", "node": "client", "argv": [shutil.which("cat"), "/proc/meminfo"]}


def total_kb(events: Sequence[Mapping[str, Any]]) -> int:
    """The memory that the kernel of a guest has, as it said."""
    said = "".join(event["text"] for event in events if event["event"] == "output")
    found = re.search(r"MemTotal: +(\d+) kB", said)
    assert found, said
    return int(found[1])


def test_the_hosts_chance_does_not_decide_how_much_memory_a_guest_has(play: Play) -> None:
    layout = addresses.laid_out().result
    if layout is None or not layout.alike:
        pytest.skip("this host forbids programs to be laid out without chance (personality)")
    totals = set()
    for _ in range(3):
        events: list[Mapping[str, Any]] = []
        play(run_plan(programs=[READER]), events=events)
        totals.add(total_kb(events))
    assert len(totals) == 1, totals
    assert totals.pop() > 245_000, "of 262,144 kB"


@pytest.mark.parametrize(("asked", "at_least_kb"), [({}, 245_000), ({"memory_mib": 512}, 505_000)])
def test_a_run_has_the_memory_that_it_asks_for(
    machine: guest.Machine, tmp_path: Path, asked: dict[str, int], at_least_kb: int
) -> None:
    events: list[Mapping[str, Any]] = []
    run = run_plan(programs=[READER]) | asked
    Virtual(machine).play(run, tmp_path, place=Place(), on_event=events.append)
    mib = asked.get("memory_mib", guest.MEMORY_MIB)
    assert at_least_kb < total_kb(events) <= mib << 10


def test_a_little_more_memory_changes_nothing_of_what_mptcp_sends(
    play: Play, machine: guest.Machine, tmp_path: Path
) -> None:
    """The captured packets of this run, kept in the page cache, would leave none for what sockets send.

    MPTCP counts what each piece of memory costs, and lets an application write less where pieces are small.
    """
    experiment = load_experiment(ROOT / "studies" / "geography" / "experiments" / "paths.toml")
    spec = next(it for it in expand(experiment) if it.id.startswith("mptcp-cubic_method-disjoint"))
    run = plan_run(spec)
    for flow in run["flows"]:
        flow["app_params"]["duration_s"] = 66.0
    messages = []
    for memory_mib in (guest.MEMORY_MIB, guest.MEMORY_MIB + 8):
        name = f"with-{memory_mib}"
        play({**run, "id": name}, machine=replace(machine, memory=f"{memory_mib}M"))
        messages.append((tmp_path / "out" / name / "messages.arrow").read_bytes())
    assert messages[0] == messages[1]
