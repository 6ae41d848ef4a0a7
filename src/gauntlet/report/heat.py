"""One KPI of a report as a heat table (`gauntlet.figures.heat`)."""

from typing import Any

from gauntlet.figures.heat import AT_LEAST, HeatTable, heat
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import MISSING, counted, interval_text, mean_text, number, observation_text
from gauntlet.report.cell import Cell
from gauntlet.report.evaluation import Evaluation


def heat_table(evaluation: Evaluation, kpi: Kpi) -> HeatTable:
    """The table of one KPI."""
    cells = [evaluation.cells(kpi, condition) for condition in evaluation.conditions]
    equal = [any(it.standing is not None and it.standing.equal for it in row.values()) for row in cells]
    rows = [
        {
            "key": style.key,
            "protocol": style.label,
            "ranked": style.key in evaluation.ranked,
            "condition": place,
        }
        | _cell(kpi, row[style.key], compared=len(evaluation.ranked) > 1, shared=equal[place])
        for style in evaluation.styles
        for place, row in enumerate(cells)
    ]
    return heat(
        {name: [row[name] for row in rows] for name in rows[0]} if rows else {"number": []},
        [
            [f"{it.words} {it.label(level)}" for it, level in zip(evaluation.factors, condition, strict=True)]
            for condition in evaluation.conditions
        ],
        id=evaluation.named(f"kpi-{kpi.name}"),
        title=evaluation.titled(kpi.label),
        kpi=kpi,
    )


def _cell(kpi: Kpi, cell: Cell, *, compared: bool, shared: bool) -> dict[str, Any]:
    """A cell as a row of the tidy table; `compared`: with others, for alone nothing is the best; `shared`:
    another one equals the best.
    """
    flags = []
    if cell.untrusted_runs:
        flags.append(f"{cell.untrusted_runs} not trusted")
    if cell.failed_runs:
        flags.append(f"{cell.failed_runs} failed")
    if cell.known < len(cell.observations):
        flags.append(f"{len(cell.observations) - cell.known} without a value")
    done = f"{cell.completed} of {cell.flows}" if cell.completed < cell.flows else ""
    if cell.mean is None:
        count = len(cell.observations)
        return {
            "number": None,
            "failed": False,
            "value": MISSING,
            "interval": "",
            "mark": "",
            "trusted": True,
            "done": done,
            "spread": "",
            "note": f"no value in {count - cell.known} of {count} repetitions" if count else "no value",
            "flag": ", ".join(flags),
            "repetitions": cell.repetitions,
        }
    mark = cell.standing.word if cell.trusted and cell.standing is not None and compared else ""
    mark = "equal" if mark == "best" and shared else mark
    note = f"n = {counted(cell.repetitions, 'repetition')}"
    if cell.deterministic:
        note += f": deterministic, {len(cell.observations)} repetitions were the same"
    if cell.flows:
        note += f"; {cell.completed} of {counted(cell.flows, 'flow')} completed"
    if cell.limit is not None:
        note += f"; what did not end counts with {number(cell.limit * kpi.shown_factor)} {kpi.shown_unit}"
    if not cell.trusted:
        note += "; none of the runs is trusted"
    return {
        "number": cell.mean.value if cell.trusted else None,
        "failed": bool(cell.flows) and not cell.completed,
        "value": (AT_LEAST if cell.limit is not None else "") + mean_text(cell.mean, kpi.shown_factor),
        "interval": "deterministic" if cell.deterministic else interval_text(cell.mean, kpi.shown_factor),
        "mark": mark,
        "trusted": cell.trusted,
        "done": done,
        "spread": _spread(kpi, cell),
        "note": note,
        "flag": ", ".join(flags),
        "repetitions": cell.repetitions,
    }


def _spread(kpi: Kpi, cell: Cell) -> str:
    if cell.repetitions < 2:
        return ""
    median, worst = (observation_text(it, kpi.shown_factor) for it in (cell.median, cell.worst))
    return f"median {median}, worst {worst}"
