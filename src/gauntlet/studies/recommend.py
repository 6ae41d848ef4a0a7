"""Advice as panels, for figures that draw it themselves."""

from collections.abc import Mapping, Sequence

from gauntlet.advice import tables
from gauntlet.advice.serves import Recommendation
from gauntlet.metrics.kpi import Kpi
from gauntlet.studies.model import Panel, Table


def panels(found: Sequence[Recommendation], by: str, _: Mapping[str, Kpi]) -> list[Panel]:
    """The table beside the study's own, and every need behind it."""
    named = {
        "What serves each class, as the study says and as measured.": tables.served(found, by),
        "Every need, and how each protocol does under the worst of its conditions.": tables.needs(found),
    }
    return [
        Table(caption, tuple(columns), tuple(zip(*columns.values(), strict=True)))
        for caption, columns in named.items()
    ]
