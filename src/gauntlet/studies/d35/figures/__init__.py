"""Counterparts of D3.5's figures and tables: one module for panels of one shape; `FIGURES` has them all."""

from gauntlet.studies.d35.figures import files, messages, pages, streams, tables
from gauntlet.studies.model import Figure


def _in_order(figure: Figure) -> tuple[bool, bool, int]:
    """The study's figures by number, then its tables, then what it has not."""
    number = figure.key.rpartition("-")[2]
    return figure.beyond, figure.key.startswith("table"), int(number) if number.isdigit() else 0


FIGURES: tuple[Figure, ...] = tuple(
    sorted(
        (figure for module in (streams, messages, files, pages, tables) for figure in module.figures()),
        key=_in_order,
    )
)
