"""The study's lines, for its figures."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studies.d34.plugin import LINES, Line, others, scenario, shared_part, track
else:
    from gauntlet.studies.folders import known
    from gauntlet.studies.plugin import module

    _own = module(known()["d34"])
    LINES = _own.LINES
    Line = _own.Line
    others = _own.others
    scenario = _own.scenario
    shared_part = _own.shared_part
    track = _own.track

__all__ = ["LINES", "Line", "others", "scenario", "shared_part", "track"]
