"""A campaign: every run of an experiment played, certified, stored; continued where it stopped.

The one place where experiment, executor and results meet. A run that the results folder or the user's cache
of runs holds already, by its run key, is not played again; everything that a killed campaign has finished
stays, and the same call continues with what is missing. Runs go repetition by repetition, so that what a
stopped campaign has is a fair comparison already.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gauntlet.engine.cores import usable_cores
from gauntlet.engine.hashes import sha256_of_file
from gauntlet.errors import UserError
from gauntlet.executor import engines
from gauntlet.executor.address import Cluster
from gauntlet.executor.cache import Cache
from gauntlet.executor.places import opened
from gauntlet.executor.planning import plans
from gauntlet.experiment import expand, links, own_links, ridden
from gauntlet.experiment.runspec import Factor, RunSpec
from gauntlet.metrics.tables import are_current, finalize
from gauntlet.packing import code, packed
from gauntlet.playing import Event, Outcome, Planned, Playing
from gauntlet.rehearsal import rehearse
from gauntlet.results import differences, layout, resume, store
from gauntlet.results.manifest import Manifest
from gauntlet.results.pack import made_with
from gauntlet.results.reader import Results
from gauntlet.results.resume import There
from gauntlet.scenario import line_figure_data

if TYPE_CHECKING:
    from gauntlet.engine.contract import Engine
    from gauntlet.experiment import Experiment

__all__ = [
    "Event",
    "Outcome",
    "by_repetition",
    "check_place",
    "interleaved",
    "options",
    "play",
    "repetition",
    "run",
]


def play(
    experiment: "Experiment",
    out: Path,
    *,
    specs: Sequence[RunSpec] | None = None,
    command: Sequence[str] = (),
    workers: int | None = None,
    cluster: Cluster | None = None,
    capture: bool = False,
    cached: bool = True,
    rehearsal: bool = True,
    engine: "Engine | None" = None,
    on_event: Callable[[Event], None] | None = None,
) -> Outcome:
    """Play an experiment into `out`: the entry for programs, which `gauntlet run` uses too.

    `specs` are its runs where they are expanded already, `command` what the manifest names as the maker.
    The runs play on `workers` cores of this machine (default: all), or on a `cluster`. Without `cached` the
    user's cache of runs is neither read nor written; without `rehearsal` programs that carry flows are not
    tried before the first run; `engine` is who plays (default: the installed one of the virtual ground).
    Raises what `expand` and `run` raise.
    """
    runs = expand(experiment) if specs is None else specs
    about = experiment.about
    return run(
        runs,
        out,
        experiment=experiment.text,
        seed=about.seed,
        name=about.name,
        title=about.title,
        source=experiment.source,
        command=command,
        options=options(experiment, runs),
        workers=workers,
        cluster=cluster,
        capture=capture,
        cached=cached,
        rehearsal=rehearsal,
        engine=engine,
        on_event=on_event,
    )


def _differences(out: Path, experiment: str, options: Mapping[str, Any]) -> list[str]:
    """In what the experiment of a folder, its seed and options differ from those that are to be played."""
    before = Manifest.read(out)
    file = out / layout.EXPERIMENT
    written = file.read_text() if file.is_file() else ""
    of_file = differences.of_files(written, experiment) if written else []
    return [*of_file, *differences.told("", {"seed": before.seed, **before.options}, options)]


def run(
    specs: Sequence[RunSpec],
    out: Path,
    *,
    experiment: str,
    seed: int,
    name: str = "",
    title: str = "",
    source: str = "",
    command: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    workers: int | None = None,
    cluster: Cluster | None = None,
    capture: bool = False,
    cached: bool = True,
    rehearsal: bool = True,
    engine: "Engine | None" = None,
    on_event: Callable[[Event], None] | None = None,
) -> Outcome:
    """Play the runs that neither `out` nor the cache holds yet, and make the tables when all are there.

    `experiment` is the text of the experiment file, `options` what was changed on the command line, `source`
    what error sentences call it (default: its name), `engine` who plays (default: the installed one). Without
    `rehearsal` programs that carry flows are not tried before the first run. Raises
    UserError for a folder that holds other runs and for runs that cannot be played, before anything is
    written; RunError when nothing can be played (no kernel, a full disk).
    """
    began = time.monotonic()
    engine = engine or engines.installed()
    check_place(engine, workers, cluster)
    place = cluster or ((workers or len(usable_cores())) if engine.exact else 1)
    identity = engine.identity()
    traces = {path: sha256_of_file(Path(path)) for path in {spec.scenario.path for spec in specs} if path}
    planned = [
        Planned(spec, plan, plan.key(identity)) for spec, plan in zip(specs, plans(specs), strict=True)
    ]
    wanted = {it.spec.id: it.key for it in planned}
    seen = resume.changed_ns(out)
    apart = partial(_differences, out, experiment, {"seed": seed, **(options or {})})
    look = partial(resume.runs_there, out, wanted, engine.describe(), apart, capture=capture)
    there = look()
    if there.uncaptured and not engine.exact:
        raise UserError(
            f"{out} holds runs without their packets, and in real time none comes out alike a second time; "
            "choose another results folder with --out, or leave --capture out."
        )
    cache = Cache.of_user() if cached and engine.exact else None
    by_id = {it.spec.id: it for it in planned}
    missing = [by_id[run_id] for run_id in there.missing(wanted)]
    unknown = [it for it in missing if not (cache and cache.has(it.key, made_with(), capture=capture))]
    rehearse([(it.spec, it.plan) for it in unknown], engine, source or name, programs=rehearsal)
    manifest = Manifest.new(
        experiment=experiment,
        seed=seed,
        runs_planned=len(specs),
        name=name,
        title=title,
        command=list(command),
        options=dict(options or {}),
        engine=engine.describe(),
        workers=place if isinstance(place, int) else None,
    )
    with store.exclusive(out):
        before = Manifest.read(out) if (out / layout.MANIFEST).exists() else None
        store.create(out, experiment, manifest, _line_of(specs), own_links.told_maps(specs))
        if seen is None or resume.changed_ns(out) != seen:
            # Another campaign was at work before this one held the folder.
            there = look()
            missing = [by_id[run_id] for run_id in there.missing(wanted)]
        outcome = Outcome(out, len(specs), len(specs) - len(missing), uncaptured=len(there.uncaptured))
        changed = _settle(out, there, by_id, before, manifest)
        tell = on_event or (lambda _event: None)
        playing = Playing(out, engine, cache, outcome, tell, capture=capture, traces=traces)
        try:
            order = by_repetition(missing) if engine.exact else interleaved(missing, seed)
            playing.play(order, partial(opened, place, engine, packed, code()))
        finally:
            outcome.wall_s = time.monotonic() - began
            progress = (outcome.finished, outcome.cached, outcome.wall_s)
            crew = (outcome.workers or None) if cluster else None
            Manifest.read(out).with_progress(*progress, workers=crew).write(out)
        if outcome.finished or outcome.cached or changed or not are_current(Results.open(out)):
            finalize(out)
    return outcome


def check_place(engine: "Engine", workers: int | None, cluster: Cluster | None) -> None:
    """See that an engine can play in so many places at once. Raises UserError."""
    if engine.exact:
        return
    if workers not in (None, 1):
        raise UserError(
            f"{workers} workers were asked for, and runs in real time are played one at a time, so that none "
            "is in the way of another; leave --workers out."
        )
    if cluster is not None:
        raise UserError(
            "runs in real time are played on the machine where they are asked for; leave --scheduler out."
        )


def by_repetition(runs: Sequence[Planned]) -> list[Planned]:
    """Runs repetition by repetition, and under each condition one protocol after the other: whenever a
    campaign is stopped, what it has played compares all protocols on the same stretches.
    """
    conditions: dict[tuple[tuple[str, Factor], ...], int] = {}
    for it in runs:
        conditions.setdefault(_condition(it.spec), len(conditions))
    return sorted(runs, key=lambda it: (repetition(it.spec), conditions[_condition(it.spec)]))


def interleaved(runs: Sequence[Planned], seed: int) -> list[Planned]:
    """Runs repetition by repetition, each in an order drawn from the seed, so that what changes on the
    machine over hours meets all conditions alike.
    """
    drawn = list(runs)
    random.Random(f"order {seed}").shuffle(drawn)
    return sorted(drawn, key=lambda it: repetition(it.spec))


def repetition(spec: RunSpec) -> int:
    """Which repetition a run is, from 1."""
    return int(spec.factors.get("repetition", 1))


def _condition(spec: RunSpec) -> tuple[tuple[str, Factor], ...]:
    """What a run is a point of besides its protocol and its repetition."""
    return tuple(it for it in spec.factors.items() if it[0] not in ("protocol", "repetition"))


def options(experiment: "Experiment", specs: Sequence[RunSpec]) -> dict[str, Any]:
    """What decides the results besides the experiment file's text and seed."""
    files = {it.name: Path(it.path) for spec in specs for it in spec.scenarios if it.path is not None}
    hashes = {f"sha256 of {name}": sha256_of_file(file) for name, file in files.items()}
    return {"repetitions": experiment.about.repetitions, **hashes}


def _settle(
    out: Path,
    there: There,
    by_id: Mapping[str, Planned],
    before: Manifest | None,
    now: Manifest,
) -> bool:
    """Bring what the folder has into line with the experiment as it is now; whether anything changed."""
    resume.forget(out, there.failed)
    resume.rename(out, there.renamed)
    same = before is not None and before.experiment_sha256 == now.experiment_sha256
    if not there.renamed and same and before is not None and before.options == now.options:
        return bool(there.failed)
    kept = [by_id[run_id] for run_id in by_id if run_id in there.present or run_id in there.renamed]
    changed = set(resume.refresh(out, {it.spec.id: it.spec.to_json() for it in kept}))
    for it in kept:
        # Columns of a trace that are for people may have changed too.
        if it.spec.id in changed or it.spec.scenario.path is not None:
            store.write_trace(out, it.spec.id, ridden(it.spec))
            changed.add(it.spec.id)
    return bool(changed or there.renamed or there.failed)


def _line_of(specs: Sequence[RunSpec]) -> Mapping[str, Any] | None:
    """The whole line for the report's strip, when all runs ride one scenario."""
    own = own_links.told(specs)
    if not specs or (own is None and any(_rides_another(spec, specs[0]) for spec in specs)):
        return None
    found = line_figure_data(links.scenario(specs[0].scenario, specs[0].link_seed))
    if own is None:
        return found
    title = found["title"] if "rest" in (specs[0].link.own or {}) else "Own network"
    return {**found, "title": title, "network": own}


def _rides_another(spec: RunSpec, first: RunSpec) -> bool:
    return spec.scenario != first.scenario or spec.link.own is not None
