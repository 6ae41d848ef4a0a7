"""Where a benchmark was run: a figure without its machine says nothing."""

import os
import platform
from pathlib import Path
from typing import Any

from gauntlet import __version__
from gauntlet.engine import cores, kernel


def host() -> dict[str, Any]:
    """This machine: processor, cores that we may use, kernel, distribution, and what else it does."""
    return {
        "cpu": _cpu(),
        "cores": len(cores.usable_cores()),
        "kernel": f"{platform.system()} {platform.release()}",
        "distribution": _distribution(),
        "load_1min_at_start": os.getloadavg()[0],
        "python": platform.python_version(),
        "gauntlet": __version__,
    }


def guest_kernel() -> dict[str, str]:
    """The kernel that guests boot: its version, the hashes of its recipe and of its source."""
    image = kernel.describe()
    return {"version": image.version, "recipe_hash": image.recipe_hash, "source_hash": image.source_hash}


def sentence(this: dict[str, Any]) -> str:
    """The line about `host()` that stands over the figures."""
    return (
        f"{this['cpu']}, {this['cores']} cores, {this['distribution']}, {this['kernel']}, "
        f"load at start {this['load_1min_at_start']:.1f}; Gauntlet {this['gauntlet']}"
    )


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
    except OSError:
        return "Linux"
