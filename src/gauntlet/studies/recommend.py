"""Advice as panels, for figures that draw it themselves."""

from collections.abc import Mapping, Sequence

from gauntlet.advice.serves import Recommendation
from gauntlet.advice.tables import tables
from gauntlet.metrics.kpi import Kpi
from gauntlet.studies.model import Panel, Table


def panels(found: Sequence[Recommendation], by: str, _: Mapping[str, Kpi]) -> list[Panel]:
    """The table beside the study's own, and every need behind it."""
    return [Table(*cells) for cells in tables(found, by)]
