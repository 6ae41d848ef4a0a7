"""Puts the committed summary of every study into their wheel."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SummariesHook(BuildHookInterface[Any]):
    """Adds `summary/` of each study of the source checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before the wheel is put together."""
        studies = Path(self.root).resolve().parent.parent / "src" / "gauntlet" / "studies"
        for folder in sorted(studies.glob("*/summary")):
            build_data["force_include"][str(folder)] = f"gauntlet_studies/{folder.parent.name}"
