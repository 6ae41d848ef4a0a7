"""An experiment with [load], combined as in Flent's plots: streams each way, and the delays beside them."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gauntlet.figures.load import load as picture
from gauntlet.figures.tidy import add
from gauntlet.report.answer.keeping import label_of
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.figures.figure import Figure, figure
from gauntlet.report.figures.series import HELD_BACK
from gauntlet.report.rows import Row
from gauntlet.results.reader import Run

MOST = 4
"""Conditions side by side."""

_PANELS = {
    (True, False): "down (Mbit/s)",
    (True, True): "up (Mbit/s)",
    (False, False): "delay down (ms)",
    (False, True): "delay up (ms)",
}
"""By whether it is a stream of the load, and whether it goes up."""


def load(evaluation: Evaluation) -> Figure | None:
    """The first trusted repetition under the first conditions; None where there is no load or no such run."""
    if not evaluation.about.has_load:
        return None
    every = _first_runs(evaluation)
    shown = dict(list(every.items())[:MOST])
    wanted = {rows[0].run: words for words, rows in shown.items()}
    points = [
        (wanted[run.id], *it)
        for run in evaluation.results.runs()
        if run.id in wanted
        for it in _points(evaluation, shown[wanted[run.id]], run)
    ]
    table: dict[str, list[Any]] = {name: [] for name in ("condition", "panel", "series", "t", "value")}
    for panel in _PANELS.values():
        # Conditions stand in their order, whatever that of the runs is.
        for words, told, series, at_s, value in sorted(points, key=lambda it: list(shown).index(it[0])):
            if told == panel:
                add(table, words, panel, series, round(at_s, 2), round(value, 3))
    if not points:
        return None
    more = f" Of {len(every)} the first {MOST} are shown." if len(every) > MOST else ""
    return figure(
        name="load",
        title="Load and delay over time",
        caption="Above what each stream of the load brings, below the one-way delay of what is sent beside "
        f"it, as the mean of each second; of the first trusted repetition.{more} {HELD_BACK}",
        chart=picture(table),
        columns=table,
    )


def _first_runs(evaluation: Evaluation) -> Mapping[str, list[Row]]:
    """The flows of the first trusted repetition of each load's protocol under each condition, by these two in
    words.
    """
    of_run: dict[str, list[Row]] = {}
    for row in evaluation.rows:
        if row.trusted:
            of_run.setdefault(row.run, []).append(row)
    carriers = {run: _carrier(evaluation, rows) for run, rows in of_run.items()}
    several = len(set(carriers.values())) > 1
    found: dict[str, list[Row]] = {}
    for run, rows in sorted(of_run.items(), key=lambda it: it[1][0].repetition):
        where = [evaluation.label(rows[0].condition)] if evaluation.factors else []
        found.setdefault(", ".join([*[carriers[run]] * (several or not where), *where]), rows)
    order = {evaluation.label(condition): place for place, condition in enumerate(evaluation.conditions)}
    return dict(sorted(found.items(), key=lambda it: order[evaluation.label(it[1][0].condition)]))


def _carrier(evaluation: Evaluation, rows: list[Row]) -> str:
    """What carries the load of a run."""
    stream = next(row for row in rows if row.asked.get("background"))
    return label_of(evaluation, stream.protocol).partition(" beside ")[0]


def _points(evaluation: Evaluation, rows: list[Row], run: Run) -> Iterator[tuple[str, str, float, float]]:
    """Panel, series, instant and value."""
    windows = evaluation.results.by_flow("windows", ("start_s", "throughput_bps"))
    messages = run.messages(["flow", "sent_ns", "received_ns"])
    for row in rows:
        stream = bool(row.asked.get("background"))
        panel, series = _PANELS[stream, row.upward], _series(row.subject)
        if stream:
            found = windows.get((row.run, row.flow), {"start_s": (), "throughput_bps": ()})
            for at_s, rate_bps in zip(found["start_s"], found["throughput_bps"], strict=True):
                if not np.isnan(rate_bps):
                    yield panel, series, float(at_s), float(rate_bps) * 1e-6
        elif messages is not None:
            own = messages.filter(messages.column("flow").to_numpy() == row.flow)
            sent = own.column("sent_ns").to_numpy().astype(float)
            received = own.column("received_ns").to_numpy().astype(float)
            for second in np.unique(sent // 1e9):
                delay_s = (received - sent)[sent // 1e9 == second] * 1e-9
                if (came := delay_s[~np.isnan(delay_s)]).size:
                    yield panel, series, float(second), float(came.mean()) * 1e3


def _series(subject: str) -> str:
    """A stream or what is beside it by its class: up-be and ping-be-up are be, ping-up is ping, up-1 is
    stream 1.
    """
    parts = [it for it in subject.split("-") if it not in ("up", "down")]
    name = "-".join(parts[1:] if len(parts) > 1 and parts[0] == "ping" else parts)
    return f"stream {name}" if name.isdecimal() else name
