"""What every benchmark here is as a program: its options, its JSON, its one sentence when it fails."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from gauntlet.errors import GauntletError

ROOT = Path(__file__).resolve().parents[2]


def options(name: str, what: str, short: str) -> argparse.ArgumentParser:
    """A parser with the options that all have: `--short` (`short` says what it leaves out) and `--json`."""
    parser = argparse.ArgumentParser(prog=f"benchmarks/{name}.py", description=what)
    parser.add_argument("--short", action="store_true", help=f"{short}: tries everything, measures nothing")
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help=f"where the figures go (build/bench-{name}.json; with --short nowhere unless named)",
    )
    parser.set_defaults(name=name)
    return parser


def write(figures: Mapping[str, Any], chosen: argparse.Namespace) -> None:
    """Write the figures as JSON where the options say."""
    file = chosen.json or (None if chosen.short else ROOT / "build" / f"bench-{chosen.name}.json")
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(figures, indent=2) + "\n")


def end(main: Callable[[], None]) -> NoReturn:
    """Run a benchmark and end the process: with 0, or with the sentence of what went wrong."""
    try:
        main()
    except GauntletError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Stopped.")
    sys.exit(0)
