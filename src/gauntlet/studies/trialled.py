"""What the trials of threats of an experiment came to, counted for the summary: a row for what is alike."""

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa

from gauntlet.evidence import is_new
from gauntlet.evidence.in_time import in_time
from gauntlet.evidence.trials import trials_of
from gauntlet.evidence.verdict import INVALID
from gauntlet.experiment.threats import APP
from gauntlet.results.reader import Results

COLUMNS = ("verdict", "harms", "by", "accepted_before")
"""What a trial came to (`gauntlet.evidence.verdict`); harms are joined by commas."""
RECOVERY = ("stopped", "recovered", "recovered_after_s", "recovered_within_s")
"""In how many of them, copies left out, a session ended once the threat had acted, after how many of these
the application had a fresh message over a further one, and when, from that act: the middle and the longest of
the times."""


def trialled(results: Results, wanted: set[str]) -> pa.Table | None:
    """The factors of a cell, `COLUMNS`, `trials` (how many), `told_in_time` (in how many of them the
    first signal was in time; None where nobody was told), `distinct` (how many of them are no copies of
    another; none is counted of invalid ones) and `told_after_s` (the middle of the times from
    the threat's first act to the first signal). Where a sender opens a further session once one has broken,
    also `RECOVERY`. None where nobody sends safety messages.
    """
    counted: Counter[tuple[tuple[str, Any], ...]] = Counter()
    early: Counter[tuple[tuple[str, Any], ...]] = Counter()
    distinct: Counter[tuple[tuple[str, Any], ...]] = Counter()
    seen: dict[tuple[tuple[str, Any], ...], set[int]] = defaultdict(set)
    told: dict[tuple[tuple[str, Any], ...], list[float]] = defaultdict(list)
    stopped: Counter[tuple[tuple[str, Any], ...]] = Counter()
    recovered: dict[tuple[tuple[str, Any], ...], list[float]] = defaultdict(list)
    reopens = False
    for run in results.runs():
        if run.id not in wanted or not run.ok or not any(flow["app"] == APP for flow in run.spec["flows"]):
            continue
        for trial in trials_of(run):
            it = trial.verdict
            factors = {name: value for name, value in trial.factors.items() if name != "repetition"}
            factors |= {"threat": trial.threat}
            came = (it.verdict, ", ".join(it.harms), it.by or "", it.accepted_before)
            key = tuple({**factors, **dict(zip(COLUMNS, came, strict=True))}.items())
            counted[key] += 1
            early[key] += bool(in_time(trial))
            told[key] += [it.delay_s] if it.delay_s is not None else []
            reopens |= trial.reopens
            # Copies of each other come to the same, so they are always in one row.
            if it.verdict == INVALID or not is_new(trial.identity, seen[key]):
                continue
            distinct[key] += 1
            if trial.stop is not None:
                stopped[key] += 1
                recovered[key] += [trial.recovery_s] if trial.recovery_s is not None else []
    if not counted:
        return None
    return pa.Table.from_pylist(
        [
            {
                **dict(key),
                "trials": count,
                "told_in_time": early[key] if told[key] else None,
                "distinct": distinct[key],
                "told_after_s": float(np.median(told[key])) if told[key] else None,
                **(_recovery(stopped[key], recovered[key]) if reopens else {}),
            }
            for key, count in counted.items()
        ]
    )


def _recovery(stopped: int, times_s: list[float]) -> dict[str, float | int | None]:
    """`RECOVERY` of the trials of one row."""
    middle, longest = (float(np.median(times_s)), max(times_s)) if times_s else (None, None)
    return dict(zip(RECOVERY, (stopped, len(times_s), middle, longest), strict=True))
