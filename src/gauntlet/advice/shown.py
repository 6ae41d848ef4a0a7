"""Advice as pages show it: what `use.html.j2` is filled with."""

from collections.abc import Sequence
from typing import Any

from gauntlet.advice import words
from gauntlet.advice.grid import Candidate, Cell, Grid, unknown_last
from gauntlet.advice.settings import overview, sentences
from gauntlet.advice.standing import Grade
from gauntlet.advice.use import Advice, Badge
from gauntlet.metrics.numbers import listed

VISIBLE = 3
"""Transports of a cell that are shown before one asks for the rest."""

MOST = 4
"""Changes of a setting that are told one by one; of more there is an overview."""

_CSS = {
    Grade.SERVES: "good",
    Grade.NARROWLY: "good",
    Grade.NEAR_MISS: "near",
    Grade.UNSURE: "near",
}
"""How a grade is coloured; all others are failures."""


def shown(advice: Advice) -> dict[str, Any]:
    """The classes, each with its answer and its table of conditions; and the settings."""
    measured = [
        (grid, rests, values_rest)
        for grid, rests, values_rest in zip(
            advice.classes, advice.calibrated, advice.values_calibrated, strict=True
        )
        if any(cell.judged for cell in grid.cells)
    ]
    missing = [it.service.name for it in advice.classes if not any(cell.judged for cell in it.cells)]
    return {
        "classes": [_class(*it) for it in measured],
        "missing": missing,
        "silent": advice.silent,
        "sources": [
            (grid.service.name, need.words, need.source or f"assumed, {need.assumed}")
            for grid, _, _ in measured
            for need in grid.service.needs
            if need.source or need.assumed
        ],
        "whose": advice.whose,
        "tails": any(
            words.slowest(it) for grid, _, _ in measured for cell in grid.cells for it in cell.candidates
        ),
        "by": next((it.by for it in advice.classes if it.by), ""),
        "legend": [(words.MARKS[grade], said, _css(grade)) for grade, said in words.LEGEND],
        "settings": [
            {
                "title": title,
                "overview": overview(those) if len(those) > MOST else [],
                "where": those[0].where,
                "effects": [
                    {
                        "whose": it.whose,
                        "words": it.words,
                        "each": [
                            (effect.condition, effect.words, "sure" if effect.sure else "")
                            for effect in it.effects
                        ],
                    }
                    for it in those
                ],
            }
            for title, those in sentences(advice.settings)
        ],
        "elsewhere": [(_capital(name), told) for name, told in advice.elsewhere.items()],
        "unvaried": listed(list(advice.unvaried)) if advice.unvaried else "",
    }


def _class(grid: Grid, calibrated: Sequence[Badge], values_calibrated: Sequence[Badge]) -> dict[str, Any]:
    delays = sorted({cell.delay_s for cell in grid.cells}, key=unknown_last)
    rows = list(dict.fromkeys((cell.loss, cell.variant) for cell in grid.cells))
    rows.sort(key=lambda it: unknown_last(it[0]))
    places = {(cell.loss, cell.variant, cell.delay_s): cell for cell in grid.cells}
    several = len({variant.queue for _, variant in rows}) > 1
    serving = [it for it in grid.overall() if it.grade.serving]
    return {
        "name": grid.service.name,
        "needs": _capital("; ".join(words.asked(need) for need in grid.service.needs)),
        "study": [words.label(it) for it in grid.service.study],
        "of_study": bool(grid.by),
        "use": [_transport(it) for it in serving],
        "nobody": words.nobody(grid),
        "how_well": words.how_well(grid),
        "calibrated": calibrated,
        "values_calibrated": values_calibrated,
        "assumed": "; ".join(
            f"{need.words}: {need.assumed}"
            for need in grid.service.needs
            if need.assumed and need.bound is not None
        ),
        "delays": ["" if it is None else f"{1e3 * it:g} ms one way" for it in delays],
        "queue": "" if several or not rows else rows[0][1].queue,
        "rows": [
            {
                "loss": "" if loss is None else f"{100 * loss:g} % loss",
                "besides": variant.besides,
                "queue": f"queue {variant.queue}" if several and variant.queue else "",
                "cells": [_cell(places.get((loss, variant, delay_s))) for delay_s in delays],
            }
            for loss, variant in rows
        ],
    }


def _cell(cell: Cell | None) -> dict[str, Any] | None:
    if cell is None:
        return None
    serving = [it for it in cell.candidates if it.grade.serving]
    near = [it for it in cell.candidates if it.grade == Grade.NEAR_MISS]
    first = [*serving[:VISIBLE], *near[: max(VISIBLE - len(serving), 0)]] or list(cell.candidates[:1])
    rest = [it for it in cell.candidates if it not in first]
    return {
        "serves": bool(serving),
        "measured": bool(cell.judged),
        "first": [_transport(it) for it in first],
        "rest": [_transport(it) for it in rest],
        "rest_words": _rest(rest),
        "partly": f"{cell.judged} of {cell.of} needs measured" if 0 < cell.judged < cell.of else "",
    }


def _rest(rest: Sequence[Candidate]) -> str:
    """What is behind the fold: 2 more serve, 1 near miss, 3 fail."""
    counts = [
        (sum(it.grade.serving for it in rest), "more serves", "more serve"),
        (sum(it.grade == Grade.NEAR_MISS for it in rest), "near miss", "near misses"),
        (sum(it.grade in (Grade.UNSURE, Grade.FAILS) for it in rest), "fails", "fail"),
        (sum(it.grade == Grade.TENFOLD for it in rest), "fails tenfold", "fail tenfold"),
        (sum(it.grade == Grade.NOTHING for it in rest), "does not bring all", "do not bring all"),
        (sum(it.grade == Grade.UNMEASURED for it in rest), "not measured", "not measured"),
    ]
    return ", ".join(f"{count} {one if count == 1 else many}" for count, one, many in counts if count)


def _transport(candidate: Candidate) -> dict[str, Any]:
    return {
        "label": words.label(candidate.protocol),
        "mark": words.MARKS[candidate.grade],
        "css": _css(candidate.grade),
        "distance": words.distance(candidate.deciding),
        "tail": words.slowest(candidate),
        "unfinished": words.unfinished(candidate),
        "whole": words.whole(candidate),
        "grade": str(candidate.grade),
    }


def _css(grade: Grade) -> str:
    if grade == Grade.UNMEASURED:
        return "none"
    return _CSS.get(grade, "bad")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
