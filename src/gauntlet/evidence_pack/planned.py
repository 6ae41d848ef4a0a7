"""The runs that an experiment has by its file, and whether a pack holds just those."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gauntlet.errors import GauntletError, UserError
from gauntlet.evidence_pack.shapes import plain
from gauntlet.executor.plan import RunPlan
from gauntlet.executor.planning import planned_one_by_one
from gauntlet.experiment import parse_experiment
from gauntlet.experiment.expand import one_by_one
from gauntlet.experiment.load import Experiment
from gauntlet.experiment.runspec import RunSpec
from gauntlet.experiment.subset import kept
from gauntlet.metrics.numbers import counted, listed
from gauntlet.results import layout
from gauntlet.results.files import read_json
from gauntlet.results.reader import Results, Run
from gauntlet.results.resume import key_file

KEPT = "kept"
"""Option of a quick study: the values of factors whose runs it played."""


@dataclass(frozen=True)
class Planned:
    """An experiment, expanded from its file, seed and options."""

    experiment: Experiment
    keep: Mapping[str, Any]
    """The values of factors whose runs were to be played; empty: all of them."""
    engine: Mapping[str, str]
    """What decides a run's bytes of who played it."""

    def specs(self) -> Iterator[RunSpec]:
        """Its runs, made one after the other: those of a study are too many for the memory."""
        return (spec for spec in one_by_one(self.experiment) if _kept(spec, self.keep))

    def runs(self) -> Iterator[tuple[RunSpec, Mapping[str, dict[str, Any]]]]:
        """The same, each with what its specification, plan and key say, by file. Raises as `plans`."""
        for spec, plan in planned_one_by_one(self.specs()):
            yield spec, self._files(spec, plan)

    def _files(self, spec: RunSpec, plan: RunPlan) -> Mapping[str, dict[str, Any]]:
        key = key_file(plan.key(self.engine), plan.files, plan.libraries, self.engine)
        return {layout.SPEC: plain(spec.to_json()), layout.PLAN: plan.run(spec.id), layout.KEY: key}


@dataclass
class Held:
    """The runs of a pack held against those that are planned."""

    wrong: list[str] = field(default_factory=list)
    """Runs that are missing, of another experiment, or otherwise than planned: sentences."""
    unverified: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    count: int | None = None
    """How many runs are planned; None: nobody can tell."""


def planned(results: Results) -> Planned:
    """Expand the experiment of a results folder. Raises UserError where its file alone does not tell."""
    manifest = results.manifest
    repetitions, keep = manifest.options.get("repetitions"), manifest.options.get(KEPT, {})
    if type(repetitions) not in (int, type(None)) or not _is_choice(keep):
        raise UserError(f"{layout.MANIFEST}: its options are not those of an experiment.")

    def read(count: int | None) -> Experiment:
        return parse_experiment(
            results.experiment, layout.EXPERIMENT, results.folder, seed=manifest.seed, repetitions=count
        )

    engine = {name: value for name, value in manifest.engine.items() if name != "kernel"}
    # What an experiment needs beside its file is the same in each repetition.
    first = Planned(read(1), keep, engine)
    for spec in one_by_one(first.experiment):
        if spec.scenario.path is not None:
            raise UserError("its scenario is a file of its own.")
        if any(flow.external is not None for flow in spec.flows):
            raise UserError("it has programs of its own.")
        _kept(spec, keep)
    return Planned(read(repetitions), keep, engine)


def _is_choice(keep: object) -> bool:
    return isinstance(keep, dict) and all(isinstance(values, list) for values in keep.values())


def _kept(spec: RunSpec, keep: Mapping[str, Any]) -> bool:
    try:
        return kept(spec.factors, keep)
    except KeyError as error:
        raise UserError(f"{layout.MANIFEST}: the experiment has no factor {error}.") from None


@dataclass
class _Odd:
    """Runs of which a file is not what it should be."""

    count: int = 0
    first: tuple[str, list[str]] | None = None
    """Of the first one by its id: that, and the keys that differ."""

    def note(self, run_id: str, keys: list[str]) -> None:
        if keys:
            self.count += 1
            self.first = min(self.first or (run_id, keys), (run_id, keys))


def held(results: Results, name: str, take: Callable[[Run], None], *, same: bool) -> Held:
    """Hold the runs of a results folder against what its experiment file says, and hand each of them to
    `take`, so that its files are read once; `same`: it was packed by this version, so that specifications and
    plans have to be equal.
    """
    found = Held()
    there = dict(layout.run_folders(results.folder))
    try:
        ours = planned(results)
    except GauntletError as error:
        words = str(error).replace(str(results.folder), name).rstrip(".")
        found.unverified.append(
            f"The experiment '{name}' cannot be expanded from the pack alone ({words}): which runs it has "
            "and what each of them is was taken from the pack."
        )
        asked = results.manifest.runs_planned
        if len(there) != asked:
            found.wrong.append(
                f"The experiment '{name}' planned {counted(asked, 'run')}, and the pack has {len(there)}."
            )
        _take_all(there, take)
        return found
    count, lacking = 0, list[str]()
    odd = {file: _Odd() for file in (layout.SPEC, layout.PLAN, layout.KEY)}
    for spec, files in ours.runs():
        count += 1
        folder = there.pop(spec.id, None)
        if folder is None:
            lacking.append(spec.id)
            continue
        run = Run(spec.id, folder)
        for file, those in odd.items():
            those.note(run.id, _differing(run, file, files[file]))
        take(run)
    found.count = count
    found.wrong += _runs_wrong(count, lacking, there.keys(), name)
    found.wrong += _manifest_wrong(results, ours, count, name)
    if keep := results.manifest.options.get(KEPT):
        words = listed([f"{factor} {listed([*map(str, values)])}" for factor, values in keep.items()])
        found.notes.append(f"Of the experiment '{name}' only the runs with {words} were to be played.")
    differ = found.wrong if same else found.unverified
    for file, those in odd.items():
        if those.first is not None:
            first, keys = those.first
            differ.append(
                f"{file} of {counted(those.count, 'run')} of '{name}' is not what the experiment file gives, "
                f"first of {first}: {listed(keys)}."
            )
    _take_all(there, take)
    return found


def _take_all(folders: Mapping[str, Path], take: Callable[[Run], None]) -> None:
    for run_id, folder in folders.items():
        take(Run(run_id, folder))


def _runs_wrong(count: int, lacking: Sequence[str], others: Iterable[str], name: str) -> list[str]:
    """Of so many planned runs some are lacking in the pack, which has others."""
    odd = sorted(others)
    wrong = []
    if lacking:
        wrong.append(
            f"The experiment '{name}' has {counted(count, 'run')} by its file, and the pack lacks "
            f"{len(lacking)}, first {min(lacking)}."
        )
    if odd:
        wrong.append(
            f"The experiment '{name}' has by its file no run {odd[0]}"
            + (f", nor {len(odd) - 1} more of the pack." if len(odd) > 1 else ".")
        )
    return wrong


def _manifest_wrong(results: Results, ours: Planned, count: int, name: str) -> list[str]:
    """Where the manifest of the results says something else than the experiment file."""
    manifest, about = results.manifest, ours.experiment.about
    asked = {key: value for key, value in manifest.options.items() if key != KEPT}
    pairs = {
        "name": (manifest.name, about.name),
        "title": (manifest.title, about.title),
        "runs_planned": (manifest.runs_planned, count),
        "options": (asked, {"repetitions": about.repetitions}),
    }
    return [
        f"The results of '{name}' say {key} {theirs!r}, and the experiment file gives {mine!r}."
        for key, (theirs, mine) in pairs.items()
        if theirs != mine
    ]


def _differing(run: Run, file: str, ours: Mapping[str, Any]) -> list[str]:
    """The keys of a file of a run that are not as planned; that one is missing is told elsewhere."""
    if not (run.folder / file).exists():
        return []
    if file == layout.KEY:
        theirs = read_json(run.folder / file, f"the key of run {run.id}")
    else:
        theirs = run.spec if file == layout.SPEC else run.plan
    return sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key))
