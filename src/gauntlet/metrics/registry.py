"""Which KPIs there are: every module in `gauntlet.metrics.kpis` that has a `KPIS` tuple adds its own."""

import importlib
import pkgutil
from functools import cache

from gauntlet.metrics.kpi import Kpi


@cache
def registry() -> dict[str, Kpi]:
    """All KPIs by name, in the order of their names."""
    package = importlib.import_module("gauntlet.metrics.kpis")
    found: list[Kpi] = []
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        found.extend(importlib.import_module(module.name).KPIS)
    return {kpi.name: kpi for kpi in sorted(found, key=lambda kpi: kpi.name)}
