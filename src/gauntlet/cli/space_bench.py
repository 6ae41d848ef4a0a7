"""`gauntlet space bench`: what the security of a command link costs on this machine."""

from pathlib import Path

import click


@click.command("bench", short_help="Measure what the security of a command link costs.")
@click.option("--quick", is_flag=True, help="Fewer samples: five minutes instead of nine hours.")
@click.option("--seed", default=1, show_default=True, help="Order of what is measured.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("results/space-bench"), show_default=True,
    help="Folder of samples and summary; one that was begun goes on.",
)  # fmt: skip
@click.option("--json", "json_", is_flag=True, help="Print the summary as JSON.")
def bench(quick: bool, seed: int, out: Path, json_: bool) -> None:
    """Measure SDLS, QUIC, TLS, DTLS and ResTP on this machine, in real time.

    Messages after gaps, handshakes, memory, instructions, code, and attacks. Keeps every sample (Parquet)
    with a description of the machine. Prints a row for each security, and then side by side what a published
    study of QUIC and SDLS has (see `gauntlet reproduce space`), its method done again, and the corrected
    value. Stop whenever you like: the
    same command goes on. An idle machine gives better numbers.

    Needs flight-bench and flight-memory: cargo build --profile measure -p flight-links.

    \b
    Examples:
      gauntlet space bench --quick
      gauntlet space bench --out results/space-bench-full
    """
    from gauntlet.cli.output import print_json
    from gauntlet.cli.space_bench_tables import published, securities
    from gauntlet.space.bench import bench as measure

    found = measure(out, quick, seed, lambda sentence: click.echo(sentence, err=True))
    if json_:
        print_json(found)
        return
    for line in (*securities(found["tables"]), "", *published(found["tables"]["published"]), ""):
        click.echo(line)
    click.echo(f"Samples and summary: {out}")
