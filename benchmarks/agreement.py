"""Whether both grounds agree: the same runs in virtual time and on this machine's kernel, one by one.

    make agreement

Both play each run with the same seeds; the host's runs follow each other in an order that is drawn. What is
compared is what an application sees: how long a session takes to come up, how fast a transfer is, how long
messages are under way, which share of them is lost. Without loss both grounds are to give the same up to what
real time adds (`TOLERANCES`); with loss the lost packets are others, so that only the loss ratio is compared,
with the interval of its own chance.

The table has the median of the repetitions on either ground and their ratio (host to virtual). The exit code
is 0 when all agree, 1 when something does not or could not be played, 2 when something does not and the
machine was not idle: then it decides nothing. `build/agreement.json` keeps the figures, with how busy the
machine was at each run.
"""

import argparse
import json
import math
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.ipc

from gauntlet.engine.contract import Engine, Place
from gauntlet.engine.cores import usable_cores
from gauntlet.errors import GauntletError, RunError
from gauntlet.executor import engines
from gauntlet.experiment.sysctls import STOCK_SYSCTLS
from gauntlet.report.nodes import IDLE_SHARE
from speed.host import host

RATE_BPS = 2_000_000
DELAY_S = 0.02
REPETITIONS = 3


@dataclass(frozen=True)
class Tolerance:
    """How far the host's figure may be from the virtual one: a share of it, or so much, whichever is more."""

    share: float
    least: float

    def allows(self, virtual: float, real: float) -> bool:
        """Whether two figures agree."""
        return abs(real - virtual) <= max(self.share * abs(virtual), self.least)

    def __str__(self) -> str:
        share = f"{100 * self.share:g} %"
        return f"{share} or {self.least:g}" if self.least else share if self.share else "the same"


TOLERANCES = {
    # A round trip of 40 ms crosses two relays (or netems), two shapers and two wake-ups of processes.
    "set-up [s]": Tolerance(0.05, 0.003),
    # Of a link that is full the rate decides, in the kernel on both grounds.
    "throughput [bit/s]": Tolerance(0.05, 0.0),
    # One way: a relay, a shaper and a wake-up less.
    "median delay [s]": Tolerance(0.05, 0.002),
    "received messages": Tolerance(0.0, 0.0),
}
"""By what is compared. They are those of an idle machine, which wakes some tens of microseconds late."""


@dataclass(frozen=True)
class Case:
    """A run under a name, and what is compared of it."""

    name: str
    flow: Mapping[str, Any]
    compared: Sequence[str]
    loss: float = 0.0

    def run(self, seed: int) -> dict[str, Any]:
        """The run as a plan has it."""
        shaper = {"at_s": 0.0, "rate_bps": RATE_BPS, "queue_limit_bytes": 100_000}
        line: dict[str, Any] = {"at_s": 0.0, "delay_s": DELAY_S}
        return {
            "id": "run",
            "seed": seed,
            "limit_s": 60.0,
            "network": {"preset": "wire"},
            "timeline": [
                {"link": "west>mid", **shaper},
                {"link": "east>mid", **shaper},
                {"link": "mid>east", **line, **({"loss": self.loss} if self.loss else {})},
                {"link": "mid>west", **line},
            ],
            "drops": [],
            "sysctls": dict(STOCK_SYSCTLS),
            "flows": [{"id": "f0", "from": "client", "to": "server", "start_s": 0.5, **self.flow}],
            "record": {"messages": True, "socket_interval_s": None, "packets": "headers", "taps": None},
        }


def _flow(stack: str, params: Mapping[str, Any], app: str, app_params: Mapping[str, Any]) -> dict[str, Any]:
    return {"stack": stack, "stack_params": params, "app": app, "app_params": app_params}


_PACED = {"rate_bps": 500_000, "message_size_bytes": 1000, "duration_s": 5.0}
_BULK = {"size_bytes": 1_000_000}
_CUBIC = {"congestion_control": "cubic"}

CASES = (
    Case("tcp-cubic, 1 MB", _flow("tcp", _CUBIC, "bulk", _BULK), ("set-up [s]", "throughput [bit/s]")),
    Case("quic-quinn, 1 MB", _flow("quic-quinn", {}, "bulk", _BULK), ("set-up [s]", "throughput [bit/s]")),
    Case("tls over tcp, 1 MB", _flow("tls", _CUBIC, "bulk", _BULK), ("set-up [s]", "throughput [bit/s]")),
    Case(
        "tcp-cubic, 0.5 Mbit/s",
        _flow("tcp", _CUBIC, "cbr", _PACED),
        ("median delay [s]", "received messages"),
    ),
    Case("udp, 0.5 Mbit/s", _flow("udp", {}, "cbr", _PACED), ("median delay [s]", "received messages")),
    Case("udp, 0.5 Mbit/s, 5 % loss", _flow("udp", {}, "cbr", _PACED), ("loss ratio",), loss=0.05),
)


def figures(folder: Path) -> dict[str, float]:
    """What an application saw of the only flow of a run."""
    record = json.loads((folder / "record.json").read_text())
    flow = record["flows"][0]
    if record["outcome"] != "ok" or flow["outcome"] != "ok":
        why = record["reason"] or flow["reason"]
        raise RunError(f"A run on the {record['guest']['ground']} ground failed: {why}.")
    found = {
        "received messages": float(flow["received_messages"]),
        "loss ratio": 1.0 - flow["received_messages"] / flow["sent_messages"],
        "throughput [bit/s]": flow["received_bytes"] * 8 / (flow["last_received_s"] - flow["start_s"]),
    }
    if flow["established_s"] is not None:
        found["set-up [s]"] = flow["established_s"] - flow["start_s"]
    with pyarrow.ipc.open_file(folder / "messages.arrow") as file:
        rows = file.read_all().to_pylist()
    delays = [(row["received_ns"] - row["sent_ns"]) / 1e9 for row in rows if row["received_ns"] is not None]
    found["median delay [s]"] = statistics.median(delays)
    found["messages"] = float(flow["sent_messages"])
    return found


def load(folder: Path) -> float:
    """How busy the machine was before or after a run of the host ground, whichever is more."""
    about = json.loads((folder / "record.json").read_text())["guest"]["host"]
    return float(max(about["before"]["busy_share"], about["after"]["busy_share"]))


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    case: str
    what: str
    virtual: float
    real: float
    tolerance: str
    agrees: bool

    @property
    def ratio(self) -> float:
        """Host to virtual."""
        return self.real / self.virtual if self.virtual else math.nan


def compare(
    case: Case, virtual: Sequence[Mapping[str, float]], real: Sequence[Mapping[str, float]]
) -> list[Row]:
    """The lines of one case; medians of its repetitions, and the loss ratio of all of them together."""
    rows = []
    for what in case.compared:
        if what == "loss ratio":
            rows.append(_losses(case, virtual, real))
            continue
        ours, theirs = (statistics.median(run[what] for run in runs) for runs in (virtual, real))
        allowed = TOLERANCES[what]
        rows.append(Row(case.name, what, ours, theirs, str(allowed), allowed.allows(ours, theirs)))
    return rows


def _losses(case: Case, virtual: Sequence[Mapping[str, float]], real: Sequence[Mapping[str, float]]) -> Row:
    """Either ground is to be within four standard deviations of the loss that was asked for."""
    (ours, our_width), (theirs, their_width) = (_loss(case, runs) for runs in (virtual, real))
    agree = abs(ours - case.loss) <= our_width and abs(theirs - case.loss) <= their_width
    return Row(case.name, "loss ratio", ours, theirs, f"{case.loss:g} ± {their_width:.3g}", agree)


def _loss(case: Case, runs: Sequence[Mapping[str, float]]) -> tuple[float, float]:
    """The share of messages that a ground lost in all its runs, and four standard deviations of it."""
    sent = sum(run["messages"] for run in runs)
    ratio = 1.0 - sum(run["received messages"] for run in runs) / sent
    return ratio, 4.0 * math.sqrt(case.loss * (1.0 - case.loss) / sent)


def play(
    engine: Engine, jobs: Sequence[tuple[Case, int]], tell: Callable[[str], None]
) -> dict[str, list[Any]]:
    """Play runs one after the other; the figures of each by its case, and how busy the host was."""
    found: dict[str, list[Any]] = {"load": []}
    for number, (case, seed) in enumerate(jobs, 1):
        tell(f"{engine.identity()['ground']}: run {number} of {len(jobs)} ({case.name})")
        with tempfile.TemporaryDirectory(prefix="gauntlet-agreement-") as folder:
            record = engine.play(case.run(seed), Path(folder), place=Place(usable_cores()[0]))
            found.setdefault(case.name, []).append(figures(record))
            if not engine.exact:
                found["load"].append(load(record))
    return found


def table(rows: Sequence[Row]) -> str:
    """The table for people."""
    head = ("run", "figure", "virtual", "host", "ratio", "tolerance", "")
    body = [
        (it.case, it.what, f"{it.virtual:.5g}", f"{it.real:.5g}", f"{it.ratio:.4f}", it.tolerance,
         "agrees" if it.agrees else "DIFFERS")
        for it in rows
    ]  # fmt: skip
    widths = [max(len(line[column]) for line in (head, *body)) for column in range(len(head))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in (head, *body))


def main() -> int:
    """Play, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/agreement.json"))
    wishes = parser.parse_args()
    jobs = [(case, wishes.seed + repetition) for repetition in range(wishes.repetitions) for case in CASES]
    drawn = list(jobs)
    random.Random(f"agreement {wishes.seed}").shuffle(drawn)

    def tell(text: str) -> None:
        print(text, file=sys.stderr)

    both = [engines.installed("virtual"), engines.installed("host")]
    for engine in both:
        for case, refusal in zip(CASES, engine.refusals([case.run(1) for case in CASES]), strict=True):
            if refusal is not None:
                raise RunError(f"{case.name} cannot be played here: {refusal}.")
    virtual, real = play(both[0], jobs, tell), play(both[1], drawn, tell)
    rows = [row for case in CASES for row in compare(case, virtual[case.name], real[case.name])]
    busiest = max(real["load"])
    idle = busiest < IDLE_SHARE
    wishes.out.parent.mkdir(parents=True, exist_ok=True)
    kept = {"host": host(), "seed": wishes.seed, "repetitions": wishes.repetitions, "load": real["load"],
            "rows": [{**vars(row), "ratio": row.ratio} for row in rows]}  # fmt: skip
    wishes.out.write_text(json.dumps(kept, indent=1) + "\n")
    print(table(rows))
    print(
        f"The machine was at most {100 * busiest:.0f} % busy before and after a run of the host ground; "
        f"up to {100 * IDLE_SHARE:.0f} % counts as idle."
    )
    if all(row.agrees for row in rows):
        print("Both grounds agree.")
        return 0
    if not idle:
        print(
            "Something differs, and the machine was not idle: this decides nothing. Play it on an idle one."
        )
        return 2
    print("The grounds do not agree.")
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GauntletError as error:
        sys.exit(str(error))
