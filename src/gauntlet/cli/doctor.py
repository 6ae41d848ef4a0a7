"""`gauntlet doctor`: what this machine can do, and how to mend what is missing."""

import click

from gauntlet.cli.failure import EXIT_FAILED


@click.command(short_help="See what this machine can do.")
@click.option("--json", "json_", is_flag=True, help="Print the checks as JSON.")
@click.pass_context
def doctor(ctx: click.Context, json_: bool) -> None:
    """Try what guests need of this machine, and say how to mend what it lacks.

    `ok` is as it should be, `note` is worth knowing, `fails` keeps runs from being played; exit code 1 then.

    \b
    Examples:
      gauntlet doctor
      gauntlet doctor --json
    """
    import dataclasses

    from gauntlet.cli.output import console, print_json
    from gauntlet.engine.doctor import checks

    found = checks()
    if json_:
        print_json([dataclasses.asdict(check) for check in found])
    else:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        table.add_column()
        table.add_column()
        table.add_column(overflow="fold")  # a path is of no use with its end cut off
        for check in found:
            mark = "[green]ok[/]" if check.ok else "[red]fails[/]" if check.required else "[yellow]note[/]"
            said = Text(check.detail)
            if not check.ok:
                said.append(f"\n→ {check.remedy}", style="bold")
            table.add_row(mark, check.name, said)
        console().print(table)
    if any(check.required and not check.ok for check in found):
        ctx.exit(EXIT_FAILED)
