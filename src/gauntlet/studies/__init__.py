"""Published studies, done again with today's stacks, and their claims checked one by one.

A study is a folder of data (`gauntlet.studies.folders`): its experiment files, its ledger of claims, and the
committed summary of its last full run; and a sub-package of this one of the same name with a `STUDY`
(`gauntlet.studies.model.Study`). The registry finds them.
"""

import importlib
import pkgutil
from difflib import get_close_matches
from functools import cache

from gauntlet.errors import UserError
from gauntlet.studies import folders
from gauntlet.studies.model import Study


@cache
def studies() -> dict[str, Study]:
    """All studies by key, in the order of their keys."""
    found = {}
    packages = {module.name for module in pkgutil.iter_modules(__path__) if module.ispkg}
    for key in folders.known().keys() & packages:
        found[key] = importlib.import_module(f"{__name__}.{key}").STUDY
    return dict(sorted(found.items()))


def study(key: str) -> Study:
    """The study of this key. Raises UserError naming those that there are."""
    known = studies()
    if key in known:
        return known[key]
    close = get_close_matches(key, known, n=1)
    if close:
        hint = f"did you mean '{close[0]}'?"
    elif known:
        hint = f"there are {', '.join(known)}."
    else:
        hint = "`pip install gauntlet-net-studies` brings the published ones."
    raise UserError(f"The study '{key}' is not known; {hint}")
