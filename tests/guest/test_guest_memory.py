"""Equal guests have equal memory, wherever the host puts them."""

import re
import shutil
from collections.abc import Mapping
from typing import Any

import pytest

from gauntlet.engine.doctor import addresses
from tests.guest.conftest import Play, run_plan


def test_the_hosts_chance_does_not_decide_how_much_memory_a_guest_has(play: Play) -> None:
    layout = addresses.laid_out().result
    if layout is None or not layout.alike:
        pytest.skip("this host forbids programs to be laid out without chance (personality)")
    reader = {"id": "reader", "node": "client", "argv": [shutil.which("cat"), "/proc/meminfo"]}
    totals = set()
    for _ in range(3):
        events: list[Mapping[str, Any]] = []
        play(run_plan(programs=[reader]), events=events)
        said = "".join(event["text"] for event in events if event["event"] == "output")
        found = re.search(r"MemTotal: +(\d+) kB", said)
        assert found, said
        totals.add(int(found[1]))
    assert len(totals) == 1, totals
    assert totals.pop() > 245_000, "of 262,144 kB"
