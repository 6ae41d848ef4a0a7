"""`gauntlet show`: the packets of a run as one end saw them."""

from pathlib import Path

import click


@click.command(short_help="Show the packets of a run as one end saw them.")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--tap", metavar="PLACE", help="train, trackside, a node of your network, or a tapped link.")
@click.option("--out", type=click.Path(path_type=Path), help="The file; without it RUN-PLACE.pcapng, here.")
@click.option("--open", "open_", is_flag=True, help="Open it in Wireshark.")
def show(run: Path, *, tap: str | None, out: Path | None, open_: bool) -> None:
    """Write the packets of a run as one end saw them, for Wireshark and its kin, and print the file's name.

    RUN is the folder of a run that was played with --capture. Without --tap the places are listed at which
    packets were captured: the whole capture has each packet once for every place that it passed, which
    Wireshark takes for repetitions.

    \b
    Examples:
      gauntlet show results/first/runs/tcp-bbr_loss-0pct_rep-001
      gauntlet show results/first/runs/tcp-bbr_loss-0pct_rep-001 --tap train --open
    """
    from gauntlet.errors import UserError
    from gauntlet.results import layout, tapped
    from gauntlet.results.files import failures_named, read_json

    if not (run / layout.RECORD).is_file():
        raise UserError(f"{run}: no run is there; give its folder, RESULTS/runs/RUN.")
    capture = run / layout.CAPTURE
    if not capture.is_file():
        raise UserError(f"{run}: its packets were not kept; play it again with --capture.")
    record = read_json(run / layout.RECORD, "the record")
    plan = read_json(run / layout.PLAN, "the plan")
    if tap is None:
        if out is not None or open_:
            raise UserError("--tap says which packets; add it.")
        for place in tapped.ends(plan):
            click.echo(f"{place}: {', '.join(tapped.links_of(place, record, plan))}")
        for link in record["taps"]:
            click.echo(f"{link['link']}: {link['captured_packets']:,} packets")
        return
    target = out or Path(f"{run.resolve().name}-{tap.replace('>', '-to-')}.pcapng")
    links = tapped.links_of(tap, record, plan)
    with failures_named(f"write {target}"):
        count = tapped.select(capture, target, links, tapped.arriving_at(tap, record, plan))
    click.echo(f"{count:,} packets of {' and '.join(links)}.", err=True)
    click.echo(str(target))
    if open_:
        _open(target)


def _open(file: Path) -> None:
    import shutil
    import subprocess

    from gauntlet.errors import UserError

    wireshark = shutil.which("wireshark")
    if wireshark is None:
        raise UserError(f"There is no wireshark on this machine; install it, and open {file}.")
    # It stays open after this command has ended.
    subprocess.Popen([wireshark, str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
