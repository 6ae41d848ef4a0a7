"""The networks that come with the package, and any other one by its file."""

import difflib
from importlib.resources import as_file, files
from pathlib import Path

from gauntlet.errors import UserError
from gauntlet.geography.network import Network
from gauntlet.geography.read import read

NAMES = ("us-fibre", "os3e", "nobel-eu")
"""The packaged networks; each file says its source."""


def load(named: str) -> Network:
    """A packaged network by its name, or one from a file. Raises UserError naming what there is."""
    if named in NAMES:
        with as_file(files("gauntlet.geography") / "networks" / f"{named}.json") as path:
            return read(path)
    path = Path(named)
    if path.suffix or path.exists():
        return read(path)
    close = difflib.get_close_matches(named, NAMES, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(NAMES)}, and files."
    raise UserError(f"There is no network '{named}'; {hint}")
