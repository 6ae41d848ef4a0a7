"""Summaries of the published studies that Gauntlet has done again: data, read by `gauntlet reproduce`."""

from pathlib import Path

_HERE = Path(__file__).resolve().parent


def summary(study: str) -> Path:
    """Where the summary of a study is, by its key; the folder is absent when there is none of it."""
    return _HERE / study
