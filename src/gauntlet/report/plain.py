"""The answer as plain data, for scripts."""

from dataclasses import asdict
from typing import Any

from gauntlet.advice.use import Advice
from gauntlet.figures.style import OF_SUBJECT
from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.observation import Observation, State
from gauntlet.report.answer import further, opening
from gauntlet.report.cell import Cell
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.tails import as_data as tails_as_data
from gauntlet.report.threats import verdicts
from gauntlet.report.trust import trust


def as_data(evaluation: Evaluation, advice: Advice) -> dict[str, Any]:
    """JSON types only, values in SI units.

    `advice` is what to use, in the shape that studies have it in (docs/formats/classes.md).

    `cells` has one entry a subject (flows with the same work; empty where all have it), KPI, protocol and
    condition: `mean`, `low`, `high`, `n`, `median`, `worst` (null: nothing came to be), `completed` of
    `flows`, `limit` (what flows that did not end count with; null when all did), `deterministic`, `trusted`,
    `standing` (best, equal, level, ahead, worse, or null when nothing was compared), `p_value` (adjusted for
    all pairs), `difference` (to the best, paired by repetition), and `values` by repetition, each with its
    `state` (measured, censored, never).

    `asked` has one entry a subject of which something is asked, `tails` the slowest messages by subject,
    protocol and condition, and how flows stand to what is asked of them.
    """
    found = trust(evaluation)
    answer = [*opening(evaluation, verdicts(evaluation)), *further(evaluation)]
    return {
        "format": "gauntlet-summary",
        "version": 1,
        "title": evaluation.title,
        "question": evaluation.about.question,
        "results": str(evaluation.results.folder),
        "main_kpi": evaluation.main_kpi.name if evaluation.main_kpi else None,
        "subjects": [
            {
                "subject": part.subject,
                "main_kpi": part.main_kpi.name if part.main_kpi else None,
                "background": part.background,
            }
            for part in evaluation.parts
        ],
        "advice": advice.to_json(),
        "answer": [{"question": it.question, "text": it.text} for it in answer],
        "asked": [
            {"subject": part.subject, "question": part.asked.question, **_judge(part)}
            for part in evaluation.parts
            if part.asked is not None
        ],
        "tails": [row for part in evaluation.parts for row in tails_as_data(part)],
        "cells": [
            {
                "subject": part.subject,
                "kpi": kpi.name,
                "protocol": name.rpartition(OF_SUBJECT)[2],
                "condition": dict(
                    zip((factor.name for factor in evaluation.factors), condition, strict=True)
                ),
                **_cell(cell),
            }
            for part in evaluation.parts
            for kpi in part.kpis
            for condition in part.conditions
            for name, cell in part.cells(kpi, condition).items()
        ],
        "trust": {
            "planned": found.planned,
            "present": found.present,
            "trusted": found.trusted,
            "untrusted": [{"run": run, "reasons": reasons} for run, reasons in found.untrusted],
            "unchecked": [{"run": run, "reasons": reasons} for run, reasons in found.unchecked],
            "failed": [{"run": run, "reason": reason} for run, reason in found.failed],
            "flows": found.flows,
            "flows_failed": [{"run": run, "reason": reason} for run, reason in found.flow_failures],
            "warnings": found.warnings,
        },
    }


def _judge(part: Evaluation) -> dict[str, Any]:
    """What is asked, as the experiment has it, in SI units."""
    judge = next(row.asked["judge"] for row in part.rows if row.asked.get("judge"))
    return {name: judge.get(name) for name in ("kpi", "quantile", "at_most", "at_least")}


def _number(seen: Observation | None) -> float | None:
    return None if seen is None or seen.state == State.NEVER else seen.value


def _cell(cell: Cell) -> dict[str, Any]:
    standing = cell.standing
    mean = cell.mean or Mean(float("nan"), None, None, 0, "none")
    return {
        "mean": mean.value if cell.mean else None,
        "low": mean.low,
        "high": mean.high,
        "n": cell.repetitions,
        "median": _number(cell.median),
        "worst": _number(cell.worst),
        "completed": cell.completed,
        "flows": cell.flows,
        "limit": cell.limit,
        "deterministic": cell.deterministic,
        "values": {
            str(repetition): {"value": _number(it), "state": str(it.state)}
            for repetition, it in cell.observations.items()
        },
        "trusted": cell.trusted,
        "standing": (standing.word or None) if standing else None,
        "p_value": standing.p_value if standing else None,
        "difference": asdict(standing.difference) if standing and standing.difference else None,
    }
