"""`gauntlet doctor`: what this machine can do, and how to mend what is missing."""

import click

from gauntlet.cli.failure import EXIT_FAILED


@click.command(short_help="See what this machine can do.")
@click.option("--json", "json_", is_flag=True, help="Print the checks as JSON.")
@click.pass_context
def doctor(ctx: click.Context, json_: bool) -> None:
    """Check this machine and say how to mend what is missing.

    Exit code 1 when something that runs depend on is missing.

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

        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        table.add_column()
        table.add_column()
        table.add_column(overflow="fold")  # a path is of no use with its end cut off
        for check in found:
            mark = "[green]ok[/]" if check.ok else "[red]missing[/]" if check.required else "[yellow]note[/]"
            table.add_row(mark, check.name, check.detail if check.ok else f"{check.detail}\n{check.remedy}")
        console().print(table)
    if any(check.required and not check.ok for check in found):
        ctx.exit(EXIT_FAILED)
