"""What `run` and `demo` share: play an experiment, make its report, say what came out."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gauntlet.cli.failure import EXIT_FAILED, EXIT_INTERRUPTED
from gauntlet.cli.output import campaign_progress, console, open_in_browser, print_json

if TYPE_CHECKING:
    from gauntlet.campaign import Outcome
    from gauntlet.engine.contract import Engine
    from gauntlet.executor.address import Cluster
    from gauntlet.experiment import Experiment, RunSpec
    from gauntlet.report.closeness import Closeness

TOLD_FROM = 10
"""Times as fast as real time from which that is told."""
SHOWN_FAILURES = 5
"""Failed or untrusted runs that are named on the terminal; the report has all of them."""


@dataclass(frozen=True)
class Wishes:
    """What the user asked for on the command line."""

    seed: int | None = None
    repetitions: int | None = None
    until: float | None = None
    """Half the interval of each judged mean, as a share of it, up to which repetitions are added."""
    at_most: int = 200
    """Repetitions at which that ends in any case."""
    engine: str = "virtual"
    workers: int | None = None
    cluster: "Cluster | None" = None
    out: Path | None = None
    classes: Path | None = None
    capture: bool = False
    cached: bool = True
    rehearsal: bool = True
    """Whether programs that carry flows are tried before the first run."""
    quiet: bool = False
    json: bool = False
    open: bool = False

    @property
    def silent(self) -> bool:
        """No progress and no tables."""
        return self.quiet or self.json


def play(file: Path, wishes: Wishes) -> int:
    """Play an experiment file and return the exit code: 0, or 1 when a run failed or none gave a number.

    Raises GauntletError.
    """
    from gauntlet import campaign, report
    from gauntlet.advice import services
    from gauntlet.cli.rounds import rounds
    from gauntlet.executor import engines
    from gauntlet.experiment import expand, load_experiment
    from gauntlet.metrics.asked import check
    from gauntlet.report import closeness

    experiment = load_experiment(file, seed=wishes.seed, repetitions=wishes.repetitions, answers=check)
    about = experiment.about
    # What the report would refuse is refused before anything is played.
    services.of_experiment(experiment.text, str(file))
    if wishes.classes is not None:
        services.load(wishes.classes)
    out = wishes.out or Path("results") / about.name
    engine = None if wishes.engine == "virtual" else engines.installed(wishes.engine)
    if engine is not None:
        campaign.check_place(engine, wishes.workers, wishes.cluster)
    outcome: Outcome | None = None
    found: Closeness | None = None
    for look, repetitions in rounds(wishes.until, about.repetitions, wishes.at_most, out):
        experiment = replace(experiment, about=about.model_copy(update={"repetitions": repetitions}))
        specs = expand(experiment)
        if not wishes.silent:
            _announce(experiment, specs, first=outcome is None)
        try:
            now = _played(experiment, specs, out, engine, wishes)
        except KeyboardInterrupt:
            click.echo(_stopped(out, specs, repetitions), err=True)
            return EXIT_INTERRUPTED
        outcome = now if outcome is None else now.after(outcome)
        if outcome.finished + outcome.cached + outcome.present_before == 0:
            _warn(outcome)
            click.echo(
                f"No run came to its end, so there is no report; the reasons are kept in {out}.", err=True
            )
            return EXIT_FAILED
        if wishes.until is not None:
            found = closeness.known(report.load(out), wishes.until, look, repetitions)
            if not wishes.silent:
                console(stderr=True).print(found.words, soft_wrap=True, markup=False)
        if outcome.failed or found is None or not found.wide:
            break
    assert outcome is not None, "there is at least one round"
    page = report.build(out, classes=wishes.classes)
    _tell(outcome, page, wishes, found)
    if wishes.open:
        open_in_browser(page)
    nothing = report.nothing_came(out)
    if nothing:
        click.echo(nothing, err=True)
    return EXIT_FAILED if outcome.failed or nothing else 0


def _stopped(out: Path, specs: Sequence["RunSpec"], repetitions: int) -> str:
    """What a campaign that was stopped has, what it lacks, and how to go on."""
    from gauntlet.campaign import repetition
    from gauntlet.metrics.progress import repetitions_there
    from gauntlet.results import store

    done = store.done(out)
    there = Counter(repetition(spec) for spec in specs if spec.id in done)
    whole = repetitions_there(there, len(specs), repetitions) if there else ""
    said = f"Stopped. What is finished is kept in {out}; the same command continues."
    return f"{said} {whole} `gauntlet report {out}` compares what is there." if whole else said


def _played(
    experiment: "Experiment", specs: "list[RunSpec]", out: Path, engine: "Engine | None", wishes: Wishes
) -> "Outcome":
    """Play what is not there yet, under a bar that shows how far it is."""
    from gauntlet import campaign
    from gauntlet.results import store

    present = len(store.done(out) & {spec.id for spec in specs})
    with campaign_progress(experiment.about.name, len(specs), present, hidden=wishes.silent) as progress:
        return campaign.play(
            experiment,
            out,
            specs=specs,
            command=["gauntlet", *sys.argv[1:]],
            workers=wishes.workers,
            cluster=wishes.cluster,
            capture=wishes.capture,
            cached=wishes.cached,
            rehearsal=wishes.rehearsal,
            engine=engine,
            on_event=progress,
        )


def _announce(experiment: "Experiment", specs: Sequence["RunSpec"], *, first: bool) -> None:
    """Say what a round plays; before the `first` also which flows are held to a time, and what in the
    background varies.
    """
    from gauntlet.experiment.beside import varying_beside
    from gauntlet.experiment.flows import held_times

    shown = console(stderr=True)
    shown.print(_announcement(experiment, specs), soft_wrap=True)
    if first:
        for held in held_times((flow for spec in specs for flow in spec.flows), experiment.known):
            shown.print(held, soft_wrap=True, markup=False)
        for beside in varying_beside([vars(flow) for flow in spec.flows] for spec in specs):
            shown.print(beside, style="yellow", soft_wrap=True, markup=False)


def _announcement(experiment: "Experiment", specs: Sequence["RunSpec"]) -> str:
    from rich.markup import escape

    about = experiment.about
    factors = [
        _counted(max(1, len(experiment.protocols)), "protocol"),
        _counted(len(experiment.points), "condition"),
        _counted(about.repetitions, "repetition"),
    ]
    runs = _counted(len(specs), "run")
    return f"[bold]{escape(about.title or about.name)}[/]: {runs} ({' x '.join(factors)}), seed {about.seed}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _tell(outcome: "Outcome", page: Path, wishes: Wishes, found: "Closeness | None") -> None:
    if wishes.json:
        from gauntlet import report

        print_json(
            {
                "results": str(outcome.results),
                "report": str(page),
                "planned": outcome.planned,
                "present_before": outcome.present_before,
                "cached": outcome.cached,
                "finished": outcome.finished,
                "failed": outcome.failed,
                "notes": outcome.notes,
                "untrusted": outcome.untrusted,
                "unchecked": outcome.unchecked,
                "wall_s": round(outcome.wall_s, 3),
                "virtual_s": round(outcome.virtual_s, 3),
                **({} if found is None else {"until": found.to_json()}),
                "answer": report.summary(outcome.results, wishes.classes),
            }
        )
        return
    if wishes.quiet:
        _warn(outcome)
        click.echo(str(page))
    else:
        from gauntlet.report import terminal

        console().print(terminal.summary(outcome.results, wishes.classes), crop=False)
        if outcome.wall_s > 0 and outcome.finished:
            console(stderr=True).print(_speed(outcome, wishes))
        if outcome.present_before or outcome.cached:
            console(stderr=True).print(_sources(outcome), soft_wrap=True)
        for note in outcome.notes:
            console(stderr=True).print(note, soft_wrap=True, markup=False)
        click.echo(f"Results: {outcome.results}\nReport:  {page}")


def _speed(outcome: "Outcome", wishes: Wishes) -> str:
    """How many runs were played in which time."""
    runs = f"{_counted(outcome.finished, 'run')} in {outcome.wall_s:.1f} s"
    if wishes.engine == "host":
        return f"{runs}, in real time."
    virtual, speed = f"{runs}; {outcome.virtual_s:.0f} virtual s", outcome.virtual_s / outcome.wall_s
    # On a machine with other work a small number would say nothing of Gauntlet.
    return f"{virtual}, {speed:.0f} times as fast as real time." if speed >= TOLD_FROM else f"{virtual}."


def _sources(outcome: "Outcome") -> str:
    """Where the runs come from, when not all were played now."""
    kept = f"{outcome.present_before} were there, {outcome.cached} came from the cache"
    played = f"{outcome.finished} {'was' if outcome.finished == 1 else 'were'} played"
    failed = f", {len(outcome.failed)} failed" if outcome.failed else ""
    anew = (
        f" {_counted(outcome.uncaptured, 'run')} had been kept without packets." if outcome.uncaptured else ""
    )
    return f"Of {_counted(outcome.planned, 'run')} {kept}, {played}{failed}.{anew}"


def _warn(outcome: "Outcome") -> None:
    for note in outcome.notes:
        click.echo(note, err=True)
    for run, reason in list(outcome.failed.items())[:SHOWN_FAILURES]:
        click.echo(f"Run {run} failed: {reason}", err=True)
    if len(outcome.failed) > SHOWN_FAILURES:
        click.echo(
            f"{len(outcome.failed) - SHOWN_FAILURES} more runs failed; the report names them.", err=True
        )
    if outcome.cache_trouble:
        click.echo(f"Runs could not be kept in the cache {outcome.cache_trouble}.", err=True)
    for runs, words in ((outcome.untrusted, "not trusted"), (outcome.unchecked, "not checked")):
        if runs:
            verb = "is" if len(runs) == 1 else "are"
            click.echo(f"{_counted(len(runs), 'run')} {verb} {words}: the report says why.", err=True)
