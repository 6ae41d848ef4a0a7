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

ALONE = 6
"""Those of the only cell of a class, which has the width of the page."""

MOST = 4
"""Changes of a setting that are told one by one; of more there is an overview."""

_CSS = {
    Grade.SERVES: "good",
    Grade.NARROWLY: "good",
    Grade.IN_PART: "near",
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
        "above": advice.above,
        "sources": [
            (grid.service.name, need.words, need.source or f"assumed, {need.assumed}")
            for grid, _, _ in measured
            for need in grid.service.needs
            if need.source or need.assumed
        ],
        "whose": advice.whose,
        "order": words.order(grid for grid, _, _ in measured),
        "unclassed": advice.unclassed,
        "rules": words.rules(grid for grid, _, _ in measured),
        "by": next((it.by for it in advice.classes if it.by), ""),
        "legend": [
            (words.MARKS[grade], said, _css(grade))
            for grade, said in words.legend(grid for grid, _, _ in measured)
        ],
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
    # Delays stand across, and losses where there is but one delay.
    delays_across = len({cell.delay_s for cell in grid.cells}) > 1
    across, down = (_of_delay, _of_loss) if delays_across else (_of_loss, _of_delay)
    places = {
        (cell.delay_s, (cell.loss, cell.variant))
        if delays_across
        else (cell.loss, (cell.delay_s, cell.variant)): cell
        for cell in grid.cells
    }
    columns = sorted({column for column, _ in places}, key=unknown_last)
    rows = sorted(dict.fromkeys(row for _, row in places), key=lambda it: unknown_last(it[0]))
    alone = len(columns) == len(rows) == 1
    queues = [cell.queue for cell in grid.cells]
    overall = grid.overall()
    serving = [it for it in overall if it.grade.serving]
    named = overall[0].protocol if overall else ""
    return {
        "name": grid.service.name,
        "needs": _capital(words.bounds(grid)),
        "study": [words.label(it) for it in grid.service.study],
        "of_study": bool(grid.by),
        "conditions": words.conditions(grid),
        "use": [{**_transport(it), "worst": words.worst(grid, it)} for it in serving[:VISIBLE]],
        "also": [{**_transport(it), "worst": words.worst(grid, it)} for it in serving[VISIBLE:]],
        "how_well": words.how_well(grid),
        "calibrated": calibrated,
        "values_calibrated": values_calibrated,
        "assumed": "; ".join(
            f"{need.words}: {need.assumed}"
            for need in grid.service.needs
            if need.assumed and need.bound is not None
        ),
        "columns": [across(it) for it in columns],
        "alone": alone,
        "queue": queues[0] if len(set(queues)) == 1 else "",
        "rows": [
            {
                "heading": down(value),
                "besides": variant.besides,
                "queue": f"queue {variant.queue}" if variant.queue and len(set(queues)) > 1 else "",
                "cells": [
                    _cell(places.get((column, (value, variant))), named, ALONE if alone else VISIBLE)
                    for column in columns
                ],
            }
            for value, variant in rows
        ],
    }


def _of_delay(delay_s: float | None) -> str:
    return "" if delay_s is None else f"{words.delay_ms(delay_s):g} ms one way"


def _of_loss(loss: float | None) -> str:
    return "" if loss is None else f"{100 * loss:g} % loss"


def _cell(cell: Cell | None, named: str, visible: int) -> dict[str, Any] | None:
    """The best of a cell, and always the transport that the answer names."""
    if cell is None:
        return None
    serving = [it for it in cell.candidates if it.grade.serving]
    near = [it for it in cell.candidates if it.grade in (Grade.IN_PART, Grade.NEAR_MISS)]
    best = [*serving[:visible], *near[: max(visible - len(serving), 0)]] or list(cell.candidates[:1])
    first = [it for it in cell.candidates if it in best or it.protocol == named]
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
        (sum(it.grade == Grade.IN_PART for it in rest), "kept in part", "kept in part"),
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
