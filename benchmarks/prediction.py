"""Whether a processor in virtual time foretells a server that exists, at loads from which nothing was learnt.

    make prediction

Costs are learnt on this machine, the loads that are held out are played in virtual time
(`gauntlet.attack.prediction`), and what comes out is written to `build/prediction.json`. Only then are these
loads played on the machine. Compared are the sessions that were completed a second and the 99th percentile of
the honest client's delays: a prediction holds that is within `TOLERANCE` of the median of the repetitions.

The exit code is 0 when all predictions hold, 1 when one does not, 2 when none fails and one cannot be told:
runs were invalid (gauntlet.attack.gates), or the machine's own repetitions lie further apart than what a
prediction may be off.
"""

import argparse
import json
import math
import random
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gauntlet.attack import arena, gates
from gauntlet.attack.prediction import (
    HELD_OUT,
    Figures,
    flood_per_s,
    learn,
    observed,
    play_host,
    predict,
)
from gauntlet.attack.servers.own import OWN
from gauntlet.engine.virtual import Virtual
from gauntlet.errors import GauntletError
from speed.host import host

TOLERANCE = 0.15

REPETITIONS = 5
LEAST = 3
"""Of so many valid repetitions at least is a median taken."""

COMPLETED, DELAY = "completed [1/s]", "p99 [s]"


def figure(figures: Figures, what: str) -> float:
    """One of the figures; a delay that is not within the limit is infinite."""
    if what == COMPLETED:
        return figures.completed_per_s
    return math.inf if figures.p99_s is None else figures.p99_s


@dataclass(frozen=True)
class Row:
    """A prediction and what became of it."""

    protocol: str
    level: float
    what: str
    predicted: float
    observed: Sequence[float]
    """Of each valid repetition."""

    def content(self) -> dict[str, Any]:
        """As JSON has it, which knows no infinite number."""
        numbers = [it if math.isfinite(it) else None for it in (self.predicted, self.ratio, *self.observed)]
        found = {"predicted": numbers[0], "observed": numbers[2:], "ratio": numbers[1]}
        return {**asdict(self), **found, "verdict": self.verdict}

    @property
    def median(self) -> float:
        """Of the repetitions; no number without one."""
        return statistics.median(self.observed) if self.observed else math.nan

    @property
    def ratio(self) -> float:
        """Predicted to observed; no number where that is none."""
        return self.predicted / self.median if self.median not in (0.0, math.inf) else math.nan

    @property
    def verdict(self) -> str:
        """Whether the prediction holds, fails, or cannot be told."""
        if len(self.observed) < LEAST:
            return "cannot be told"
        if self.median in (0.0, math.inf):
            return "holds" if self.predicted == self.median else "FAILS"
        if max(abs(it / self.median - 1) for it in self.observed) > TOLERANCE:
            return "cannot be told"
        return "holds" if abs(self.ratio - 1) <= TOLERANCE else "FAILS"


def code(rows: Sequence[Row]) -> int:
    """The exit code."""
    verdicts = {it.verdict for it in rows}
    return 1 if "FAILS" in verdicts else 2 if "cannot be told" in verdicts else 0


def table(rows: Sequence[Row]) -> str:
    """The table for people."""
    head = ("over", "load", "figure", "predicted", "observed", "ratio", "of", "")
    body = [
        (it.protocol, f"{it.level:g}", it.what, f"{it.predicted:.4g}", f"{it.median:.4g}", f"{it.ratio:.3f}",
         str(len(it.observed)), it.verdict)
        for it in rows
    ]  # fmt: skip
    widths = [max(len(line[column]) for line in (head, *body)) for column in range(len(head))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in (head, *body))


def main() -> int:
    """Learn, predict, play, compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/prediction.json"))
    wishes = parser.parse_args()

    def tell(text: str) -> None:
        print(text, file=sys.stderr)

    OWN.ready()
    arena.ready()
    cases = [(protocol, level) for protocol, levels in HELD_OUT.items() for level in levels]
    kept: dict[str, Any] = {"host": host(), "seed": wishes.seed, "repetitions": wishes.repetitions}
    with tempfile.TemporaryDirectory(prefix="gauntlet-prediction-") as folder:
        own = Path(folder)
        costs = {it: learn(it, wishes.repetitions, own, tell) for it in HELD_OUT}
        predicted = {}
        for protocol, level in cases:
            tell(f"{protocol}: load {level:g} in virtual time")
            predicted[protocol, level] = predict(protocol, level, costs[protocol], Virtual.installed())
        kept["costs"] = {protocol: asdict(it) for protocol, it in costs.items()}
        kept["predicted"] = [
            {"protocol": protocol, "level": level, **asdict(predicted[protocol, level])}
            for protocol, level in cases
        ]
        _keep(wishes.out, kept)
        drawn = [case for _ in range(wishes.repetitions) for case in cases]
        random.Random(f"prediction {wishes.seed}").shuffle(drawn)
        seen: dict[tuple[str, float], list[Figures]] = {case: [] for case in cases}
        kept["invalid"] = []
        for number, (protocol, level) in enumerate(drawn, 1):
            tell(f"{protocol}: load {level:g} on the machine, run {number} of {len(drawn)}")
            outcome = play_host(protocol, flood_per_s(level, costs[protocol]), asks=True, folder=own)
            if reasons := gates.reasons(outcome):
                kept["invalid"].append({"protocol": protocol, "level": level, "reasons": reasons})
            else:
                seen[protocol, level].append(observed(outcome))
    rows = [
        Row(*case, what, figure(predicted[case], what), [figure(it, what) for it in seen[case]])
        for case in cases
        for what in (COMPLETED, DELAY)
    ]
    kept["rows"] = [row.content() for row in rows]
    _keep(wishes.out, kept)
    print(table(rows))
    print(f"A prediction may be off by {100 * TOLERANCE:g} %; {len(kept['invalid'])} runs were invalid.")
    return code(rows)


def _keep(file: Path, content: Mapping[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GauntletError as error:
        sys.exit(str(error))
