"""The published studies that Gauntlet has done again: folders of data, read by `gauntlet reproduce`."""

from pathlib import Path


def folder() -> Path:
    """What holds a folder for each study, named by its key (docs/formats/study.md of Gauntlet)."""
    return Path(__file__).resolve().parent
