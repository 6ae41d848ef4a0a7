"""Published studies, done again with today's stacks, and their claims checked one by one.

A study is a sub-package of this one with a `STUDY` (`gauntlet.studies.model.Study`): its experiment files,
its figures, its ledger of claims, and the committed summary of its last full run. Adding the package is all
that it takes: the registry finds it.
"""

import importlib
import pkgutil
from difflib import get_close_matches
from functools import cache

from gauntlet.errors import UserError
from gauntlet.studies.model import Study


@cache
def studies() -> dict[str, Study]:
    """All studies by key, in the order of their keys."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        if module.ispkg and hasattr(package := importlib.import_module(f"{__name__}.{module.name}"), "STUDY"):
            found[package.STUDY.key] = package.STUDY
    return dict(sorted(found.items()))


def study(key: str) -> Study:
    """The study of this key. Raises UserError naming those that there are."""
    known = studies()
    if key in known:
        return known[key]
    close = get_close_matches(key, known, n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known) or 'none'}."
    raise UserError(f"The study '{key}' is not known; {hint}")
