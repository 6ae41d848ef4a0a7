"""Puts the folder of every published study into their wheel."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StudiesHook(BuildHookInterface[Any]):
    """Adds the folders of `studies/` of the source checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before the wheel is put together."""
        studies = Path(self.root).resolve().parent.parent / "studies"
        for study in sorted(studies.glob("*/study.toml")):
            build_data["force_include"][str(study.parent)] = f"gauntlet_studies/{study.parent.name}"
