"""The virtual-time kernel of Gauntlet, built: where it is and how it was made.

The folder `source` beside it has the recipe that made it, and `facts()` names the source package.
"""

import json
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent

IMAGE = _HERE / "linux"
"""The program to boot."""

SOURCE = _HERE / "source"
"""Configuration, patches and the script that builds it."""


def facts() -> dict[str, Any]:
    """How it was made.

    `version` of Linux, `recipe_hash` and `source_hash` as `gauntlet.engine.kernel` has them, `image_sha256`,
    `wheel` (this wheel's version), and the packages that it was made from: `source_package` and
    `libc_package`, each with `name`, `version` and, of the source, the `file` in it and its `sha256`.
    """
    found: dict[str, Any] = json.loads((_HERE / "kernel.json").read_text(encoding="utf-8"))
    return found
