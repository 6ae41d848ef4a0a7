"""A study's own arithmetic: `plugin.py` in its folder. It is Python, so it runs only for who trusts it."""

import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gauntlet.errors import UserError
from gauntlet.metrics.flow import FlowData

if TYPE_CHECKING:
    from gauntlet.studies.summary import Summary

PLUGIN = "plugin.py"
"""Name of the file in the study's folder."""


@dataclass(frozen=True)
class Plugin:
    """What a plugin.py offers, each by the name that the study's files use; any may be missing."""

    functions: Mapping[str, Callable[..., float]] = field(default_factory=dict)
    """FUNCTIONS: what expressions of the ledger may call, with numbers and texts; each gives a number."""
    measures: Mapping[str, Callable[[FlowData], float | None]] = field(default_factory=dict)
    """MEASURES: numbers of a flow that only this study needs."""
    tables: Mapping[str, "Callable[[Summary], Mapping[str, Sequence[Any]]]"] = field(default_factory=dict)
    """TABLES: tidy tables for figures, as columns by name."""
    withheld: bool = False
    """Whether there is a plugin.py that was not run, because nobody said that it may."""


def load(home: Path, *, trusted: bool) -> Plugin:
    """Run the plugin.py of a study's folder and return what it offers; nothing when there is none.

    Raises UserError when it cannot be run.
    """
    path = home / PLUGIN
    if not path.exists():
        return Plugin()
    if not trusted:
        return Plugin(withheld=True)
    ran = module(home)
    offered = {name: getattr(ran, name, {}) for name in ("FUNCTIONS", "MEASURES", "TABLES")}
    for name, table in offered.items():
        if not isinstance(table, Mapping) or not all(callable(it) for it in table.values()):
            raise UserError(f"{path}: {name} must be a mapping of names to functions.")
    return Plugin(offered["FUNCTIONS"], offered["MEASURES"], offered["TABLES"])


def module(home: Path) -> ModuleType:
    """The plugin.py of a study's folder, run. Raises UserError when it cannot be."""
    path = home / PLUGIN
    spec = importlib.util.spec_from_file_location(f"gauntlet_study_{home.name}", path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[spec.name] = made
    try:
        spec.loader.exec_module(made)
    except Exception as error:
        raise UserError(f"{path}: the plugin cannot be run ({type(error).__name__}: {error}).") from error
    return made
