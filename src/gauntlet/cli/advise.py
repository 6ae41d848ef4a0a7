"""`gauntlet advise`: which transport for a class of service, from what the published studies measured."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gauntlet.studies.asked import Row

_NO_SAFETY = (
    "This is speed and loss, no safety: which threats of EN 50159 a protocol meets is another question, and "
    "`gauntlet assess --all` answers it."
)


@click.command(short_help="Say which transport serves a class of service, and why.")
@click.option(
    "--class",
    "service",
    help="One class with every condition, such as critical-data (default: all, in short).",
)
@click.option(
    "--scenario",
    help="The line, such as regional or metro-a (default: the one that each study's table rests on).",
)
@click.option(
    "--delay",
    help="The channel's delay, one way, such as 50ms; between two that were measured, both count.",
)
@click.option("--loss", help="The channel's loss, such as 1%; likewise.")
@click.option(
    "--classes",
    "file",
    type=click.Path(path_type=Path),
    help="Rules of your own: a changed copy of a study's classes.toml.",
)
@click.option("--json", "json_", is_flag=True, help="Print everything as JSON.")
def advise(
    *,
    service: str | None,
    scenario: str | None,
    delay: str | None,
    loss: str | None,
    file: Path | None,
    json_: bool,
) -> None:
    """Say which transport, and which application protocol, serves a class of service.

    From the committed summaries of the published studies: AB4Rail D3.4's Table 9 and D3.5's Table 11,
    measured. The summaries stand in a clone and come with the wheel gauntlet-net-studies.

    Each answer has its interval, the margin to the limit and the need that decides; what the signs mean
    stands below the answers. The rules are data: each study's classes.toml (docs/formats/study.md). Nothing
    is played. This is speed and loss, no safety: gauntlet assess has that half.

    \b
    Examples:
      gauntlet advise                                    both tables
      gauntlet advise --class critical-data --scenario hsr
      gauntlet advise --class critical-data --scenario hsr --delay 50ms --loss 1%
      gauntlet advise --class signalling --scenario metro-a --json
      gauntlet advise --classes own-classes.toml         by limits of your own
    """
    from gauntlet import studies, units
    from gauntlet.cli.output import print_json
    from gauntlet.studies.asked import Question, rows, with_classes

    question = Question(
        service,
        scenario,
        units.time_s(delay, "--delay") if delay else None,
        units.fraction(loss, "--loss") if loss else None,
    )
    known = list(studies.studies().values())
    found = rows(question, known if file is None else [with_classes(file, known)])
    if json_:
        print_json([_as_data(it) for it in found])
        return
    _show(found, whole=service is not None)


def _show(found: "Sequence[Row]", *, whole: bool) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from gauntlet.advice import terminal, words
    from gauntlet.cli.output import console

    screen = console()
    title = ""
    for row in found:
        if row.study.title != title:
            screen.print(Text.assemble("\n" if title else "", (row.study.title, "bold underline")))
            title = row.study.title
        where = f", line {', '.join(row.scenarios)}" if row.scenarios else ""
        screen.print(Text.assemble("\n", (row.name, "bold"), f" ({row.by}{where})"))
        if row.grid is None:
            screen.print(Padding(Text(row.silent), (0, 0, 0, 2)))
            continue
        service = row.grid.service
        said = [f"Needs: {'; '.join(words.asked(need) for need in service.needs)}."]
        if service.study:
            here = words.names(service.study)
            printed = f"{service.printed} (here: {here})" if service.printed else here
            said.append(f"{row.by} recommends {printed}.")
        if row.between:
            said.append(row.between)
        if row.calibrated:
            said.append(f"Rests on what was calibrated: {', '.join(it.name for it in row.calibrated)}.")
        screen.print(Padding(Text("\n".join(said), style="dim"), (0, 0, 0, 2)))
        screen.print(
            Padding(Text(words.answer(row.grid)) if whole else terminal.in_short(row.grid), (0, 0, 0, 2))
        )
        if whole:
            screen.print(Padding(terminal.cells(row.grid), (0, 0, 0, 2)))
    if grids := [row.grid for row in found if row.grid is not None]:
        screen.print(Padding(terminal.legend(grids), (1, 0, 1, 0)))
        screen.print(Text(_NO_SAFETY))


def _as_data(row: "Row") -> dict[str, Any]:
    from gauntlet.advice.use import class_json
    from gauntlet.studies.asked import slug

    about = {
        "study": row.study.key,
        "class": row.name,
        "asked_as": slug(row.name),
        "scenarios": list(row.scenarios),
    }
    if row.grid is None:
        return {**about, "advice": None, "why_not": row.silent}
    return {
        **about,
        "between": row.between or None,
        "advice": class_json(row.grid, row.calibrated),
        "why_not": None,
    }
