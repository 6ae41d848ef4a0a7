"""Server: has nginx serve a site's files over HTTP/2 or HTTP/3, until the client says that it is done.

`python -m gauntlet.traffic.browser.server`, started by the player with a flow of the application `page`
"""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gauntlet.attack.servers import nginx
from gauntlet.errors import UserError
from gauntlet.external.contract import Failed, Result, Task, Unsupported, play, ready
from gauntlet.traffic.browser import files
from gauntlet.traffic.browser.client import OVER

_BEGINS_S = 10.0
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def configuration(folder: Path, *, address: str, port: int, http: str, chain: Path, key: str) -> str:
    """The file that nginx is started with: all origins are one server, which every name reaches."""
    at = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    types = "".join(
        f"        location /{kind}- {{ default_type {media}; }}\n" for kind, media in files.TYPES.items()
    )
    temporary = "".join(f"    {name}_temp_path {folder}/temporary;\n" for name in _TEMPORARY)
    return f"""\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
{"user root;" if os.geteuid() == 0 else ""}
events {{ worker_connections 1024; }}
http {{
    access_log off;
{temporary}\
    types {{}}
    ssl_protocols TLSv1.3;
    ssl_certificate {chain};
    ssl_certificate_key {key};
    add_header access-control-allow-origin *;
    server {{
        listen {at} {"quic" if http == "3" else "ssl"};
        http2 {"on" if http == "2" else "off"};
        http3 {"on" if http == "3" else "off"};
        root {folder}/files;
{types}\
    }}
}}
"""


def serve(task: Task, _: Result) -> None:
    """Serve until the client is done. Raises Failed when nginx does not begin."""
    http = task.required("http")
    if http not in ("2", "3"):
        raise Unsupported(f'nginx serves a site over HTTP "2" or "3" here, not "{http}"')
    folder = Path(task.scratch)
    (folder / "files").mkdir()
    try:
        written = files.contents(files.page(task.required("objects")), task.port)
        program = nginx.program()
    except (ValueError, UserError) as error:
        raise Failed(str(error)) from None
    for name, content in written.items():
        (folder / "files" / name).write_bytes(content)
    # The browser trusts the authority by its key, so it has to see it.
    chain = folder / "chain.pem"
    chain.write_text("".join(Path(it).read_text(encoding="ascii") for it in (task.certificate, task.ca)))
    file = folder / "nginx.conf"
    file.write_text(
        configuration(
            folder, address=task.server_address, port=task.port, http=http, chain=chain, key=task.key
        )
    )
    with (
        socket.create_server(
            (task.server_address, task.port + OVER),
            family=socket.AF_INET6 if ":" in task.server_address else socket.AF_INET,
        ) as over,
        subprocess.Popen([str(program), "-p", str(folder), "-e", "stderr", "-c", str(file)]) as process,
    ):
        try:
            _wait(folder / "nginx.pid", process)
            ready()
            over.settimeout(task.time_left_s)
            over.accept()[0].close()
        except TimeoutError:
            raise Failed("the client did not say that it is done") from None
        finally:
            process.terminate()


def _wait(pid: Path, process: "subprocess.Popen[Any]") -> None:
    """nginx writes its number when it listens."""
    until_s = time.monotonic() + _BEGINS_S
    while not pid.is_file():
        if process.poll() is not None or time.monotonic() > until_s:
            raise Failed(f"nginx did not begin within {_BEGINS_S:.0f} s, or ended")
        time.sleep(0.01)


def _asked_to_end(*_: object) -> None:
    sys.exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _asked_to_end)
    play(serve, "nginx")
