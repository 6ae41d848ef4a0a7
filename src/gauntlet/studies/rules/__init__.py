"""How claims are decided: one module a kind. To add one, add a file with a `KIND` and a `Rule`."""

import importlib
import pkgutil
from functools import cache
from typing import Any

from gauntlet.experiment.strict import unknown_key
from gauntlet.studies.rules.base import Ruled


@cache
def kinds() -> dict[str, type[Ruled]]:
    """Every kind of rule by name."""
    modules = (importlib.import_module(it.name) for it in pkgutil.iter_modules(__path__, f"{__name__}."))
    return {module.KIND: module.Rule for module in modules if hasattr(module, "KIND")}


def rule(given: Any) -> Ruled:
    """Read one rule, a table of keys with its `kind`. Raises ValueError or pydantic's ValidationError."""
    if not isinstance(given, dict):
        raise ValueError(f"{given!r} is not a rule; write a table with a kind and its keys")
    keys = dict(given)
    kind = keys.pop("kind", None)
    if kind is None:
        raise ValueError(f"the key 'kind' is missing; choose {', '.join(kinds())}")
    if kind not in kinds():
        raise ValueError(unknown_key(str(kind), kinds()).replace("key", "kind").replace("keys", "kinds"))
    return kinds()[kind].model_validate(keys)
