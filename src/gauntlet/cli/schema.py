"""`gauntlet schema`: the experiment file's JSON Schema, for editors."""

import json
from pathlib import Path

import click


@click.command(short_help="Write the experiment file's schema for editors.")
@click.option("--out", type=click.Path(path_type=Path), help="Write it there (default: standard output).")
def schema(out: Path | None) -> None:
    """Write the JSON Schema of the experiment file: editors then complete its keys and mark mistakes.

    Even Better TOML (VS Code) and Taplo find it by the first line of an experiment file:
    `#:schema gauntlet.schema.json`.

    \b
    Example:
      gauntlet schema --out gauntlet.schema.json
    """
    from gauntlet.experiment.json_schema import experiment_schema
    from gauntlet.results.files import failures_named, write_whole

    text = json.dumps(experiment_schema(), indent=2, ensure_ascii=False) + "\n"
    if out is None:
        click.echo(text, nl=False)
        return
    with failures_named(f"write {out}"):
        write_whole(out, text.encode())
