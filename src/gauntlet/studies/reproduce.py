"""A study done again: its experiments played, their results reduced to a summary, its ledger checked."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa

from gauntlet import campaign
from gauntlet.benches import idle, keeping
from gauntlet.benches.keeping import Kept
from gauntlet.campaign import Event, Outcome
from gauntlet.errors import GauntletError, RunError, UserError
from gauntlet.executor.address import Cluster
from gauntlet.executor.planning import plans
from gauntlet.experiment import Experiment as ExperimentFile
from gauntlet.experiment import RunSpec, expand, load_experiment
from gauntlet.experiment.subset import PROTOCOLS
from gauntlet.metrics.quantity import Quantity, shown
from gauntlet.rehearsal import check_programs
from gauntlet.results import layout, resume, store
from gauntlet.results.manifest import Manifest
from gauntlet.studies import explained, ledger
from gauntlet.studies.distil import distil, factors_of
from gauntlet.studies.folders import STUDY
from gauntlet.studies.ledger import Claim
from gauntlet.studies.model import Experiment, Measurement, Study
from gauntlet.studies.registration import Registration
from gauntlet.studies.select import check
from gauntlet.studies.summary import BENCH, MANIFEST, Part, Summary

FIRST_SEED = 1
"""Of benches of a study without a registration; it orders the turns of conditions."""


@dataclass(frozen=True)
class Task:
    """One experiment and the runs of it that are to be there."""

    experiment: Experiment
    file: ExperimentFile
    every: list[RunSpec]
    quick: bool

    @cached_property
    def specs(self) -> list[RunSpec]:
        """The runs: all, or the quick subset."""
        chosen = self.experiment.quick
        if not self.quick or chosen is None:
            return self.every
        return [spec for spec in self.every if chosen.keeps(spec.factors)]

    @cached_property
    def options(self) -> dict[str, Any]:
        """What decides the results besides file and seed; for all runs the same as of `gauntlet run`."""
        whole = campaign.options(self.file, self.every)
        chosen = self.experiment.quick
        if not self.quick or chosen is None:
            return whole
        kept = {name: list(values) for name, values in sorted(chosen.keep.items())}
        return {**whole, "repetitions": chosen.repetitions, "kept": kept}

    def folder(self, out: Path) -> Path:
        """Where its results lie under those of the study."""
        return out / self.experiment.name

    def is_whole(self, out: Path) -> bool:
        """Whether results of exactly this are there with every run at its end, whoever made them, on whatever
        engine: pages, programs and libraries are in their keys.

        Then nothing has to be played, and no kernel is needed.
        """
        folder = self.folder(out)
        if not (folder / layout.MANIFEST).exists() or {spec.id for spec in self.specs} - store.done(folder):
            return False
        manifest = Manifest.read(folder)
        mine = (sha256(self.file.text.encode()).hexdigest(), self.file.about.seed, self.options)
        if (manifest.experiment_sha256, manifest.seed, manifest.options) != mine:
            return False
        keys = resume.keys(folder)
        if not keys:  # of a version that had none
            return True
        identity = {name: value for name, value in manifest.engine.items() if name != "kernel"}
        made = plans(self.specs)
        return all(
            keys.get(spec.id) == plan.key(identity) for spec, plan in zip(self.specs, made, strict=True)
        )


@dataclass(frozen=True)
class BenchTask:
    """One bench that is to be there."""

    part: Measurement
    quick: bool
    seed: int

    def folder(self, out: Path) -> Path:
        """Where its results lie under those of the study."""
        return out / self.part.name

    def kept(self, out: Path) -> Kept | None:
        """Its results, where exactly these are there."""
        found = Kept.open(self.folder(out))
        return found if found is not None and found.is_of(self.part.bench, self.quick, self.seed) else None


def bench_tasks(study: Study, *, quick: bool, only: Iterable[str] = ()) -> list[BenchTask]:
    """The benches to be measured; where the study has a registration, with its seed. One that is no part of
    the quick run is measured in its quick form where `only` names it. In full what most claims rest on comes
    first, since it takes hours and may be stopped.
    """
    named = [it for it in study.benches if it.name in set(only)]
    registered = Registration.of(study)
    chosen = named or [it for it in study.benches if not only and (it.quick or not quick)]
    if not quick and len(chosen) > 1:
        rests = Counter(name for claim in ledger.load(study.ledger) for name in claim.experiments(study))
        chosen = sorted(chosen, key=lambda it: -rests[it.name])
    return [BenchTask(it, quick, registered.seed_of(it.name) if registered else FIRST_SEED) for it in chosen]


def ready(todo: Sequence[BenchTask], out: Path) -> tuple[list[BenchTask], list[str]]:
    """Those that are there or can be measured here, and why the others cannot, a sentence each."""
    can, reasons = [], []
    for task in todo:
        try:
            if task.kept(out) is None:
                task.part.bench.ready()
            can.append(task)
        except UserError as error:
            reasons.append(_not_measured(task, error))
    return can, reasons


def reckoned_s(study: Study, todo: Sequence[BenchTask], out: Path) -> dict[str, float | None]:
    """How long each bench that is not there yet took in the full run whose summary is kept; None where that
    has none, or one that was stopped and went on.
    """
    kept = (
        Summary.load(study.summary, study.home).bench_manifest()
        if (study.summary / MANIFEST).exists()
        else {}
    )
    found: dict[str, float | None] = {}
    for task in todo:
        if task.kept(out) is None:
            about = kept.get(task.part.name, {})
            whole = not about.get("quick", True) and not about.get("resumed_parts")
            found[task.part.name] = about.get("wall_s") if whole and not task.quick else None
    return found


def measure(
    todo: Sequence[BenchTask],
    out: Path,
    *,
    command: Sequence[str],
    tell: Callable[[str, str], None],
    busy: Callable[[], str] = idle.busy,
) -> list[str]:
    """Measure what is missing, one bench after the other and nothing beside it; `tell` takes a bench's name
    and what is being done, `busy` says what else the machine does. Why benches of a first look could not be
    measured, a sentence each: the others tell something all the same.

    Raises UserError where something else runs beside a full measurement that has to be alone (of a first look
    it is only told), and what `gauntlet.benches.keeping.measured` does, of a first look RunError only where
    there is no other bench; what is finished stays.
    """
    failed = []
    for task in todo:
        if task.part.bench.alone and task.kept(out) is None and (words := busy()):
            if not task.quick:
                raise UserError(
                    f"{task.part.name} is not measured, since it has to be alone on the machine and {words}: "
                    "end that and type the same command again; what is finished is kept."
                )
            tell(task.part.name, f"{words}, so runs may be invalid.")
        try:
            keeping.measured(
                task.part.bench,
                task.folder(out),
                quick=task.quick,
                seed=task.seed,
                command=command,
                tell=partial(tell, task.part.name),
            )
        except RunError as error:
            if not task.quick or len(todo) == 1:
                raise
            failed.append(_not_measured(task, error))
    return failed


def _not_measured(task: BenchTask, error: GauntletError) -> str:
    return f"{task.part.name} is not measured: {error}"


def tasks(
    study: Study, *, quick: bool, only: Iterable[str] = (), repetitions: int | None = None
) -> list[Task]:
    """The experiments to be played, with their runs; where the study has a registration, with its seed.
    `repetitions` replaces those of each experiment.

    Raises UserError for an unknown name in `only`, for one that has no quick subset, and for whatever is
    wrong in an experiment file. Of `only` that names benches alone there are none.
    """
    named = [study.experiment(name) for name in dict.fromkeys(only) if study.bench(name) is None]
    for experiment in named:
        if quick and experiment.quick is None:
            raise UserError(f"The experiment '{experiment.name}' has no quick subset; play it with --full.")
    registered = Registration.of(study)
    chosen = named or [it for it in study.experiments if not only and (it.quick is not None or not quick)]
    found = []
    for experiment in chosen:
        seed = registered.seed_of(experiment.name) if registered else None
        file = load_experiment(experiment.file, seed=seed, repetitions=repetitions)
        task = Task(experiment, file, expand(file), quick)
        _check_cut(study, task)
        found.append(task)
    return found


def _check_cut(study: Study, task: Task) -> None:
    """Raise UserError when study.toml keeps factors, values or runs that the experiment does not have."""
    experiment = task.experiment
    factors = factors_of(task.every)[0]
    try:
        if experiment.quick is not None:
            # Here both are what a run's flows speak.
            check(experiment.name, experiment.quick.keep, {**factors, "protocol": factors[PROTOCOLS]})
        ids = {spec.id for spec in task.every}
        for run in experiment.examples:
            if run not in ids:
                raise UserError(f"{experiment.name}: there is no run '{run}' to keep as an example.")
    except UserError as error:
        raise UserError(f"{study.home / STUDY}: {error}") from None


def play(
    todo: Sequence[Task],
    out: Path,
    *,
    command: Sequence[str],
    workers: int | None = None,
    cluster: Cluster | None = None,
    cached: bool = True,
    on_event: Callable[[Event], None] | None = None,
    on_experiment: Callable[[str], None] | None = None,
) -> dict[str, Outcome]:
    """Play what is missing, one experiment after the other, and return how each ended.

    Results that are whole are taken as they are. Raises UserError, before anything is played, when a package
    that one of the experiments needs is not installed, and what `campaign.run` raises; what is finished
    stays.
    """
    outcomes = {}
    missing = [task for task in todo if not task.is_whole(out)]
    for task in missing:
        check_programs(task.specs, task.file.source)
    for task in missing:
        if on_experiment:
            on_experiment(task.experiment.name)
        outcomes[task.experiment.name] = campaign.run(
            task.specs,
            task.folder(out),
            experiment=task.file.text,
            seed=task.file.about.seed,
            name=task.file.about.name,
            title=task.file.about.title,
            source=task.file.source,
            command=command,
            options=task.options,
            workers=workers,
            cluster=cluster,
            cached=cached,
            on_event=on_event,
        )
    return outcomes


def summarise(study: Study, todo: Sequence[Task], out: Path, benches: Sequence[BenchTask] = ()) -> Summary:
    """Reduce the results that are there. Raises UserError when there are none."""
    parts = {
        task.experiment.name: distil(task.experiment, task.folder(out), task.specs, task.every)
        for task in todo
        if (task.folder(out) / layout.MANIFEST).exists()
    }
    kept = [(task.part, found) for task in benches if (found := task.kept(out)) is not None]
    if not parts and not kept:
        raise UserError(f"{out} holds no results of the study {study.key} yet; play it first.")
    of_benches = {part.name: bench_part(part, found) for part, found in kept}
    return Summary(study.key, parts, study.home, of_benches)


def bench_part(part: Measurement, kept: Kept) -> Part:
    """A bench's share of a summary: its table with the columns that selections ask of flows."""
    bench, table = part.bench, kept.table
    said = {"flow": 0, "trusted": True, "outcome": "ok", "completed": True}
    of_row = [
        ",".join(str(row[name]) for name in bench.full.whole)
        for row in table.select(list(bench.full.whole)).to_pylist()
    ]
    table = table.append_column("run", pa.array(of_row, pa.string()))
    for name, value in said.items():
        table = table.append_column(name, pa.array([value] * table.num_rows))
    # A summary is published: of a folder on this machine it names the last part.
    command = [Path(word).name if Path(word).is_absolute() else word for word in kept.about["command"]]
    manifest = {**kept.about, "command": command, "factors": bench.full.whole, "labels": bench.words}
    return Part(manifest, {BENCH: table})


def check_ledger(study: Study, claims: Sequence[Claim]) -> None:
    """Hold the ledger against the study: experiments, factors, values, figures and functions that it names,
    and the claims that the study's headlines name.

    Raises UserError with the first that is wrong. It needs no results, so a claim that could never be decided
    is found before anything is played.
    """
    ids = {claim.id for claim in claims}
    for name in study.headlines:
        if name not in ids:
            raise UserError(
                f"{study.ledger}: the study's headlines name a claim '{name}', which is not there."
            )
    explained.check(study.home, claims, study.causes)
    for name in claims[0].adjusted:
        try:
            shown(Quantity(name), study.measures)
        except UserError as error:
            raise UserError(f"{study.ledger}: {ledger.ADJUSTED}: {error}") from None
    figures = {figure.key for figure in study.figures}
    known: dict[str, Mapping[str, Sequence[Any]]] = {}
    for claim in claims:
        try:
            for rule in claim.rules:
                for experiment, selection in rule.selections():
                    if experiment not in known:
                        known[experiment] = _known(study, experiment)
                    check(experiment, selection, known[experiment])
                rule.check(study)
            for key in claim.figures:
                if key not in figures:
                    raise UserError(f"there is no figure '{key}'; there are {', '.join(sorted(figures))}.")
        except UserError as error:
            raise UserError(f"{study.ledger}: claim '{claim.id}': {error}") from None


def _known(study: Study, name: str) -> Mapping[str, Sequence[Any]]:
    """The factors of an experiment or bench with their values."""
    of_bench = study.bench(name)
    if of_bench is not None:
        return of_bench.bench.full.whole
    return factors_of(expand(load_experiment(study.experiment(name).file)))[0]
