"""Contenders that take turns, so that a machine that drifts or does other work hurts all of them alike."""

import concurrent.futures
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

PEER = "ns-3, TCP CUBIC"
"""The contender that the others are compared with."""


@dataclass(frozen=True)
class Turn:
    """What one turn took: virtual seconds played, wall and processor seconds, bytes resident at most."""

    virtual_s: float
    wall_s: float
    cpu_s: float
    peak_bytes: int


Contender = Callable[[], Turn]


def measured(play: Callable[[], float]) -> Turn:
    """Time `play`, which starts programs, waits for them and returns the virtual seconds that they played.

    It runs in a process of its own (so it must be picklable: a function of a module, or a partial of one):
    what the kernel accounts to that process's children is then theirs alone.
    (Their memory counts from before their exec, so that it is never less than that of this interpreter.)
    """
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as alone:
        return alone.submit(_timed, play).result()


def _timed(play: Callable[[], float]) -> Turn:
    before_s = time.perf_counter()
    virtual_s = play()
    wall_s = time.perf_counter() - before_s
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Turn(virtual_s, wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def take_turns(contenders: Mapping[str, Contender], rounds: int) -> dict[str, list[Turn]]:
    """Let each contender play once a round, in their order; returns everybody's turns, one a round."""
    turns: dict[str, list[Turn]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            turns[name].append(contender())
    return turns


def figures(turns: Mapping[str, Sequence[Turn]]) -> dict[str, Any]:
    """Each contender's speed in its best turn, and how many times as fast as the peer it is.

    The best turn is the least disturbed one. The ratio is the median of the rounds' ratios, each to the
    peer's turn in the same round: one in wall time, one in processor time, which other programs hardly
    change. Without the peer there are no ratios. `one_after_the_other` is the speed of all contenders but the
    peer as if their best turns were one long run.
    """
    peer = turns.get(PEER)
    found: dict[str, Any] = {"stacks": {name: _figures(own, peer) for name, own in turns.items()}}
    best = [max(own, key=_speed) for name, own in turns.items() if name != PEER]
    if best:
        found["one_after_the_other"] = {
            "virtual_s_per_wall_s": sum(turn.virtual_s for turn in best) / sum(turn.wall_s for turn in best)
        }
    return found


def _speed(turn: Turn) -> float:
    return turn.virtual_s / turn.wall_s


def _cpu_speed(turn: Turn) -> float:
    return turn.virtual_s / turn.cpu_s


def _figures(own: Sequence[Turn], peer: Sequence[Turn] | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "virtual_s_per_wall_s": max(map(_speed, own)),
        "virtual_s_per_cpu_s": max(map(_cpu_speed, own)),
        "peak_bytes": max(turn.peak_bytes for turn in own),
        "turns": [asdict(turn) for turn in own],
    }
    if peer is not None:
        found |= {f"times_ns3_{kind}": value for kind, value in times(own, peer).items()}
    return found


def times(own: Sequence[Turn], other: Sequence[Turn]) -> dict[str, float]:
    """How many times as fast as `other` a contender is, in wall and in processor time.

    Each is the median of the rounds' ratios.
    """
    rounds = list(zip(own, other, strict=True))
    return {
        kind: statistics.median(speed(mine) / speed(its) for mine, its in rounds)
        for kind, speed in (("wall", _speed), ("cpu", _cpu_speed))
    }
