"""Caddy, where it is installed: HTTP/1.1 and 2 by Go's library, HTTP/3 by quic-go, TLS by Go's crypto/tls."""

import shutil
import subprocess

from gauntlet.attack.kinds import PROTOCOLS
from gauntlet.attack.servers.contract import OFF, TIGHT_S, Launch, Server, Wanted, write_files
from gauntlet.errors import UserError

_TIGHT = f"""\
    servers {{
        timeouts {{
            read_header {TIGHT_S}s
            read_body {TIGHT_S}s
        }}
    }}
"""


def configuration(wanted: Wanted) -> str:
    """The Caddyfile that it is started with."""
    tight = _TIGHT if wanted.tight else ""
    return f"""\
{{
    admin off
    auto_https off
{tight}}}
https://:{wanted.address.port} {{
    bind {wanted.address.host}
    tls {wanted.chain.certificate} {wanted.chain.key}
    root * {wanted.folder}/files
    file_server
}}
"""


def _program() -> str:
    found = shutil.which("caddy")
    if found is None:
        raise UserError("caddy is not installed (Debian: caddy).")
    return found


def _launch(wanted: Wanted) -> Launch:
    write_files(wanted.folder / "files")
    file = wanted.folder / "Caddyfile"
    file.write_text(configuration(wanted), encoding="utf-8")
    # What it would keep in the user's folders goes with the run.
    kept = [f"XDG_DATA_HOME={wanted.folder}", f"XDG_CONFIG_HOME={wanted.folder}"]
    return Launch(
        ["env", *kept, _program(), "run", "--adapter", "caddyfile", "--config", str(file)], tells=False
    )


def _version() -> str:
    done = subprocess.run([_program(), "version"], capture_output=True, text=True, check=False)
    return done.stdout.split()[0] if done.stdout.split() else "unknown"


def _ready() -> None:
    _program()


CADDY = Server(
    key="caddy",
    words="Caddy",
    protocols=tuple(PROTOCOLS),
    defences={OFF: tuple(PROTOCOLS)},
    ready=_ready,
    version=_version,
    launch=_launch,
)
