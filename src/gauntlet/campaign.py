"""A campaign: every run of an experiment played in a guest, certified, stored; continued where it stopped.

The one place where experiment, engine and results meet. What a worker does with one run is a pure function of
the run's plan; everything that a killed campaign has finished stays, and the same call continues with what is
missing.
"""

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gauntlet.engine import guest, kernel, pool
from gauntlet.errors import GauntletError, RunError
from gauntlet.experiment.runspec import RunSpec

if TYPE_CHECKING:
    from gauntlet.experiment import Experiment

LOST_RUNS_IN_A_ROW = 8
"""A campaign gives up when this many runs in a row leave nothing: then the machine is at fault, not a run."""


@dataclass(frozen=True)
class Event:
    """What happens while a campaign runs: `kind` is started, progress, finished or failed."""

    kind: str
    run: str
    fraction: float = 0.0
    reason: str = ""


@dataclass
class Outcome:
    """How a campaign ended."""

    results: Path
    planned: int
    present_before: int
    finished: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    untrusted: list[str] = field(default_factory=list)
    """Runs whose certificate is contradicted."""
    unchecked: list[str] = field(default_factory=list)
    """Runs of which something could have been checked and was not."""
    wall_s: float = 0.0
    virtual_s: float = 0.0


@dataclass(frozen=True)
class _Job:
    spec: RunSpec
    results: Path
    machine: guest.Machine
    capture: bool


def play(
    experiment: "Experiment",
    out: Path,
    *,
    specs: Sequence[RunSpec] | None = None,
    command: Sequence[str] = (),
    workers: int | None = None,
    capture: bool = False,
    on_event: Callable[[Event], None] | None = None,
) -> Outcome:
    """Play an experiment into `out`: the entry for programs, which `gauntlet run` uses too.

    `specs` are its runs where they are expanded already, `command` what the manifest names as the maker.
    Raises what `expand` and `run` raise.
    """
    from gauntlet.experiment import expand

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
        capture=capture,
        on_event=on_event,
    )


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
    capture: bool = False,
    on_event: Callable[[Event], None] | None = None,
) -> Outcome:
    """Play the runs that `out` does not hold yet, and make the tables when all are there.

    `experiment` is the text of the experiment file and `options` what was changed on the command line:
    a folder made from another one is refused. `source` is what error sentences call it (default: its name).
    Raises UserError for that and for runs that no guest can play, before anything is written; RunError when
    nothing can be played (no kernel, a full disk).
    """
    from gauntlet.rehearsal import rehearse
    from gauntlet.results import store
    from gauntlet.results.manifest import Manifest, sha256_of_file

    began = time.monotonic()
    tell = on_event or (lambda _event: None)
    cores = len(pool.usable_cores())
    machine = guest.Machine.installed()
    image = kernel.describe()
    present = store.done(out)
    rehearse([spec for spec in specs if spec.id not in present], machine, source or name)
    manifest = Manifest.new(
        experiment=experiment,
        seed=seed,
        runs_planned=len(specs),
        name=name,
        title=title,
        command=list(command),
        options=dict(options or {}),
        engine={
            "kernel": image.version,
            "kernel_sha256": sha256_of_file(machine.kernel),
            "guest_sha256": sha256_of_file(machine.program),
        },
        workers=workers or cores,
    )
    with store.exclusive(out):
        store.create(out, experiment, manifest, _line_of(specs))
        present = store.done(out)
        missing = [spec for spec in specs if spec.id not in present]
        outcome = Outcome(out, len(specs), len(specs) - len(missing))
        jobs = [_Job(spec, out, machine, capture) for spec in missing]
        try:
            if jobs:
                _play_all(jobs, workers or cores, outcome, tell)
        finally:
            outcome.wall_s = time.monotonic() - began
            Manifest.read(out).with_progress(outcome.finished, outcome.wall_s).write(out)
        if outcome.finished or not (out / "tables").is_dir():
            store.finalize(out)
    return outcome


def options(experiment: "Experiment", specs: Sequence[RunSpec]) -> dict[str, Any]:
    """What decides the results besides the experiment file's text and seed; a folder holds one such set."""
    files = {spec.scenario.name: Path(spec.scenario.path) for spec in specs if spec.scenario.path is not None}
    hashes = {f"sha256 of {name}": sha256(file.read_bytes()).hexdigest() for name, file in files.items()}
    return {"repetitions": experiment.about.repetitions, **hashes}


def _play_all(jobs: Sequence[_Job], workers: int, outcome: Outcome, tell: Callable[[Event], None]) -> None:
    from gauntlet.results import store
    from gauntlet.results.certificate.verdict import Answer

    lost_in_a_row = 0
    with pool.Pool(jobs, _play, workers) as crew:
        for index, kind, content in crew.results():
            spec = jobs[index].spec
            if kind == "event":
                tell(content)
                continue
            if kind == "failed":
                reason = str(content)
                lost_in_a_row += 1
                store.write_failure(outcome.results, spec.to_json(), _plan_run(spec), reason)
            else:
                reason, verdict, virtual_s = content
                lost_in_a_row = 0
                outcome.virtual_s += virtual_s
                if verdict == Answer.CONTRADICTED:
                    outcome.untrusted.append(spec.id)
                elif verdict == Answer.NOT_CHECKED:
                    outcome.unchecked.append(spec.id)
            if reason:
                outcome.failed[spec.id] = reason
                tell(Event("failed", spec.id, 1.0, reason))
            else:
                outcome.finished += 1
                tell(Event("finished", spec.id, 1.0))
            if lost_in_a_row >= LOST_RUNS_IN_A_ROW:
                raise RunError(
                    f"{lost_in_a_row} runs in a row left nothing behind; the last one because: {reason}"
                )


def _plan_run(spec: RunSpec) -> dict[str, Any]:
    from gauntlet.experiment import plan_run

    return plan_run(spec)


def _line_of(specs: Sequence[RunSpec]) -> Mapping[str, Any] | None:
    """The whole line for the report's strip, when all runs ride one scenario."""
    from gauntlet.experiment import links
    from gauntlet.scenario import line_figure_data

    if not specs or any(spec.scenario != specs[0].scenario for spec in specs):
        return None
    return line_figure_data(links.scenario(specs[0].scenario, specs[0].link_seed))


def _play(job: _Job, core: int, emit: Callable[[Any], None]) -> tuple[str, str, float]:
    """A worker's part: one run through a guest, its certificate, its place in the results.

    Returns the reason of a failed run (else ""), the verdict of its certificate (of a failed run ""), and its
    virtual seconds.
    """
    from gauntlet.experiment import ridden
    from gauntlet.results import layout, store
    from gauntlet.results.certificate import certify

    spec = job.spec
    plan_run = _plan_run(spec)
    emit(Event("started", spec.id))

    def listen(event: Mapping[str, Any]) -> None:
        if event["event"] == "progress":
            emit(Event("progress", spec.id, min(1.0, event["virtual_s"] / max(event["expected_s"], 1e-9))))

    with tempfile.TemporaryDirectory(prefix=".work-", dir=job.results) as folder:
        records = Path(folder) / "records"
        guest.boot(
            [plan_run],
            records,
            seed=spec.seed,
            machine=job.machine,
            core=core,
            on_event=listen,
            console=layout.console_file(job.results, spec.id),
        )
        record_dir = records / spec.id
        if not (record_dir / "record.json").is_file():
            raise RunError(f"The guest ended without a record of run {spec.id}.")
        record = json.loads((record_dir / "record.json").read_text())
        if record["outcome"] != "ok":
            store.write_failure(job.results, spec.to_json(), plan_run, record["reason"])
            return record["reason"], "", record.get("virtual_s", 0.0)
        certificate = _certified(certify, plan_run, record_dir)
        store.write_run(
            job.results,
            spec.to_json(),
            plan_run,
            record_dir,
            ridden(spec),
            certificate=certificate,
            capture=job.capture,
        )
        return "", str(certificate["verdict"]), float(record["virtual_s"])


def _certified(
    certify: Callable[[dict[str, Any], Path], dict[str, Any]], plan_run: dict[str, Any], record_dir: Path
) -> dict[str, Any]:
    """The certificate; where it cannot be made, the run is kept and not checked."""
    from gauntlet.results.certificate.verdict import nothing_checked

    try:
        return certify(plan_run, record_dir)
    except GauntletError as error:
        return nothing_checked(str(plan_run["id"]), f"The certificate could not be made: {error}")
