"""Gauntlet: real transport stacks through hard links, with the real Linux kernel in virtual time.

For notebooks and scripts:

    gauntlet.load("results/first")                      what came out, as tidy tables
    gauntlet.run("first.toml")                          play an experiment, then the same
    gauntlet.scenario("hsr", bandwidth="5MHz")          a link over time

Nothing is imported before it is used.
"""

TYPE_CHECKING = False
"""As `typing` has it; type checkers know the name, and `typing` is not imported for it."""

if TYPE_CHECKING:
    from gauntlet.notebook.play import run
    from gauntlet.notebook.results import Results, load
    from gauntlet.scenario.tidy import scenario
    from gauntlet.table import Table

__version__ = "0.1.0"

__all__ = ["Results", "Table", "load", "run", "scenario"]

_HOMES = {
    "Results": "gauntlet.notebook.results",
    "Table": "gauntlet.table",
    "load": "gauntlet.notebook.results",
    "run": "gauntlet.notebook.play",
}


def __getattr__(name: str) -> object:
    """What `__all__` names, imported when it is first asked for."""
    import importlib

    if name == "scenario":
        # The package of this name, which can be called: importing it puts itself here in any case.
        return importlib.import_module("gauntlet.scenario")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What completion in a notebook offers."""
    return sorted({*globals(), *__all__})
