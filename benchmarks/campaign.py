"""Where a campaign's processor time goes: guest, certificate, JSON, Parquet, tables, report, Python itself.

Plays the demo (or another experiment) in one process and charges its processor time, and that of the guests
that it boots, to the part that spends it: seconds of a core, not of the wall clock. Writes
`build/bench-campaign.json`. Run with `python benchmarks/campaign.py [EXPERIMENT]`.
"""

import ctypes
import os
import resource
import tempfile
import time
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any

from gauntlet import campaign, packing, report
from gauntlet.engine import cores, guest
from gauntlet.errors import RunError
from gauntlet.executor import places
from gauntlet.executor.contract import Emit
from gauntlet.executor.local import Work
from gauntlet.experiment import expand, load_experiment
from gauntlet.results import pack, parquet, store
from speed import program
from speed.host import guest_kernel, host, sentence

DEMO = Path(campaign.__file__).parent / "experiment" / "examples" / "demo.toml"
SHORT_RUNS = 2
_PR_SET_CHILD_SUBREAPER = 36

# What is watched: where it is looked up, its name, the part that it is charged to. What runs inside another
# part is taken out of that one.
WATCHED: tuple[tuple[Any, str, str], ...] = (
    (campaign, "rehearse", "rehearsal (its guest included)"),
    (guest, "boot", "talking to the guest"),
    (campaign, "plans", "plans"),
    (pack, "certify", "certificate"),
    (packing, "pack", "storing runs, the rest"),
    (store, "place_run", "storing runs, the rest"),
    (store, "json_bytes", "storing runs, JSON"),
    (pack, "json_bytes", "storing runs, JSON"),
    (pack, "_read_arrow", "storing runs, Parquet"),
    (parquet, "write", "storing runs, Parquet"),
    (campaign, "finalize", "tables"),
    (report, "build", "report"),
)
GUEST, START, REST = "guest", "Python's start and imports", "all else (reading the experiment, its runs)"


class Parts:
    """Processor seconds by part; each second belongs to the innermost part that is open."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {START: time.process_time()}
        self._open = [REST]
        self._own_s, self._children_s = time.process_time(), _children_s()

    def enter(self, part: str) -> None:
        """From now on time is this part's."""
        self._charge()
        self._open.append(part)

    def leave(self) -> None:
        """Back to the part around it."""
        self._charge()
        self._open.pop()

    def watch(self, place: Any, name: str, part: str) -> None:
        """Have each call of the function `place.name` charged to `part`."""
        function = getattr(place, name)

        def watched(*args: Any, **named: Any) -> Any:
            self.enter(part)
            try:
                return function(*args, **named)
            finally:
                self.leave()

        setattr(place, name, watched)

    def _charge(self) -> None:
        _reap()
        own_s, children_s = time.process_time(), _children_s()
        part = self._open[-1]
        # A rehearsal's guest is what a rehearsal costs; every other process waited for is a run's guest.
        inside = next((name for name in self._open if name.startswith("rehearsal")), None)
        for name, spent_s in (
            (inside or part, own_s - self._own_s),
            (inside or GUEST, children_s - self._children_s),
        ):
            self.seconds[name] = self.seconds.get(name, 0.0) + spent_s
        self._own_s, self._children_s = own_s, children_s


class OneProcess:
    """Stands in for `Local`: plays the jobs here, so that their parts can be told apart."""

    workers = 1
    notes = ()

    def __init__(self, work: Work, _workers: int) -> None:
        self._work = work
        self._core = cores.usable_cores()[0]

    def __enter__(self) -> "OneProcess":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        """Nothing is left to end."""

    def submit(self, job: Any, _on_event: Emit) -> "Future[Any]":
        """As `Local.submit`, without events; the future has its outcome already."""
        future: Future[Any] = Future()
        future.set_result(self._work(job, self._core, _unheard))
        return future


def main() -> None:
    """Play the experiment, print and write its parts."""
    parser = program.options("campaign", "Where a campaign's processor time goes.", f"{SHORT_RUNS} runs")
    parser.add_argument("experiment", nargs="?", type=Path, default=DEMO)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the results in this folder")
    chosen = parser.parse_args()
    _adopt_orphans()
    parts = Parts()
    for place, name, part in WATCHED:
        parts.watch(place, name, part)
    setattr(places, "Local", OneProcess)  # noqa: B010 - a stand-in of the same shape, which a type checker refuses
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as scratch:
        outcome = _play(chosen.experiment, chosen.keep or Path(scratch) / "results", chosen.short)
    parts.enter(REST)
    if outcome.failed:
        run, reason = next(iter(outcome.failed.items()))
        raise RunError(f"Run {run} failed, so something else was measured: {reason}")
    total_s = sum(parts.seconds.values())
    measured = {
        "host": host(),
        "guest_kernel": guest_kernel(),
        "short": chosen.short,
        "experiment": chosen.experiment.stem,
        "runs": outcome.finished,
        "virtual_s": outcome.virtual_s,
        "cpu_s": total_s,
        "cpu_s_of_parts": dict(sorted(parts.seconds.items(), key=lambda item: -item[1])),
    }
    print(sentence(measured["host"]))
    print(
        f"  {outcome.finished} runs, {outcome.virtual_s:,.0f} virtual s: {total_s:.1f} s of one core, "
        f"{total_s - parts.seconds[GUEST]:.1f} s of them not in a guest"
    )
    for part, spent_s in measured["cpu_s_of_parts"].items():
        print(f"  {spent_s:7.2f} s  {100 * spent_s / total_s:5.1f} %  {part}")
    program.write(measured, chosen)


def _play(file: Path, out: Path, short: bool) -> campaign.Outcome:
    experiment = load_experiment(file)
    specs = expand(experiment)
    outcome = campaign.run(
        specs[:SHORT_RUNS] if short else specs,
        out,
        experiment=experiment.text,
        seed=experiment.about.seed,
        name=experiment.about.name,
        title=experiment.about.title,
        options=campaign.options(experiment, specs),
        workers=1,
        cached=False,
    )
    report.build(out)
    return outcome


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _adopt_orphans() -> None:
    """A guest's processes that outlive it come to us (prctl(2)), so that their time is counted."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _reap() -> None:
    """Wait for orphans that have ended; guests themselves are waited for by who booted them."""
    for child in _own_children():
        stat = Path(f"/proc/{child}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        if stat[0] == "Z":
            os.waitpid(child, 0)


def _own_children() -> list[int]:
    return [int(word) for word in Path("/proc/self/task", str(os.getpid()), "children").read_text().split()]


def _unheard(_event: Any) -> None:
    """A worker's events have no listener here."""


if __name__ == "__main__":
    program.end(main)
