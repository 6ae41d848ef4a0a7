"""What a study is: experiments, figures made from their results, a ledger of claims, a committed summary."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gauntlet.advice.classes import Classes
from gauntlet.benches.contract import Bench
from gauntlet.errors import UserError
from gauntlet.experiment.runspec import Factor
from gauntlet.experiment.subset import kept
from gauntlet.metrics.kpi import Kpi
from gauntlet.studies.causes import Cause
from gauntlet.studies.plugin import Plugin

if TYPE_CHECKING:
    from gauntlet.figures.kind import Panel
    from gauntlet.studies.summary import Summary


@dataclass(frozen=True)
class Quick:
    """How an experiment is cut down for a first look: some of the full runs, with the same ids and bytes."""

    repetitions: int
    keep: Mapping[str, Sequence[Factor]] = field(default_factory=dict)
    """Factor -> values that are kept, both as results have them (`channel_delay_s`, 0.15; `protocols`); a
    factor that is not named keeps all.
    """

    def keeps(self, factors: Mapping[str, Factor]) -> bool:
        """Whether a run of these factors (`RunSpec.factors`) is in the quick subset."""
        if int(factors["repetition"]) > self.repetitions:
            return False
        return kept(factors, self.keep)


@dataclass(frozen=True)
class Experiment:
    """One experiment file of a study."""

    home: Path
    """The study's folder."""
    name: str
    """Names its results folder and its part of the summary; the file's name without its end."""
    quick: Quick | None = None
    """None: not part of the quick run."""
    examples: tuple[str, ...] = ()
    """Ids of the runs whose messages over time are kept for figures."""
    measures: tuple[Kpi, ...] = ()
    """Numbers of a flow that only this study needs; they become columns beside the KPIs."""

    @property
    def file(self) -> Path:
        """The file itself."""
        return self.home / "experiments" / f"{self.name}.toml"


@dataclass(frozen=True)
class Measurement:
    """A part of a study that is measured on this machine's own kernel."""

    name: str
    """Names its results folder and its part of the summary; claims and figures have it as `experiment`."""
    bench: Bench
    quick: bool = True
    """Whether it is part of the quick run, cut down as the bench says; if not, it has to be named."""


@dataclass(frozen=True)
class Printed:
    """A value that the study's text gives for a figure, to stand beside what was measured."""

    what: str
    value: str
    """As people read it, with its unit: "2.1 Mbit/s"."""
    where: str = ""
    """Section or page of the study, when it is not with the figure."""


@dataclass(frozen=True)
class Figure:
    """The counterpart of a figure or table of the study."""

    key: str
    """"17", "table-8"; for what the study has not: any word, with `beyond` set."""
    title: str
    caption: str
    """What is seen, and how it differs in kind from the study's own."""
    experiments: tuple[str, ...]
    draw: "Callable[[Summary], Sequence[Panel]]"
    printed: tuple[Printed, ...] = ()
    beyond: bool = False
    """Whether the study itself has no such figure."""

    @property
    def name(self) -> str:
        """What the page calls it: Figure 17, Table 8; nothing for what the study has not."""
        if self.beyond:
            return ""
        kind, _, number = self.key.rpartition("-")
        return f"{kind.capitalize() or 'Figure'} {number}"


@dataclass(frozen=True)
class Calibrated:
    """A parameter that was chosen so that a value which the study prints is met."""

    name: str
    """A few words: rate of the line."""
    words: str
    """How it was chosen, in a sentence."""
    key: str = ""
    """Its place in an experiment file: every experiment that sets it rests on it."""
    experiments: tuple[str, ...] = ()
    """Further experiments that rest on it."""


@dataclass(frozen=True)
class Study:
    """A published study that is done again."""

    home: Path
    """Its folder: `ledger.toml`, `experiments/`, and `summary/` of the last full run."""
    key: str
    title: str
    citation: str
    experiments: tuple[Experiment, ...]
    figures: tuple[Figure, ...]
    benches: tuple[Measurement, ...] = ()
    """What of it is measured on this machine's own kernel."""
    headlines: tuple[str, ...] = ()
    """Ids of the claims that a visitor should see first: the study's main findings, held or not."""
    notes: tuple[tuple[str, str], ...] = ()
    """What differs from the study and why: (heading, sentences)."""
    plugin: Plugin = field(default_factory=Plugin)
    """Its own arithmetic."""
    advice: Classes | None = None
    """Classes of service and their needs."""
    beyond: Classes | None = None
    """Classes that the study itself does not have; no claim rests on them."""
    applications: Classes | None = None
    """The study's classes by application protocol; no claim rests on them."""
    calibrated: tuple[Calibrated, ...] = ()
    """Parameters that were chosen so that printed values are met."""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Settings that other experiments than the study's vary: as people call it -> what came of it."""
    causes: Mapping[str, Cause] = field(default_factory=dict)
    """Why claims are not reproduced, by id."""

    @property
    def ledger(self) -> Path:
        """The file of its claims."""
        return self.home / "ledger.toml"

    @property
    def summary(self) -> Path:
        """Folder of the committed summary."""
        return self.home / "summary"

    def experiment(self, name: str) -> Experiment:
        """One experiment by name. Raises UserError naming those that there are."""
        for experiment in self.experiments:
            if experiment.name == name:
                return experiment
        known = ", ".join(self.parts)
        raise UserError(f"The study {self.key} has no experiment '{name}'; it has {known}.")

    @property
    def parts(self) -> list[str]:
        """The names of its experiments and benches."""
        return [*(it.name for it in self.experiments), *(it.name for it in self.benches)]

    def bench(self, name: str) -> Measurement | None:
        """One of its benches by name; None when it is none."""
        return next((it for it in self.benches if it.name == name), None)

    @cached_property
    def measures(self) -> dict[str, Kpi]:
        """The measures of its experiments and benches by name."""
        return {
            **{measure.name: measure for it in self.benches for measure in it.bench.measures},
            **self.own_measures,
        }

    @cached_property
    def own_measures(self) -> dict[str, Kpi]:
        """The measures that its plugin.py gives, by name."""
        return {measure.name: measure for it in self.experiments for measure in it.measures}
