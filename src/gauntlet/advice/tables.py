"""Advice as two tables: what serves each class beside what the study says, and every need behind it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from gauntlet.advice import words
from gauntlet.advice.serves import Finding, Recommendation
from gauntlet.figures.style import styles
from gauntlet.metrics.numbers import listed, number


class Cells(NamedTuple):
    """A table as it is shown."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(found: Sequence[Recommendation], by: str) -> tuple[Cells, Cells]:
    """The table beside the study's own, and every need with each protocol's worst condition; `by` names the
    study.
    """
    rows = tuple(
        (
            it.service.name,
            _names(it.service.study),
            _names(it.always),
            _names(it.without_loss),
            _difference(it),
        )
        for it in found
    )
    needs = tuple(
        (it.service.name, of.need.words, _names((of.protocol,)), *_worst(of), _kept(of))
        for it in found
        for of in it.findings
    )
    return (
        Cells(
            "What serves each class, as the study says and as measured.",
            ("Class", f"{by} recommends", "Measured: serves it", "Only without loss", "Difference"),
            rows,
        ),
        Cells(
            "Every need, and how each protocol does under the worst of its conditions.",
            ("Class", "Need", "Protocol", "Worst value", "Limit", "Channel delay", "Loss", "Kept"),
            needs,
        ),
    )


def _difference(found: Recommendation) -> str:
    """What the study recommends and the measurement does not, and the other way round; what the study
    recommends and was not asked whether it serves.
    """
    study = [it for it in found.service.study if it in found.service.candidates]
    unasked = [it for it in found.service.study if it not in study]
    missing = [it for it in study if it not in found.always]
    more = [it for it in found.always if it not in study]
    words = []
    if missing:
        words.append(f"without {_names(missing)}")
    if more:
        words.append(f"with {_names(more)}")
    if unasked:
        words.append(f"{_names(unasked)} not judged")
    return "; ".join(words) or "none"


def _names(protocols: Sequence[str]) -> str:
    return listed([styles([it])[0].label for it in protocols]) if protocols else "–"


def _worst(finding: Finding) -> tuple[str, str, str, str]:
    """The worst value of a protocol, its limit there, and under which delay and loss that was."""
    kpi = finding.kpi
    sign = "at least" if kpi.higher_is_better else "at most"
    limit = f"{sign} {number(finding.worst_limit * kpi.shown_factor)} {kpi.shown_unit}".strip()
    nothing = math.isinf(finding.worst) or (kpi.higher_is_better and finding.worst == 0)
    value = "nothing arrived" if nothing else f"{number(finding.worst * kpi.shown_factor)} {kpi.shown_unit}"
    if finding.by_missed:
        value = f"{number(100 * finding.worst)} % late or lost"
        limit = f"at most {100 * finding.worst_limit:g} %"
    return (
        value,
        limit.replace(" ", "\N{NO-BREAK SPACE}"),
        "" if finding.worst_delay_s is None else f"{words.delay_ms(finding.worst_delay_s):g} ms",
        "" if finding.worst_loss is None else f"{100 * finding.worst_loss:g} %",
    )


def _kept(finding: Finding) -> str:
    return "yes" if finding.kept else "without loss" if finding.kept_without_loss else "no"
