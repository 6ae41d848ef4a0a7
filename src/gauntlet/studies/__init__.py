"""Published studies, done again with today's stacks, and their claims checked one by one.

A study is a folder of data (docs/formats/study.md). This package is machinery only: it reads such a folder,
plays it, decides its claims and writes its page. The published ones are in `studies/` of a source checkout
and in the wheel gauntlet-net-studies.
"""

from difflib import get_close_matches
from functools import cache
from pathlib import Path

from gauntlet.errors import UserError
from gauntlet.studies import folders
from gauntlet.studies.load import load
from gauntlet.studies.model import Study

NONE_HERE = "`pip install gauntlet-net-studies` brings the published ones; or give the path of a folder."
"""What to do where there are no published studies."""


@cache
def studies() -> dict[str, Study]:
    """The published studies by key, in the order of their keys; their plugins are ours and run."""
    return {home.name: load(home, trust_plugin=True) for home in folders.known().values()}


def study(named: str, *, trust_plugin: bool = False) -> Study:
    """A published study by its key, or any by its folder; the plugin.py of a folder that is no published one
    runs only with `trust_plugin`.

    Raises UserError naming those that there are, and for what is wrong in the folder's files.
    """
    known = studies()
    if named in known:
        return known[named]
    path = Path(named)
    if path.is_dir() or len(path.parts) > 1:
        return _in_folder(path, trust_plugin=trust_plugin)
    close = get_close_matches(named, known, n=1)
    if close:
        hint = f"did you mean '{close[0]}'?"
    elif known:
        hint = f"there are {', '.join(known)}, or give the path of a study's folder."
    else:
        hint = NONE_HERE
    raise UserError(f"The study '{named}' is not known; {hint}")


def _in_folder(path: Path, *, trust_plugin: bool) -> Study:
    if not (path / folders.STUDY).is_file():
        raise UserError(f"{path} is no folder of a study: there is no {folders.STUDY} in it.")
    home = path.resolve()
    published = [it for it in studies().values() if it.home == home]
    return published[0] if published else load(home, trust_plugin=trust_plugin)
