"""`gauntlet compare`: two results side by side."""

from pathlib import Path

import click


@click.command(short_help="Lay two results side by side, run by run.")
@click.argument("before", metavar="A", type=click.Path(path_type=Path))
@click.argument("after", metavar="B", type=click.Path(path_type=Path))
@click.option("--kpi", help="What to compare by (default: what the flows are judged by).")
@click.option(
    "--pair",
    "pairs",
    multiple=True,
    metavar="OLD=NEW",
    help="The protocol NEW of B stands for OLD of A; only these are compared.",
)
@click.option("--json", "json_", is_flag=True, help="Print the comparison as JSON.")
def compare(before: Path, after: Path, *, kpi: str | None, pairs: tuple[str, ...], json_: bool) -> None:
    """Lay the results in the folders A and B side by side: before and after a kernel, a stack, a setting.

    Each run of B is paired with the run of A that has the same protocol, conditions and repetition and met
    the same draws, so that what a stretch of line does to both cancels out. What the two differ in besides
    (kernel, versions, keys of the experiment, parameters and files of programs) stands above the numbers.

    \b
    Examples:
      gauntlet compare results/before results/after
      gauntlet compare results/before results/after --kpi throughput_bps
      gauntlet compare results/own results/own --pair build-1=build-2
    """
    from gauntlet import report
    from gauntlet.cli.output import console, print_json
    from gauntlet.errors import UserError
    from gauntlet.report.changed import between, changed
    from gauntlet.report.compared import compared
    from gauntlet.report.side_by_side import side_by_side

    alike = before.resolve() == after.resolve()
    if alike and not pairs:
        raise UserError(
            f"A and B are one folder ({before}); say with --pair OLD=NEW which of its protocols stand for "
            "each other."
        )
    one, other = report.load(before), report.load(after)
    found = compared(one, other, kpi=kpi, pairs=_pairs(pairs))
    changes = [] if alike else changed(one.results, other.results)
    if pairs:
        changes += between(one.results, other.results, (line.runs for line in found.lines))
    if json_:
        print_json({**found.to_json(), "a": str(before), "b": str(after), "changes": changes})
    else:
        console().print(side_by_side(found, changes, (str(before), str(after))), crop=False)


def _pairs(texts: tuple[str, ...]) -> dict[str, str]:
    from gauntlet.errors import UserError

    found: dict[str, str] = {}
    for text in texts:
        old, equals, new = text.partition("=")
        if not (old and equals and new):
            raise UserError(
                f"--pair: '{text}' names no two protocols; write OLD=NEW, such as build-1=build-2."
            )
        if old in found:
            raise UserError(f"--pair: '{old}' stands twice; each protocol of A has one of B.")
        found[old] = new
    return found
