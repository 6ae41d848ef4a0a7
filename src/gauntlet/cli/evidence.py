"""`gauntlet evidence`: hand an assessor what a claim on a threat follows from, and check such a pack; say
what became of messages, and how often hazards bring threats.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gauntlet.evidence import Fate, Harmed

EXIT_IN_PART = 3
"""Of `verify`: nothing differs, and not all of it could be verified."""


@click.group(short_help="Evidence on threats to safety messages: packs, fates, and what hazards bring.")
def evidence() -> None:
    """Build and verify evidence packs on threats to safety messages; list the messages that something
    happened to; measure how often hazards bring threats.

    A pack is one zip: claim, requirement, test, raw logs and hashes, and a page for an assessor.

    \b
    Examples:
      gauntlet evidence build results/safety --out safety.zip
      gauntlet evidence verify safety.zip
      gauntlet evidence fates results/safety
      gauntlet evidence hazards results/hazard-bursts
    """


@evidence.command(short_help="Say what became of each message that did not come as it should.")
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--json", "json_", is_flag=True, help="Print it as JSON.")
def fates(*, results: Path, json_: bool) -> None:
    """Say of RESULTS, trial by trial, which messages did not come once, unchanged, in order and in time.

    RESULTS is a folder of an experiment with the application safety. Of each such message: what happened to
    it, when the application acted on it, and when somebody was told. Messages count from 1, as the `message`
    of a threat does. Trials that say nothing (invalid) are left out.

    \b
    Examples:
      gauntlet evidence fates results/safety
      gauntlet evidence fates results/safety --json
    """
    from gauntlet.cli.output import print_json
    from gauntlet.evidence import harmed

    if json_:
        print_json([_as_data(trial) for trial in harmed(results)])
        return
    clean = True
    for trial in harmed(results):
        clean = False
        click.echo(f"{trial.run}, flow {trial.flow}: {trial.verdict}")
        for it in trial.messages:
            click.echo(f"  {_fate(it)}")
    if clean:
        click.echo("Every message came once, unchanged, in order and in time.")


def _as_data(trial: "Harmed") -> dict[str, Any]:
    """A trial as data, its messages counted from 1."""
    from dataclasses import asdict

    told = asdict(trial)
    messages = [{"message": it.pop("number") + 1, **it} for it in told["messages"]]
    return {**told, "messages": messages}


def _fate(it: "Fate") -> str:
    """What became of a message, in words."""
    times = ((it.accepted_s, "acted on"), (it.wrong_accepted_s, "a wrong one in its place acted on"))
    acted = [f"{words} at {time_s:.2f} s" for time_s, words in times if time_s is not None]
    told = "nobody told" if it.signalled_s is None else f"told by {it.by} at {it.signalled_s:.2f} s"
    what = f"{', '.join(it.fates)}; {', '.join(acted) or 'never acted on'}; {told}"
    return f"message {it.number + 1}, sent at {it.sent_s:.2f} s: {what}"


@evidence.command(short_help="Make a pack from results.")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path), help="The zip to write.")
@click.option("--json", "json_", is_flag=True, help="Print what was built as JSON.")
def build(*, results: tuple[Path, ...], out: Path, json_: bool) -> None:
    """Make a pack from RESULTS: folders of experiments with the application safety, or of a study.

    The same results give the same bytes. The tree hash names the pack: tell it to whom you give the pack by
    another way than the pack itself.

    \b
    Examples:
      gauntlet evidence build results/safety --out safety.zip
      gauntlet evidence build results/en50159 --out en50159.zip --json
    """
    from dataclasses import asdict

    from gauntlet.cli.output import print_json
    from gauntlet.errors import UserError
    from gauntlet.evidence_pack import build as build_pack
    from gauntlet.metrics.numbers import counted

    if out.is_dir():
        raise UserError(f"--out {out} is a folder; name the zip to write, such as {out / 'evidence.zip'}.")
    built = build_pack(results, out)
    if json_:
        print_json(asdict(built))
        return
    click.echo(
        f"{built.pack}: {counted(built.claims, 'claim')} from {counted(built.runs, 'run')} of "
        f"{', '.join(built.experiments)}, {built.size_bytes / 1e6:.2f} MB."
    )
    for place in built.passed_over:
        click.echo(f"Passed over, for it is not about safety messages: {place}")
    click.echo(f"Tree hash: {built.tree_sha256}")


@evidence.command(short_help="Check a pack, and derive its verdicts again.")
@click.argument("pack", type=click.Path(path_type=Path))
@click.option("--tree", metavar="HASH", help="The tree hash that the builder told you.")
@click.option(
    "--replay", "again", default=0, type=click.IntRange(min=0), help="So many runs, drawn, are played again."
)
@click.option("--seed", metavar="NUMBER", default=1, show_default=True, help="Draws the runs of --replay.")
@click.option("--run", "runs", multiple=True, metavar="EXPERIMENT/RUN", help="A run to play again.")
@click.option(
    "--page", type=click.Path(path_type=Path), help="Write the page that this version makes of the logs."
)
@click.option("--json", "json_", is_flag=True, help="Print what was found as JSON.")
def verify(
    *,
    pack: Path,
    tree: str | None,
    again: int,
    seed: int,
    runs: tuple[str, ...],
    page: Path | None,
    json_: bool,
) -> int:
    """Check hashes and completeness of PACK, and derive every verdict again from its logs.

    Nothing but the pack is read, and no kernel is needed; --replay and --run play runs again and compare
    bytes, which needs one. Each difference is a sentence. Exit codes: 0 the pack holds, 1 it does not, 2 the
    file is no pack, 3 it holds in part: nothing differs, and not all of it could be verified.

    \b
    Examples:
      gauntlet evidence verify safety.zip
      gauntlet evidence verify safety.zip --replay 3 --seed 7
      gauntlet evidence verify safety.zip --run safety/udp_freshness-on_threat-late_rep-001
      gauntlet evidence verify safety.zip --page page.html --json
    """
    from dataclasses import asdict

    from gauntlet.cli.failure import EXIT_FAILED
    from gauntlet.cli.output import print_json
    from gauntlet.evidence_pack import verify as verify_pack
    from gauntlet.evidence_pack.verify import HOLDS, IN_PART, NOT
    from gauntlet.metrics.numbers import counted

    found = verify_pack(pack, tree=tree, again=again, seed=seed, runs=runs, page=page)
    if json_:
        print_json({"holds": found.holds, "outcome": found.outcome, **asdict(found)})
    else:
        for it in found.differences:
            click.echo(it)
        for it in found.unverified:
            click.echo(f"Not verified: {it}")
        for run in found.replayed:
            if run.same:
                click.echo(run.words)
        for note in found.notes:
            click.echo(note, err=True)
        if found.page is not None:
            click.echo(f"{found.page}: the page that this version makes of the logs.")
        whole = (
            f"{counted(found.files, 'file')} as packed, and the verdicts of "
            f"{counted(found.trials, 'trial')} in {counted(found.claims, 'claim')} follow from their logs"
        )
        words = {
            HOLDS: whole,
            IN_PART: f"{whole}, but {counted(len(found.unverified), 'thing')} said above could not be "
            "verified",
            NOT: counted(len(found.differences), "difference"),
        }
        click.echo(f"{pack} {found.outcome}: {words[found.outcome]}.")
        click.echo(f"Tree hash: {found.tree_sha256}")
        # One that does not hold may well bear the hash of the pack that it was.
        if tree is None and found.outcome != NOT:
            click.echo("Compare it with the one that the builder told you, or give it with --tree.")
    return {HOLDS: 0, IN_PART: EXIT_IN_PART, NOT: EXIT_FAILED}[found.outcome]


@evidence.command(short_help="Say how often hazards of a line bring the seven threats.")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "json_", is_flag=True, help="Print every frequency as JSON.")
def hazards(*, results: tuple[Path, ...], json_: bool) -> None:
    """Say how often messages in RESULTS met each of EN 50159's threats though nobody attacked.

    RESULTS are folders of experiments with the application safety and a hazard on the line, such as
    experiments/hazard-*.toml. For each hazard and transport: the share of messages, its interval by
    repetition or, where none was met, the bound 3/N; and what became of them.

    \b
    Examples:
      gauntlet evidence hazards results/hazard-bursts
      gauntlet evidence hazards results/hazard-*
      gauntlet evidence hazards results/hazard-bursts --json
    """
    from dataclasses import asdict

    from gauntlet.cli.output import console, print_json
    from gauntlet.hazards import measured
    from gauntlet.hazards.terminal import shown

    found = measured(results)
    if json_:
        print_json({"sil_claimed": False, "hazards": [asdict(it) for it in found]})
        return
    console().print(shown(found))
