"""Equal guests have equal memory, wherever the host puts them, and as much as their run asks for."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import guest
from gauntlet.engine.contract import Place
from gauntlet.engine.doctor import addresses
from gauntlet.engine.virtual import Virtual
from tests.guest.conftest import Play, run_plan

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
