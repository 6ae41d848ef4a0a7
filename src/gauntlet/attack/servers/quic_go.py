"""quic-go in two versions under one web server over HTTP/3 (`controls/quic-go`): an old one, which lacks
bounds that lie inside a library, as a positive control, and a current one, which has them.

`scripts/quic-go.sh` builds both.
"""

from pathlib import Path

from gauntlet.attack.kinds import H3
from gauntlet.attack.servers.contract import OFF, Launch, Server, Wanted
from gauntlet.engine import cache_folder
from gauntlet.errors import UserError


def _program(build: str) -> Path:
    found = cache_folder() / "quic-go" / build
    if not found.is_file():
        raise UserError(
            "quic-go's server is not built; in a working copy, `scripts/quic-go.sh` builds it (a minute; Go)."
        )
    return found


def _version(build: str) -> str:
    """The version of the library, as the program has it within (debug/buildinfo)."""
    content = _program(build).read_bytes()
    for line in content.split(b"\n"):
        words = line.split(b"\t")
        if words[:2] == [b"dep", b"github.com/quic-go/quic-go"]:
            return words[2].decode()
    return "unknown"


def _server(key: str, build: str, words: str) -> Server:
    def launch(wanted: Wanted) -> Launch:
        return Launch(
            [
                str(_program(build)),
                "-listen", str(wanted.address),
                "-certificate", str(wanted.chain.certificate),
                "-key", str(wanted.chain.key),
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
        version=lambda: _version(build),
        launch=launch,
        tightens=False,
    )


QUIC_GO_OLD = _server("quic-go-old", "old", "quic-go of 2023")
QUIC_GO = _server("quic-go", "current", "quic-go")
