"""Whether something else runs on the machine, told before a measurement and not by it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gauntlet.attack.gates import OTHERS_OF_A_CORE
from gauntlet.benches import idle
from tests.engine import host

TICKS_A_S = 100


def machine(root: Path, of_a_core: Callable[[float], float]) -> tuple[Callable[[float], None], list[float]]:
    """What sleeps on a machine on which a compiler takes so much of a core at each time, and its clock."""
    now, spent = [0.0], [0.0]

    def write() -> None:
        ticks = round(spent[0] * TICKS_A_S)
        of_it = f"7 (cargo (a)) R 1 7 7 0 0 0 0 0 0 0 {ticks} 0 0 0\n"
        files = {"proc/stat": f"cpu  {ticks} 0 0 0 0 0 0 0 0 0\n", "proc/7/stat": of_it}
        host.write(root, files)

    def sleep(seconds: float) -> None:
        spent[0] += of_a_core(now[0]) * seconds
        now[0] += seconds
        write()

    write()
    return sleep, now


@pytest.mark.parametrize(
    ("share", "words"),
    [(OTHERS_OF_A_CORE - 0.01, ""), (1.3, "something else takes 130% of a core (cargo (a) 130%)")],
)
def test_who_takes_more_than_a_run_stands_is_named(share: float, words: str, tmp_path: Path) -> None:
    sleep, now = machine(tmp_path, lambda _: share)
    assert idle.busy(root=tmp_path, sleep=sleep, clock=lambda: now[0]) == words
    assert now[0] == (idle.PATIENCE_S if words else idle.WATCHED_S)


def test_without_patience_it_is_looked_at_once(tmp_path: Path) -> None:
    sleep, now = machine(tmp_path, lambda _: 1.0)
    assert idle.busy(patience_s=0, root=tmp_path, sleep=sleep, clock=lambda: now[0])
    assert now[0] == idle.WATCHED_S


def test_what_ends_soon_is_waited_for(tmp_path: Path) -> None:
    sleep, now = machine(tmp_path, lambda at: 1.0 if at < 10 else 0.0)
    assert idle.busy(root=tmp_path, sleep=sleep, clock=lambda: now[0]) == ""
    assert now[0] == 12.0
