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


def trialled(results: Results, wanted: set[str]) -> pa.Table | None:
    """The factors of a cell, `COLUMNS`, `trials` (how many), `told_in_time` (in how many of them the
    first signal was in time; None where nobody was told), `distinct` (how many of them are no copies of
    another; none is counted of invalid ones) and `told_after_s` (the middle of the times from
    the threat's first act to the first signal). None where nobody sends safety messages.
    """
    counted: Counter[tuple[tuple[str, Any], ...]] = Counter()
    early: Counter[tuple[tuple[str, Any], ...]] = Counter()
    distinct: Counter[tuple[tuple[str, Any], ...]] = Counter()
    seen: dict[tuple[tuple[str, Any], ...], set[int]] = defaultdict(set)
    told: dict[tuple[tuple[str, Any], ...], list[float]] = defaultdict(list)
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
            if it.verdict != INVALID:
                # Copies of each other come to the same, so they are always in one row.
                distinct[key] += is_new(trial.identity, seen[key])
            told[key] += [it.delay_s] if it.delay_s is not None else []
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
            }
            for key, count in counted.items()
        ]
    )
