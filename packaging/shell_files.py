"""Writes what shells and `man` read of the command line: completion scripts and manual pages, made from it.

Usage: python shell_files.py FOLDER (`share` of an installation). Equal command lines give equal bytes.
"""

import re
import sys
from pathlib import Path

from click_man.core import write_man_pages

import gauntlet
from gauntlet.cli import main
from gauntlet.cli.completion import script

DATED = "2020-01-01"
"""As everything in wheels (scripts/wheels/build.py)."""

PLACES = {
    "bash": "bash-completion/completions/gauntlet",
    "zsh": "zsh/site-functions/_gauntlet",
    "fish": "fish/vendor_completions.d/gauntlet.fish",
}
"""Where each shell looks for the script of a command, below `share`."""

_EXAMPLES = re.compile(r"(^  gauntlet .*\n)+", re.MULTILINE)


def write(share: Path) -> None:
    """Write all of it below `share`; what else lies there is left alone."""
    for shell, name in PLACES.items():
        place = share / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{script(main, shell).strip()}\n", encoding="utf-8")
    pages = share / "man" / "man1"
    pages.mkdir(parents=True, exist_ok=True)
    write_man_pages("gauntlet", main, version=gauntlet.__version__, target_dir=str(pages), date=DATED)
    for page in pages.iterdir():
        # Commands are to stay as they are typed, not filled to the width of the page.
        text = _EXAMPLES.sub(r".nf\n\g<0>.fi\n", page.read_text(encoding="utf-8"))
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
