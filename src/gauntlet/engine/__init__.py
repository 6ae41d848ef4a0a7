"""Where runs happen: the kernel image, guests, the pool of workers."""

import os
import shutil
import sysconfig
from pathlib import Path

from gauntlet.errors import RunError


def player_binary() -> Path:
    """Path of `gauntlet-player`, the guest's first process (GAUNTLET_PLAYER overrides the installed one)."""
    override = os.environ.get("GAUNTLET_PLAYER")
    if override:
        path = Path(override)
        if not path.is_file():
            raise RunError(
                f"GAUNTLET_PLAYER names {path}, and there is no such file; unset it to use the installed one."
            )
        return path.resolve()
    installed = Path(sysconfig.get_path("scripts")) / "gauntlet-player"
    if installed.is_file():
        return installed.resolve()
    found = shutil.which("gauntlet-player")
    if found:
        return Path(found).resolve()
    raise RunError(
        "The program gauntlet-player is not installed beside this Python; install the project: `make setup`."
    )


def cache_folder() -> Path:
    """The user's cache folder: GAUNTLET_CACHE, else XDG_CACHE_HOME/gauntlet, else ~/.cache/gauntlet."""
    if override := os.environ.get("GAUNTLET_CACHE"):
        return Path(override)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gauntlet"
