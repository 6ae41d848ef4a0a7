"""nginx, the server of the study (key ATTACK): one worker, HTTP/3 and TLS by one OpenSSL.

HTTP/3 came with 1.25, and distributions build it without: `scripts/nginx.sh` builds Debian 13's.
"""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from gauntlet.attack.kinds import H2, H3, PROTOCOLS
from gauntlet.attack.servers.contract import OFF, RETRY, TIGHT_S, Launch, Server, Wanted, write_files
from gauntlet.engine import cache_folder
from gauntlet.errors import UserError

_VARIABLE = "GAUNTLET_NGINX"
_LEAST = (1, 25)
_MODULE = "http_v3_module"
_TIGHT = ("client_header", "client_body", "send", "keepalive")


def configuration(wanted: Wanted) -> str:
    """The file that nginx is started with. It has nothing to do with what the machine's own nginx serves."""
    tcp = "" if wanted.protocol == H3 else f"listen {wanted.address} ssl;"
    quic = f"listen {wanted.address} quic;" if wanted.protocol == H3 else ""
    folder = wanted.folder
    temporary = "\n    ".join(
        f"{name}_temp_path {folder}/temporary;"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    tight = "".join(f"{name}_timeout {TIGHT_S}s; " for name in _TIGHT) if wanted.tight else ""
    return f"""\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 32768; }}
http {{
    access_log off;
    {temporary}
    ssl_protocols TLSv1.3;
    ssl_certificate {wanted.chain.certificate};
    ssl_certificate_key {wanted.chain.key};
    server {{
        {tcp}{quic}
        http2 {"on" if wanted.protocol == H2 else "off"};
        http3 {"on" if wanted.protocol == H3 else "off"};
        quic_retry {"on" if wanted.defence == RETRY else "off"};
        {tight}
        root {folder}/files;
    }}
}}
"""


def _launch(wanted: Wanted) -> Launch:
    files = wanted.folder / "files"
    write_files(files)
    # Its worker may be nobody.
    for folder in (wanted.folder, files, *(it for it in files.iterdir() if it.is_dir())):
        folder.chmod(0o755)
    file = wanted.folder / "nginx.conf"
    file.write_text(configuration(wanted), encoding="utf-8")
    return Launch([str(program()), "-p", str(wanted.folder), "-e", "stderr", "-c", str(file)], tells=False)


def program() -> Path:
    """The nginx to use: GAUNTLET_NGINX, the one that `scripts/nginx.sh` has built, or the PATH's.

    Raises UserError where none is there, or none that has HTTP/3.
    """
    named, built = os.environ.get(_VARIABLE), cache_folder() / "nginx" / "sbin" / "nginx"
    found = named or (str(built) if built.is_file() else shutil.which("nginx"))
    if found is None or not Path(found).is_file():
        raise UserError(
            "nginx is not here, or not where GAUNTLET_NGINX says; in a working copy, `scripts/nginx.sh` "
            "builds it (a minute)."
        )
    said = _said(Path(found))
    number = re.search(r"nginx/(\d+)\.(\d+)", said)
    if number is None or (int(number[1]), int(number[2])) < _LEAST or _MODULE not in said:
        raise UserError(
            f"{found} has no HTTP/3 (it takes 1.25 and --with-{_MODULE}); in a working copy, "
            "`scripts/nginx.sh` builds one that has (a minute)."
        )
    return Path(found)


@cache
def _said(path: Path) -> str:
    """What it is: version, library of TLS, and how it was configured."""
    return subprocess.run([str(path), "-V"], capture_output=True, text=True, check=False).stderr


def _version() -> str:
    said = _said(program())
    number, tls = re.search(r"nginx/([\d.]+)", said), re.search(r"(?:built|running) with (\S+ \S+)", said)
    return " ".join(it[1] for it in (number, tls) if it)


def _ready() -> None:
    program()


NGINX = Server(
    key="nginx",
    words="nginx",
    protocols=tuple(PROTOCOLS),
    defences={OFF: tuple(PROTOCOLS), RETRY: (H3,)},
    ready=_ready,
    version=_version,
    launch=_launch,
)
