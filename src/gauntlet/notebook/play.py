"""`gauntlet.run`: an experiment from a notebook."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from gauntlet import campaign
from gauntlet.experiment import Experiment, expand, load_experiment, parse_experiment
from gauntlet.metrics.asked import check
from gauntlet.notebook.results import Results, load
from gauntlet.results import layout

if TYPE_CHECKING:
    from gauntlet.campaign import Event


def run(
    experiment: str | Path | Mapping[str, Any],
    *,
    out: str | Path | None = None,
    seed: int | None = None,
    repetitions: int | None = None,
    workers: int | None = None,
    capture: bool = False,
    untrusted: bool = False,
    on_event: "Callable[[Event], None] | None" = None,
) -> Results:
    """Play an experiment and load what came out; the same call continues what was stopped.

    `experiment` is the path of a file, its text (anything with a line break), or the same as a dictionary:
    `{"experiment": {"name": "first"}, "scenario": {"name": "hsr"}, ...}` (docs/formats/experiment.md). What
    a text or a dictionary names besides (traces, pages, programs) is looked for in the current folder.

    `out` is the results folder (default: results/NAME), `seed` and `repetitions` replace those of the file,
    `workers` is how many guests play side by side (default: one a core), `capture` keeps the packets of
    every run, which `Results.packets` needs. `on_event` is called with each `gauntlet.campaign.Event`.
    `untrusted` is as in `gauntlet.load`. Runs that fail are rows of the tables, and no error.

    Raises UserError for an experiment that cannot be, RunError when nothing can be played (no kernel).
    """
    read = _read(experiment, seed, repetitions)
    specs, about = expand(read), read.about
    folder = Path(out) if out is not None else Path("results") / about.name
    campaign.run(
        specs,
        folder,
        experiment=read.text,
        seed=about.seed,
        name=about.name,
        title=about.title,
        source=read.source,
        command=_command(experiment, folder, seed=seed, repetitions=repetitions, capture=capture),
        options=campaign.options(read, specs),
        workers=workers,
        capture=capture,
        on_event=on_event,
    )
    return load(folder, untrusted=untrusted)


def _read(
    experiment: str | Path | Mapping[str, Any], seed: int | None, repetitions: int | None
) -> Experiment:
    text = _text(experiment)
    if text is None:
        return load_experiment(Path(str(experiment)), seed=seed, repetitions=repetitions, answers=check)
    return parse_experiment(text, "the experiment", Path(), seed=seed, repetitions=repetitions, answers=check)


def _text(experiment: str | Path | Mapping[str, Any]) -> str | None:
    """The experiment as TOML; None when what is given is the path of a file."""
    if isinstance(experiment, Mapping):
        return tomli_w.dumps(experiment)
    return experiment if isinstance(experiment, str) and "\n" in experiment else None


def _command(
    experiment: str | Path | Mapping[str, Any],
    folder: Path,
    *,
    seed: int | None,
    repetitions: int | None,
    capture: bool,
) -> list[str]:
    """What plays the same from a terminal; the report shows it."""
    file = str(experiment) if _text(experiment) is None else str(folder / layout.EXPERIMENT)
    options = {"--seed": seed, "--repetitions": repetitions}
    given = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    return ["gauntlet", "run", file, *given, *(["--capture"] if capture else [])]
