"""Where runs happen: the kernel image, guests, the pool of workers."""

import os
import shutil
import sysconfig
from pathlib import Path

from gauntlet.errors import RunError


def guest_binary() -> Path:
    """Path of `gauntlet-guest`, the guest's first process (GAUNTLET_GUEST overrides the installed one)."""
    override = os.environ.get("GAUNTLET_GUEST")
    if override:
        path = Path(override)
        if not path.is_file():
            raise RunError(
                f"GAUNTLET_GUEST names {path}, and there is no such file; unset it to use the installed one."
            )
        return path.resolve()
    installed = Path(sysconfig.get_path("scripts")) / "gauntlet-guest"
    if installed.is_file():
        return installed.resolve()
    found = shutil.which("gauntlet-guest")
    if found:
        return Path(found).resolve()
    raise RunError(
        "The program gauntlet-guest is not installed beside this Python; install the project: `make setup`."
    )


def cache_folder() -> Path:
    """The user's cache folder: GAUNTLET_CACHE, else XDG_CACHE_HOME/gauntlet, else ~/.cache/gauntlet."""
    if override := os.environ.get("GAUNTLET_CACHE"):
        return Path(override)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "gauntlet"
