"""What the link is like over time: rail lines, cells, Wi-Fi, recorded traces, and their exports.

>>> from gauntlet.scenario import load_scenario
>>> hsr = load_scenario("hsr", {"bandwidth": "1.4MHz", "loss": "1%"}, seed=7)
>>> first_minute = hsr.trace.window(0, 60)

The package can be called: `gauntlet.scenario("hsr", loss="1%")` is `gauntlet.scenario.tidy.scenario`.
"""

import sys
from types import ModuleType
from typing import Any

from gauntlet.scenario.chunks import Chunk, beginnings, chunks, stratum
from gauntlet.scenario.export import TcPlaces, export_csv, export_mahimahi, export_samples, export_tc
from gauntlet.scenario.figure_data import line_figure_data
from gauntlet.scenario.model import Line, Scenario, ScenarioInfo
from gauntlet.scenario.registry import available, load_scenario
from gauntlet.scenario.summary import summary
from gauntlet.scenario.trace import Trace, TraceRow
from gauntlet.scenario.trace_files import read_trace
from gauntlet.table import Table

__all__ = [
    "Chunk",
    "Line",
    "Scenario",
    "ScenarioInfo",
    "TcPlaces",
    "Trace",
    "TraceRow",
    "available",
    "beginnings",
    "chunks",
    "export_csv",
    "export_mahimahi",
    "export_samples",
    "export_tc",
    "line_figure_data",
    "load_scenario",
    "read_trace",
    "stratum",
    "summary",
]


class _Callable(ModuleType):
    """A module that is a function, too: both have the name `gauntlet.scenario`."""

    def __call__(self, name: str, /, *, seed: int = 1, **parameters: Any) -> Table:
        """The link over time as a table (`gauntlet.scenario.tidy.scenario`)."""
        from gauntlet.scenario.tidy import scenario

        return scenario(name, seed=seed, **parameters)


sys.modules[__name__].__class__ = _Callable
