"""A study from its folder: study.toml, notes.md, classes*.toml, plugin.py (docs/formats/study.md)."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from gauntlet.advice import classes
from gauntlet.advice.classes import Classes
from gauntlet.advice.settings import SETTINGS
from gauntlet.benches.registry import BENCHES
from gauntlet.errors import UserError
from gauntlet.experiment.runspec import Factor
from gauntlet.experiment.strict import Strict, unknown_key
from gauntlet.experiment.tomlfile import checked, toml
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import listed
from gauntlet.studies import causes, plugin
from gauntlet.studies.calibrated import idle
from gauntlet.studies.figures import FIGURES, load_figures
from gauntlet.studies.folders import STUDY
from gauntlet.studies.model import Calibrated, Experiment, Measurement, Quick, Study
from gauntlet.studies.plugin import Plugin

NOTES = "notes.md"


class _About(Strict):
    """[study]"""

    key: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    title: str = Field(min_length=1)
    citation: str = Field(min_length=1)
    headlines: list[str] = Field(default_factory=list)


class _Quick(Strict):
    """quick of an [[experiment]]"""

    repetitions: int = Field(ge=1)
    keep: dict[str, list[Factor]] = Field(default_factory=dict)


class _Experiment(Strict):
    """[[experiment]]"""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    quick: _Quick | None = None
    examples: list[str] = Field(default_factory=list)
    measures: list[str] = Field(default_factory=list)


class _Bench(Strict):
    """[[bench]]"""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    of: str
    quick: bool = True


class _Measure(Strict):
    """[measure.NAME]"""

    label: str = Field(min_length=1)
    unit: str = ""
    factor: float = 1.0
    higher_is_better: bool
    definition: str = Field(min_length=1)
    least: float = 0.0
    most: float = float("inf")
    censored: bool = False
    of_arrived: bool = False
    of_nothing: float | None = None


class _Calibrated(Strict):
    """[[calibrated]]"""

    name: str = Field(min_length=1)
    words: str = Field(min_length=1)
    key: str = ""
    experiments: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if not self.key and not self.experiments:
            raise ValueError(f"nothing says where '{self.name}' is; give key or experiments")
        return self


class _Setting(Strict):
    """[[setting]]: one that no experiment of the study varies, but another does."""

    name: str
    words: str = Field(min_length=1)

    @model_validator(mode="after")
    def _known(self) -> Self:
        known = [it.words for it in SETTINGS]
        if self.name not in known:
            raise ValueError(f"'{self.name}' is no setting that pages tell of; those are {listed(known)}")
        return self


class _File(Strict):
    """The whole of study.toml."""

    study: _About
    experiment: list[_Experiment] = Field(min_length=1)
    bench: list[_Bench] = Field(default_factory=list)
    measure: dict[str, _Measure] = Field(default_factory=dict)
    calibrated: list[_Calibrated] = Field(default_factory=list)
    setting: list[_Setting] = Field(default_factory=list)


def load(home: Path, *, trust_plugin: bool) -> Study:
    """Read the folder of a study. Its plugin.py runs only when it is trusted.

    Raises UserError with the file, the place and what would be right.
    """
    path = home / STUDY
    file = checked(_File, toml(path, "study"), str(path))
    own = plugin.load(home, trusted=trust_plugin)
    own_measures = {name: _measure(name, given, own, path) for name, given in file.measure.items()}
    experiments = tuple(_experiment(home, given, own_measures, path) for given in file.experiment)
    for experiment in experiments:
        if not experiment.file.is_file():
            raise UserError(f"{path}: there is no experiment file {experiment.file}; add it.")
    made = Study(
        home=home,
        key=file.study.key,
        title=_line(file.study.title),
        citation=_line(file.study.citation),
        experiments=experiments,
        figures=(),
        benches=_benches(file, path),
        headlines=tuple(file.study.headlines),
        notes=_notes(home / NOTES),
        plugin=own,
        advice=_classes(home / classes.CLASSES),
        beyond=_classes(home / classes.BEYOND),
        applications=_classes(home / classes.APPLICATIONS),
        causes=causes.load(home),
        calibrated=tuple(
            Calibrated(it.name, _line(it.words), it.key, tuple(it.experiments)) for it in file.calibrated
        ),
        elsewhere={it.name: _line(it.words) for it in file.setting},
    )
    if nowhere := idle(made):
        raise UserError(
            f"{path}: no experiment has the calibrated parameter '{nowhere[0].name}'; mend its key or "
            "experiments."
        )
    return replace(made, figures=load_figures(made)) if (home / FIGURES).exists() else made


def _classes(path: Path) -> Classes | None:
    return classes.load(path) if path.exists() else None


def _measure(name: str, given: _Measure, own: Plugin, path: Path) -> Kpi:
    if name not in own.measures and not own.withheld:
        there = ", ".join(own.measures) or "none"
        raise UserError(f"{path}: measure '{name}' is no function in MEASURES of plugin.py; it has {there}.")
    return Kpi(
        name=name,
        label=given.label,
        shown_unit=given.unit,
        shown_factor=given.factor,
        higher_is_better=given.higher_is_better,
        definition=_line(given.definition),
        least=given.least,
        most=given.most,
        censored=given.censored,
        of_arrived=given.of_arrived,
        of_nothing=given.of_nothing,
        of_flow=own.measures.get(name),
    )


def _experiment(home: Path, given: _Experiment, measures: Mapping[str, Kpi], path: Path) -> Experiment:
    for name in given.measures:
        if name not in measures:
            words = unknown_key(name, measures).replace("key", "measure").replace("keys", "measures")
            raise UserError(f"{path}: experiment '{given.name}': {words}")
    quick = Quick(given.quick.repetitions, given.quick.keep) if given.quick else None
    own = tuple(measures[name] for name in given.measures)
    return Experiment(home, given.name, quick, tuple(given.examples), own)


def _benches(file: _File, path: Path) -> tuple[Measurement, ...]:
    taken = [*(it.name for it in file.experiment), *(it.name for it in file.bench)]
    for given in file.bench:
        if given.of not in BENCHES:
            words = unknown_key(given.of, BENCHES).replace("key", "bench").replace("keys", "benches")
            raise UserError(f"{path}: bench '{given.name}': {words}")
        if taken.count(given.name) > 1:
            raise UserError(f"{path}: the name '{given.name}' stands twice; names are unique.")
    return tuple(Measurement(it.name, BENCHES[it.of], it.quick) for it in file.bench)


def _notes(path: Path) -> tuple[tuple[str, str], ...]:
    """The sections of notes.md, (heading, sentences); what stands above the first is for its readers only."""
    if not path.exists():
        return ()
    sections = re.split(r"(?m)^## +", path.read_text(encoding="utf-8"))[1:]
    return tuple(
        (heading.strip(), _line(text)) for heading, _, text in (it.partition("\n") for it in sections)
    )


def _line(text: str) -> str:
    return " ".join(text.split())
