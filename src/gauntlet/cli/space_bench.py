"""`gauntlet space bench`: what the security of a command link costs on this machine."""

from pathlib import Path

import click


@click.command("bench", short_help="Measure what the security of a command link costs.")
@click.option("--quick", is_flag=True, help="Fewer samples: some minutes instead of many hours.")
@click.option("--seed", default=1, show_default=True, help="Order of what is measured.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("results/space-bench"), show_default=True,
    help="Folder for the samples; it must not be there yet.",
)  # fmt: skip
@click.option("--json", "json_", is_flag=True, help="Print the summary as JSON.")
def bench(quick: bool, seed: int, out: Path, json_: bool) -> None:
    """Measure SDLS, QUIC, TLS and ResTP on this machine, in real time.

    Messages after gaps, handshakes, memory, and attacks. Keeps every sample (Parquet) with a description of
    the machine, and prints the study's numbers, its method done again and what is right, side by side. An
    idle machine gives better numbers.

    \b
    Examples:
      gauntlet space bench --quick
      gauntlet space bench --out results/space-bench-full
    """
    from gauntlet.cli.output import console, print_json
    from gauntlet.space.bench import bench as measure

    tables = measure(out, quick, seed, lambda sentence: click.echo(sentence, err=True))
    if json_:
        print_json(tables)
        return
    from rich.table import Table

    table = Table("", "published us", "method again us", "n", "corrected us", "95 % interval", box=None)
    for row in tables["three_columns"]:
        interval = [row["corrected_low_us"], row["corrected_high_us"]]
        table.add_row(
            row["what"],
            f"{row['published_us']:g}",
            _number(row["method_again_us"]),
            str(row["method_again_n"]),
            _number(row["corrected_us"]),
            "" if None in interval else " to ".join(map(_number, interval)),
        )
    console().print(table)
    click.echo(f"Samples and summary: {out}")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
