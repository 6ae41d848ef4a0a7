"""`gauntlet reproduce`: do a published study again and check its claims one by one."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gauntlet.cli.cluster import cluster, scheduler_options
from gauntlet.cli.failure import EXIT_FAILED, EXIT_INTERRUPTED

if TYPE_CHECKING:
    from gauntlet.advice.use import Advice
    from gauntlet.campaign import Outcome
    from gauntlet.executor.address import Cluster
    from gauntlet.studies.judging import Judged
    from gauntlet.studies.model import Study
    from gauntlet.studies.reproduce import BenchTask, Task
    from gauntlet.studies.summary import Summary


@dataclass(frozen=True)
class _Wishes:
    """What the user asked for."""

    quick: bool
    out: Path
    workers: int | None
    cluster: "Cluster | None"
    only: tuple[str, ...]
    repetitions: int | None
    cached: bool
    play: bool
    update: Path | None
    silent: bool


@click.command(short_help="Do a published study again and check its claims.")
@click.argument("study", required=False)
@click.option("--quick/--full", default=True, help="A subset that takes minutes (default), or all of it.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder (default: results/STUDY-quick, -full, -summary)."
)
@click.option("--workers", type=click.IntRange(min=1), help="Guests side by side (default: one a core).")
@scheduler_options
@click.option("--only", multiple=True, metavar="NAME", help="Only this experiment or bench; can be repeated.")
@click.option(
    "--repetitions",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --full: so many of each experiment, to see what more would decide. What is registered with "
    "others is then not counted.",
)
@click.option("--no-cache", is_flag=True, help="Play every run; neither read nor fill the cache of runs.")
@click.option("--no-run", is_flag=True, help="Play nothing: judge the runs that are in the folder.")
@click.option(
    "--from-summary", is_flag=True, help="Judge the summary of a full run that comes with the study."
)
@click.option(
    "--update-summary",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the summary there, with --only into the one that is there; with --from-summary only its "
    "verdicts, decided anew.",
)
@click.option(
    "--trust-plugin", is_flag=True, help="Run the plugin.py of a folder that is not one of Gauntlet's own."
)
@click.option(
    "--register",
    type=int,
    metavar="SEED",
    help="Play nothing: fix rules, experiments and a new seed before the runs; with --only, parts anew.",
)
@click.option("--open", "open_", is_flag=True, help="Open the page in the browser.")
@click.option("--quiet", is_flag=True, help="Print only the path of the page.")
@click.option("--json", "json_", is_flag=True, help="Print the verdicts as JSON.")
@click.pass_context
def reproduce(
    ctx: click.Context,
    *,
    study: str | None,
    quick: bool,
    out: Path | None,
    workers: int | None,
    scheduler: str | None,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    only: tuple[str, ...],
    repetitions: int | None,
    no_cache: bool,
    no_run: bool,
    from_summary: bool,
    update_summary: Path | None,
    trust_plugin: bool,
    register: int | None,
    open_: bool,
    quiet: bool,
    json_: bool,
) -> None:
    """Do STUDY again with today's stacks and say of each of its claims whether it holds.

    STUDY is the key of a published study or the path of a study's folder. Without STUDY, list the published
    ones. The same command continues where it was stopped. Results that `gauntlet run` made of the study's own
    experiment files are taken as they are.

    \b
    Examples:
      gauntlet reproduce                        which studies there are
      gauntlet reproduce d34                    a first look, in minutes
      gauntlet reproduce d34 --full             all of it
      gauntlet reproduce d34 --full --only udp-hsr --repetitions 40
      gauntlet reproduce d34 --full --scheduler tcp://10.0.0.1:8786
      gauntlet reproduce d34 --from-summary     the verdicts of the last full run
      gauntlet reproduce ./my-study             a study of your own: a folder
    """
    from gauntlet import studies
    from gauntlet.cli.output import open_in_browser
    from gauntlet.errors import UserError

    if study is None:
        _list(json_)
        return
    chosen = studies.study(study, trust_plugin=trust_plugin)
    if register is not None:
        _register(chosen, register, only)
        return
    if from_summary and (no_run or only):
        raise UserError(
            "--from-summary plays nothing, so --no-run and --only do not go with it; leave them out."
        )
    if repetitions and (quick or from_summary or update_summary):
        raise UserError(
            "--repetitions goes with --full, and with neither --from-summary nor --update-summary: a summary "
            "that is kept has the repetitions that were registered."
        )
    if update_summary and quick and not from_summary:
        raise UserError("--update-summary is for the whole study; use it with --full.")
    if from_summary:
        _kept(chosen, study)
        ended: _Ended | None = _from_summary(
            chosen, out or Path("results") / f"{chosen.key}-summary", update_summary
        )
    else:
        which = "quick" if quick else f"full-{repetitions}" if repetitions else "full"
        folder = out or Path("results") / f"{chosen.key}-{which}"
        where = cluster(scheduler, tls_ca, tls_cert, tls_key, workers)
        wishes = _Wishes(
            quick=quick,
            out=folder,
            workers=workers,
            cluster=where,
            only=only,
            repetitions=repetitions,
            cached=not no_cache,
            play=not no_run,
            update=update_summary,
            silent=quiet or json_,
        )
        ended = _done_again(chosen, wishes)
    if ended is None:
        ctx.exit(EXIT_INTERRUPTED)
    _tell(ended, quiet=quiet, as_json=json_)
    if undecided := _for_want_of_the_plugin(ended):
        click.echo(undecided, err=True)
    if open_:
        open_in_browser(ended.page)
    ctx.exit(EXIT_FAILED if any(outcome.failed for outcome in ended.outcomes.values()) else 0)


def _register(study: "Study", seed: int, only: Sequence[str]) -> None:
    from gauntlet.studies import ledger, registration, reproduce

    reproduce.check_ledger(study, ledger.load(study.ledger))
    path = registration.register_anew(study, seed, only) if only else registration.register(study, seed)
    click.echo(f"Registered: {path}. Commit it before the study is played.")


@dataclass(frozen=True)
class _Ended:
    """What came out."""

    study: "Study"
    summary: "Summary"
    judged: Sequence["Judged"]
    advice: "Advice"
    page: Path
    outcomes: Mapping[str, "Outcome"]


def _list(as_json: bool) -> None:
    from rich.table import Table

    from gauntlet import studies
    from gauntlet.cli.output import console, print_json

    found = studies.studies()
    if as_json:
        print_json([{"key": it.key, "title": it.title, "citation": it.citation} for it in found.values()])
        return
    if not found:
        click.echo(f"No published study is here; {studies.NONE_HERE}")
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in ("study", "title"):
        table.add_column(heading, overflow="ellipsis", no_wrap=True)
    for it in found.values():
        table.add_row(it.key, it.title)
    console().print(table)


def _kept(study: "Study", named: str) -> None:
    """Raises UserError when no full run of a study is kept."""
    from gauntlet.errors import UserError
    from gauntlet.studies.summary import MANIFEST

    if (study.summary / MANIFEST).exists():
        return
    here, folder = Path.cwd().resolve(), study.summary.resolve()
    shown = folder.relative_to(here) if folder.is_relative_to(here) else folder
    raise UserError(
        f"No full run of `{study.key}` is kept yet ({shown}). A first look: `gauntlet reproduce {named}`; "
        f"everything: `gauntlet reproduce {named} --full --update-summary {shown}`."
    )


def _from_summary(study: "Study", out: Path, update: Path | None) -> _Ended:
    """Judge the committed summary; with `update` write the verdicts of now into that summary's folder."""
    from gauntlet.results.files import failures_named, json_bytes, write_whole
    from gauntlet.studies import judging, page, use
    from gauntlet.studies.summary import VERDICTS, Summary

    summary = Summary.load(study.summary, study.home)
    judged = judging.judge(study, summary)
    if update is not None:
        Summary.load(update)
        with failures_named(f"write {update / VERDICTS}"):
            write_whole(update / VERDICTS, json_bytes(judging.verdicts(study, judged)))
    advice = use.advice(study, summary)
    about = page.About(
        command=["gauntlet", *sys.argv[1:]],
        words="The committed summary of the last full run",
        advice=advice,
    )
    return _Ended(study, summary, judged, advice, page.write(study, summary, judged, out, about), {})


def _done_again(study: "Study", wishes: _Wishes) -> _Ended | None:
    """Play, reduce, judge, write; None when the user stopped it. What cannot be measured here is said and
    left out: its claims stay undecided.
    """
    from gauntlet.errors import UserError
    from gauntlet.studies import judging, ledger, page, reproduce, use
    from gauntlet.studies.summary import MANIFEST, Summary

    claims = ledger.load(study.ledger)
    todo = reproduce.tasks(study, quick=wishes.quick, only=wishes.only, repetitions=wishes.repetitions)
    benches = reproduce.bench_tasks(study, quick=wishes.quick, only=wishes.only)
    if wishes.play:
        reproduce.check_ledger(study, claims)
        benches, lacking = reproduce.ready(benches, wishes.out)
        if lacking and not (todo or benches):
            raise UserError(lacking[0])
        for sentence in lacking:
            click.echo(sentence, err=True)
    outcomes: Mapping[str, Outcome] = {}
    if wishes.play:
        try:
            outcomes = _play(study, todo, wishes)
            _measure(study, benches, wishes)
        except KeyboardInterrupt:
            click.echo(
                f"Stopped. What is finished is kept in {wishes.out}; the same command continues.", err=True
            )
            return None
    summary = reproduce.summarise(study, todo, wishes.out, benches)
    if wishes.update and wishes.only and (wishes.update / MANIFEST).exists():
        summary = Summary.load(wishes.update, study.home).updated(summary)
    judged = judging.judge(study, summary, claims)
    if wishes.update:
        summary.write(wishes.update, judging.verdicts(study, judged))
    words = "A first look at a subset of the study's runs" if wishes.quick else "The whole study"
    advice = use.advice(study, summary)
    about = page.About(["gauntlet", *sys.argv[1:]], words, quick=wishes.quick, advice=advice)
    place = page.write(study, summary, judged, wishes.out, about)
    return _Ended(study, summary, judged, advice, place, outcomes)


def _play(study: "Study", todo: Sequence["Task"], wishes: _Wishes) -> Mapping[str, "Outcome"]:
    from gauntlet.cli.output import campaign_progress
    from gauntlet.results import store
    from gauntlet.studies import reproduce

    planned = sum(len(task.specs) for task in todo)
    present = sum(len(store.done(task.folder(wishes.out)) & {it.id for it in task.specs}) for task in todo)
    with campaign_progress(study.key, planned, present, hidden=wishes.silent) as progress:
        return reproduce.play(
            todo,
            wishes.out,
            command=["gauntlet", *sys.argv[1:]],
            workers=wishes.workers,
            cluster=wishes.cluster,
            cached=wishes.cached,
            on_event=progress,
            on_experiment=progress.rename,
        )


def _measure(study: "Study", benches: Sequence["BenchTask"], wishes: _Wishes) -> None:
    """Measure on this machine's own kernel, after everything else: nothing may run beside it."""
    from gauntlet.metrics.numbers import listed
    from gauntlet.studies import reproduce

    def tell(name: str, words: str) -> None:
        if not wishes.silent:
            click.echo(f"{name}: {words}", err=True)

    known = reproduce.reckoned_s(study, benches, wishes.out)
    if not wishes.quick and any(known.values()):
        each = [f"{name} {'?' if it is None else f'{it / 60:.0f} min'}" for name, it in known.items()]
        whole_min = sum(it or 0.0 for it in known.values()) / 60
        tell(study.key, f"in the last full run these took {whole_min:.0f} min: {listed(each)}.")
    for sentence in reproduce.measure(benches, wishes.out, command=["gauntlet", *sys.argv[1:]], tell=tell):
        click.echo(sentence, err=True)


def _tell(ended: _Ended, *, quiet: bool, as_json: bool) -> None:
    from gauntlet.cli.output import console, print_json
    from gauntlet.studies import terminal

    if as_json:
        print_json(_as_data(ended))
    elif quiet:
        click.echo(str(ended.page))
    else:
        screen = console()
        screen.print(
            terminal.summary_of(ended.study, ended.judged, ended.summary, screen.width, ended.advice)
        )
        click.echo(f"Page: {ended.page}")
    for name, outcome in ended.outcomes.items():
        for note in outcome.notes:
            click.echo(f"{name}: {note}", err=True)
        for run, reason in list(outcome.failed.items())[:1]:
            others = len(outcome.failed) - 1
            more = f" ({others} more of this experiment; the page has all)" if others else ""
            click.echo(f"{name}: run {run} failed: {reason}{more}", err=True)


def _for_want_of_the_plugin(ended: _Ended) -> str:
    """What a plugin that was not run would have decided, in one sentence; empty when nothing is missing."""
    from gauntlet.metrics.numbers import listed
    from gauntlet.studies import judging
    from gauntlet.studies.plugin import PLUGIN

    claims = judging.want_plugin(ended.study, ended.judged)
    if not claims:
        return ""
    return (
        f"{ended.study.home / PLUGIN} is Python of the study's author and was not run, so these claims are "
        f"undecided: {listed(claims)}; read it, and add --trust-plugin when you trust it."
    )


def _as_data(ended: _Ended) -> dict[str, Any]:
    from gauntlet.studies import judging
    from gauntlet.studies.explained import explained

    return {
        "study": ended.study.key,
        "page": str(ended.page),
        "advice": ended.advice.to_json(),
        "counts": {
            group: {str(verdict): count for verdict, count in judging.counts(those).items()}
            for group, those in judging.grouped(ended.judged).items()
        },
        "not_reproduced": [it.to_json() for it in explained(ended.judged, ended.study.causes)],
        "claims": [
            {"id": it.claim.id, "claim": it.claim.claim, "where": it.claim.where, "printed": it.claim.printed}
            | it.to_json()
            for it in ended.judged
        ],
        "experiments": ended.summary.manifest(),
        "benches": ended.summary.bench_manifest(),
    }
