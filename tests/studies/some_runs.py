"""A part of an experiment's runs: what differs between conditions is in the first repetition already."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from gauntlet.experiment import RunSpec, expand, load_experiment


def some_runs(file: Path, repetitions: int, protocols: Collection[str] = ()) -> list[RunSpec]:
    """The first repetitions, at most as many as the experiment has, of all its protocols or of these."""
    whole = load_experiment(file)
    fewer = min(repetitions, whole.about.repetitions)
    about = whole.about.model_copy(update={"repetitions": fewer})
    kept = tuple(it for it in whole.protocols if not protocols or it in protocols)
    return expand(replace(whole, about=about, protocols=kept))
