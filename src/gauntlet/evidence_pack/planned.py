"""The runs that an experiment has by its file, and whether a pack holds just those."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gauntlet.errors import GauntletError, UserError
from gauntlet.evidence_pack.shapes import plain
from gauntlet.executor.plan import RunPlan
from gauntlet.executor.planning import plans
from gauntlet.experiment import expand, parse_experiment
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
    specs: Mapping[str, RunSpec]
    """Its runs by id."""
    engine: Mapping[str, str]
    """What decides a run's bytes of who played it."""

    @cached_property
    def _plans(self) -> Mapping[str, RunPlan]:
        return dict(zip(self.specs, plans([*self.specs.values()]), strict=True))

    def file(self, run_id: str, name: str) -> dict[str, Any]:
        """What specification, plan or key of a run say. Raises as `plans`."""
        plan = self._plans[run_id]
        if name == layout.SPEC:
            spec: dict[str, Any] = plain(self.specs[run_id].to_json())
            return spec
        if name == layout.PLAN:
            return plan.run(run_id)
        return key_file(plan.key(self.engine), plan.files, plan.libraries, self.engine)


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
    experiment = parse_experiment(
        results.experiment, layout.EXPERIMENT, results.folder, seed=manifest.seed, repetitions=repetitions
    )
    specs = {spec.id: spec for spec in expand(experiment)}
    if any(spec.scenario.path is not None for spec in specs.values()):
        raise UserError("its scenario is a file of its own.")
    if any(flow.external is not None for spec in specs.values() for flow in spec.flows):
        raise UserError("it has programs of its own.")
    chosen = {run_id: spec for run_id, spec in specs.items() if _kept(spec, keep)}
    engine = {name: value for name, value in manifest.engine.items() if name != "kernel"}
    return Planned(experiment, chosen, engine)


def _is_choice(keep: object) -> bool:
    return isinstance(keep, dict) and all(isinstance(values, list) for values in keep.values())


def _kept(spec: RunSpec, keep: Mapping[str, Any]) -> bool:
    try:
        return kept(spec.factors, keep)
    except KeyError as error:
        raise UserError(f"{layout.MANIFEST}: the experiment has no factor {error}.") from None


def held(results: Results, name: str, *, same: bool) -> Held:
    """Hold the runs of a results folder against what its experiment file says; `same`: it was packed by this
    version, so that specifications and plans have to be equal.
    """
    found = Held()
    try:
        ours = planned(results)
    except GauntletError as error:
        words = str(error).replace(str(results.folder), name).rstrip(".")
        found.unverified.append(
            f"The experiment '{name}' cannot be expanded from the pack alone ({words}): which runs it has "
            "and what each of them is was taken from the pack."
        )
        count, asked = sum(1 for _ in results.runs()), results.manifest.runs_planned
        if count != asked:
            found.wrong.append(
                f"The experiment '{name}' planned {counted(asked, 'run')}, and the pack has {count}."
            )
        return found
    found.count = len(ours.specs)
    there = {run.id: run for run in results.runs()}
    found.wrong += _runs_wrong(ours.specs.keys(), there.keys(), name)
    found.wrong += _manifest_wrong(results, ours, name)
    if keep := results.manifest.options.get(KEPT):
        words = listed([f"{factor} {listed([*map(str, values)])}" for factor, values in keep.items()])
        found.notes.append(f"Of the experiment '{name}' only the runs with {words} were to be played.")
    differ = found.wrong if same else found.unverified
    both = [run for run_id, run in there.items() if run_id in ours.specs]
    for file in (layout.SPEC, layout.PLAN, layout.KEY):
        odd = {run.id: keys for run in both if (keys := _differing(run, file, ours.file(run.id, file)))}
        if odd:
            first, keys = next(iter(odd.items()))
            differ.append(
                f"{file} of {counted(len(odd), 'run')} of '{name}' is not what the experiment file gives, "
                f"first of {first}: {listed(keys)}."
            )
    return found


def _runs_wrong(ours: Iterable[str], theirs: Iterable[str], name: str) -> list[str]:
    lacking, odd = sorted(set(ours) - set(theirs)), sorted(set(theirs) - set(ours))
    wrong = []
    if lacking:
        planned_ = counted(len(set(ours)), "run")
        wrong.append(
            f"The experiment '{name}' has {planned_} by its file, and the pack lacks {len(lacking)}, first "
            f"{lacking[0]}."
        )
    if odd:
        wrong.append(
            f"The experiment '{name}' has by its file no run {odd[0]}"
            + (f", nor {len(odd) - 1} more of the pack." if len(odd) > 1 else ".")
        )
    return wrong


def _manifest_wrong(results: Results, ours: Planned, name: str) -> list[str]:
    """Where the manifest of the results says something else than the experiment file."""
    manifest, about = results.manifest, ours.experiment.about
    asked = {key: value for key, value in manifest.options.items() if key != KEPT}
    pairs = {
        "name": (manifest.name, about.name),
        "title": (manifest.title, about.title),
        "runs_planned": (manifest.runs_planned, len(ours.specs)),
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
    theirs = read_json(run.folder / file, f"a file of run {run.id}")
    return sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key))
