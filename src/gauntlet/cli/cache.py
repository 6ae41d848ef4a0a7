"""`gauntlet cache`: what is in the cache of runs, and making room in it."""

import datetime
from pathlib import Path

import click


@click.group(short_help="See or empty the cache of runs.")
def cache() -> None:
    """See or empty the cache of runs: finished runs by their key, shared by all experiments.

    A run whose plan, files and engine are those of a run in the cache is taken from it and not played again.
    Everything in it can be played anew, so nothing is lost by removing it. GAUNTLET_CACHE_LIMIT sets its size
    (10GB unless set; 0B switches it off): what was not used for longest goes first.

    \b
    Examples:
      gauntlet cache size
      gauntlet cache prune --size 2GB
      gauntlet cache clear
    """


@cache.command(short_help="Print where the cache is.")
def where() -> None:
    """Print the folder of the cache.

    \b
    Example:
      gauntlet cache where
    """
    from gauntlet.executor.cache import Cache

    click.echo(str(Cache.of_user().folder))


@cache.command(short_help="Print how much is in the cache.")
def size() -> None:
    """Print how many runs are in the cache, what they take and what they may take.

    \b
    Example:
      gauntlet cache size
    """
    from gauntlet.executor.cache import Cache

    found = Cache.of_user()
    entries = found.entries()
    taken = _size(sum(entry.size_bytes for entry in entries))
    click.echo(f"{_runs(len(entries))}, {taken} of at most {_size(found.limit_bytes)}")


@cache.command("list", short_help="List the runs in the cache.")
@click.option("--json", "json_", is_flag=True, help="Print them as JSON.")
def list_(json_: bool) -> None:
    """List the runs in the cache, the one used last first: key, size, last use, what was played.

    \b
    Examples:
      gauntlet cache list
      gauntlet cache list --json
    """
    from gauntlet.cli.output import print_json
    from gauntlet.executor.cache import Cache

    entries = Cache.of_user().entries()[::-1]
    if json_:
        print_json(
            [
                {
                    "key": entry.key,
                    "size_bytes": entry.size_bytes,
                    "used": _instant(entry.used_at_s),
                    "flows": _flows(entry.folder),
                }
                for entry in entries
            ]
        )
        return
    for entry in entries:
        flows = ", ".join(_flows(entry.folder))
        click.echo(f"{entry.key[:16]}  {_size(entry.size_bytes):>8}  {_instant(entry.used_at_s)}  {flows}")


@cache.command(short_help="Remove what was not used for longest.")
@click.option("--size", "size_", metavar="SIZE", help="What may be left (default: the cache's limit).")
def prune(size_: str | None) -> None:
    """Remove the runs that were not used for longest, until at most SIZE is left.

    \b
    Examples:
      gauntlet cache prune
      gauntlet cache prune --size 500MB
    """
    from gauntlet import units
    from gauntlet.executor.cache import Cache

    found = Cache.of_user()
    limit_bytes = found.limit_bytes if size_ is None else units.size_bytes(size_, "--size")
    gone = found.prune(limit_bytes)
    click.echo(f"{_runs(len(gone))} removed, {_size(sum(entry.size_bytes for entry in gone))}")


@cache.command(short_help="Remove everything.")
def clear() -> None:
    """Remove every run from the cache.

    \b
    Example:
      gauntlet cache clear
    """
    from gauntlet.executor.cache import Cache

    gone = Cache.of_user().prune(0)
    click.echo(f"{_runs(len(gone))} removed, {_size(sum(entry.size_bytes for entry in gone))}")


def _instant(since_1970_s: float) -> str:
    """UTC, to the second."""
    return f"{datetime.datetime.fromtimestamp(since_1970_s, datetime.UTC):%Y-%m-%dT%H:%M:%SZ}"


def _flows(folder: Path) -> list[str]:
    """What a run in the cache played; of one that cannot be read, nothing."""
    from gauntlet.errors import RunError
    from gauntlet.executor.bundle import Bundle

    try:
        return [str(flow) for flow in Bundle.read(folder).facts.get("flows", ())]
    except RunError:
        return []


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _size(count_bytes: int) -> str:
    """Three digits, in decimal prefixes."""
    from gauntlet import units

    digits = max(0, len(str(count_bytes)) - 3)
    return units.format_size(round(count_bytes, -digits))
