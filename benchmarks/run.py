"""`make bench`: how fast virtual time is, in virtual seconds a second and as ratios to ns-3 in the same run.

Everything plays on one pinned core. Stacks take turns, ns-3 first in every round; each table has the best
turn of a stack and the median of its ratios to ns-3's turn of the same round. Prints the tables and writes
`build/bench-run.json`. `--only PART` (more than once if you like) measures one part.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet.engine import cores
from speed import line, ns3, program, stacks, table
from speed.disk import disk
from speed.host import guest_kernel, host
from speed.start import start
from speed.turns import PEER, Contender, figures, take_turns


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rounds: int
    bulk_bytes: int
    user_space_bytes: int
    paced_s: float
    disk_messages: int


FULL = Size(
    rounds=5, bulk_bytes=75_000_000, user_space_bytes=25_000_000, paced_s=120.0, disk_messages=1_000_000
)
SHORT = Size(rounds=1, bulk_bytes=500_000, user_space_bytes=500_000, paced_s=2.0, disk_messages=10_000)

STACKS: Mapping[str, tuple[str, Callable[[Size, int], dict[str, Contender]]]] = {
    "bulk": (
        "greedy flows, nothing recorded",
        lambda size, core: stacks.kernel(size.bulk_bytes, line.NOTHING, core),
    ),
    "logged": (
        "greedy flows, the delay of every message and every packet recorded",
        lambda size, core: stacks.kernel(size.bulk_bytes, line.EVERYTHING, core),
    ),
    "secure": (
        "greedy flows of transports in user space, nothing recorded",
        lambda size, core: stacks.user_space(size.user_space_bytes, core),
    ),
    "paced": (
        "paced datagrams, the delay of every message and every packet recorded",
        lambda size, core: stacks.paced(size.paced_s, core),
    ),
    "ns3": ("the peer alone", lambda _size, _core: {}),
}
"""Parts in which stacks take turns with ns-3: title and contenders."""

SINGLE: Mapping[str, tuple[str, Callable[[Size, int], dict[str, Any]]]] = {
    "start": (
        "start of `gauntlet run` to the first guest's first packet",
        lambda size, _core: start(size.rounds),
    ),
    "disk": ("disk for the messages of a TCP flow", lambda size, core: disk(size.disk_messages, core)),
}
"""Parts that measure one thing: title and figures."""


def main() -> None:
    """Measure the parts that were asked for, print each as it is found, write them all."""
    parser = program.options("run", "How fast virtual time is.", "one round of half a megabyte")
    parser.add_argument("--only", choices=[*STACKS, *SINGLE], action="append", help="measure only this part")
    chosen = parser.parse_args()
    size = SHORT if chosen.short else FULL
    core = cores.usable_cores()[-1]
    measured: dict[str, Any] = {
        "host": host(),
        "guest_kernel": guest_kernel(),
        "short": chosen.short,
        "core": core,
        "rounds": size.rounds,
        "bulk_bytes": size.bulk_bytes,
        "parts": {},
    }
    print(table.head(measured), flush=True)
    for name, part in measure(chosen.only or [*STACKS, *SINGLE], size, core):
        measured["parts"][name] = part
        print(table.part(part), flush=True)
    program.write(measured, chosen)


def measure(wanted: Sequence[str], size: Size, core: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The wanted parts' names and figures, one after the other."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-ns3-") as folder:
        peer = ns3.build(Path(folder)) if ns3.installed() and any(name in STACKS for name in wanted) else None
        for name, (title, contenders) in STACKS.items():
            if name in wanted:
                yield name, {"title": title, **_in_turns(contenders(size, core), peer, size, core)}
    for name, (title, figure) in SINGLE.items():
        if name in wanted:
            yield name, {"title": title, **figure(size, core)}


def _in_turns(
    contenders: Mapping[str, Contender], peer: Path | None, size: Size, core: int
) -> dict[str, Any]:
    first = {PEER: ns3.contender(peer, size.bulk_bytes, core)} if peer is not None else {}
    if not first and not contenders:
        return {"skipped": ns3.MISSING}
    return figures(take_turns({**first, **contenders}, size.rounds))


if __name__ == "__main__":
    program.end(main)
