"""`gauntlet report`: make and show the report of a results folder."""

from pathlib import Path

import click


@click.command(short_help="Make the report of results, show its answer.")
@click.argument("results", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Report file (default: RESULTS/report.html).")
@click.option("--classes", type=click.Path(path_type=Path), help="Classes of service to advise by (TOML).")
@click.option("--svg-dir", type=click.Path(path_type=Path), help="Write every figure as SVG there, too.")
@click.option("--png-dir", type=click.Path(path_type=Path), help="Write every figure as PNG there, too.")
@click.option("--open", "open_", is_flag=True, help="Open the report in the browser.")
@click.option("--quiet", is_flag=True, help="Print only the path of the report.")
@click.option("--json", "json_", is_flag=True, help="Print the answer as JSON.")
def report(
    *,
    results: Path,
    out: Path | None,
    classes: Path | None,
    svg_dir: Path | None,
    png_dir: Path | None,
    open_: bool,
    quiet: bool,
    json_: bool,
) -> None:
    """Make the report of the folder RESULTS and print its answer.

    \b
    Examples:
      gauntlet report results/hsr-cbr --open
      gauntlet report results/hsr-cbr --svg-dir figures
      gauntlet report results/hsr-cbr --classes classes.toml
      gauntlet report results/hsr-cbr --json
    """
    from gauntlet import report as pages
    from gauntlet.cli.output import console, open_in_browser, print_json

    page = pages.build(results, out, svg_dir=svg_dir, png_dir=png_dir, classes=classes)
    if json_:
        print_json({"report": str(page), "answer": pages.summary(results, classes)})
    elif quiet:
        click.echo(str(page))
    else:
        from gauntlet.report import terminal

        console().print(terminal.summary(results, classes), crop=False)
        click.echo(f"Report: {page}")
    if open_:
        open_in_browser(page)
