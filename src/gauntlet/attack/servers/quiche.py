"""quiche in two versions under one web server over HTTP/3 (`controls/quiche`): an old one, which lacks bounds
that lie inside a library, as a positive control, and one that has them.

`scripts/quiche.sh` builds both.
"""

import subprocess
from functools import cache
from pathlib import Path

from gauntlet.attack.kinds import H3
from gauntlet.attack.servers.contract import OFF, Launch, Server, Wanted
from gauntlet.engine import cache_folder
from gauntlet.errors import UserError


def _program(build: str) -> Path:
    found = cache_folder() / "quiche" / build
    if not found.is_file():
        raise UserError(
            "quiche's server is not built; in a working copy, `scripts/quiche.sh` builds it (some minutes)."
        )
    return found


@cache
def _version(program: Path) -> str:
    """The version of the library, as the program tells it."""
    done = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=False)
    words = done.stdout.split()
    return words[1] if len(words) == 2 else "unknown"


def _server(key: str, build: str, words: str) -> Server:
    def launch(wanted: Wanted) -> Launch:
        return Launch(
            [
                str(_program(build)),
                "--listen", str(wanted.address),
                "--certificate", str(wanted.chain.certificate),
                "--key", str(wanted.chain.key),
            ],
            tells=False,
        )  # fmt: skip

    def ready() -> None:
        _program(build)

    return Server(
        key=key,
        words=words,
        protocols=(H3,),
        defences={OFF: (H3,)},
        ready=ready,
        version=lambda: _version(_program(build)),
        launch=launch,
        tightens=False,
    )


QUICHE_OLD = _server("quiche-old", "old", "quiche 0.19.0")
QUICHE = _server("quiche", "later", "quiche 0.24.9")
