"""Where the folders of published studies are: in a source checkout, else in the installed data wheel."""

import importlib
import importlib.util
from functools import cache
from pathlib import Path

STUDY = "study.toml"
"""What makes a folder one of a study."""

_CHECKOUT = Path(__file__).resolve().parents[3] / "studies"
_WHEEL = "gauntlet_studies"
"""What the wheel gauntlet-net-studies (packaging/gauntlet-net-studies) has to import."""


def root() -> Path | None:
    """The folder that holds a folder for each study; None when neither checkout nor wheel is there."""
    if any(_CHECKOUT.glob(f"*/{STUDY}")):
        return _CHECKOUT
    if importlib.util.find_spec(_WHEEL) is None:
        return None
    installed: Path = importlib.import_module(_WHEEL).folder()
    return installed


@cache
def known() -> dict[str, Path]:
    """The folder of each published study by its key, which is the folder's name."""
    there = root()
    return {path.parent.name: path.parent for path in sorted(there.glob(f"*/{STUDY}"))} if there else {}
