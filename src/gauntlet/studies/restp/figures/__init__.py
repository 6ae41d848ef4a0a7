"""Counterparts of the study's figures and tables: one module for a section; `FIGURES` has them all."""

from gauntlet.studies.model import Figure
from gauntlet.studies.restp.figures import beyond, files, paths, satellite, validation, voice, web


def _in_order(figure: Figure) -> tuple[bool, bool, str, int]:
    """The study's figures, chapter 4 before the appendix, then its tables, then what it has not."""
    kind, _, number = figure.key.rpartition("-")
    chapter, _, place = number.partition(".")
    return figure.beyond, kind == "table", chapter, int(place) if place.isdigit() else 0


FIGURES: tuple[Figure, ...] = tuple(
    sorted(
        (
            figure
            for module in (files, web, paths, satellite, voice, validation, beyond)
            for figure in module.figures()
        ),
        key=_in_order,
    )
)
