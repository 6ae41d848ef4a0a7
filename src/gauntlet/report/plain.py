"""The answer as plain data, for scripts."""

from dataclasses import asdict
from typing import Any

from gauntlet.metrics.intervals import Mean
from gauntlet.report.answer import sentences
from gauntlet.report.campaign import Campaign, Cell
from gauntlet.report.trust import trust


def as_data(campaign: Campaign) -> dict[str, Any]:
    """JSON types only, values in SI units.

    `cells` has one entry a KPI, protocol and condition: `mean`, `low`, `high`, `n`, `trusted`, `standing`
    (best, level, worse, or null when nothing was compared), `p_value` and `difference` (to the best, paired
    by repetition).
    """
    found = trust(campaign)
    return {
        "format": "gauntlet-summary",
        "version": 1,
        "title": campaign.title,
        "question": campaign.question,
        "results": str(campaign.results.folder),
        "main_kpi": campaign.main_kpi.name if campaign.main_kpi else None,
        "answer": [{"question": it.question, "text": it.text} for it in sentences(campaign)],
        "cells": [
            {
                "kpi": kpi.name,
                "protocol": name,
                "condition": dict(zip((axis.name for axis in campaign.axes), condition, strict=True)),
                **_cell(cell),
            }
            for kpi in campaign.kpis
            for condition in campaign.conditions
            for name, cell in campaign.cells(kpi, condition).items()
        ],
        "trust": {
            "planned": found.planned,
            "present": found.present,
            "trusted": found.trusted,
            "untrusted": [{"run": run, "reasons": reasons} for run, reasons in found.untrusted],
            "unchecked": [{"run": run, "reasons": reasons} for run, reasons in found.unchecked],
            "failed": [{"run": run, "reason": reason} for run, reason in found.failed],
            "warnings": found.warnings,
        },
    }


def _cell(cell: Cell) -> dict[str, Any]:
    verdict = cell.verdict
    standing = None
    if verdict is not None:
        standing = (
            "best" if verdict.best else {True: "worse", False: "level", None: None}[verdict.distinguishable]
        )
    mean = cell.mean or Mean(float("nan"), None, None, 0, "none")
    return {
        "mean": mean.value if cell.mean else None,
        "low": mean.low,
        "high": mean.high,
        "n": mean.n,
        "trusted": cell.trusted,
        "standing": standing,
        "p_value": verdict.p_value if verdict else None,
        "difference": asdict(verdict.difference) if verdict and verdict.difference else None,
    }
