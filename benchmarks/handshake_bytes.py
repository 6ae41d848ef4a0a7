"""What the bytes of a session over QUIC are: a handshake with one request for 1,000 bytes.

    make handshake-bytes

Gauntlet's own server and client on loopback, in a network namespace in which the kernel puts no datagrams
together, captured by tshark and read with the client's keys: of what goes each way, how much is padding, and
how much of that is in quinn's probes for the size that the path takes (RFC 8899). It takes tshark and a
user who may have namespaces.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from gauntlet.attack import certificates, programs
from gauntlet.attack.certificates import P_256
from gauntlet.errors import GauntletError

SESSIONS = 20
PORT = 4433
PADDING, PING, IMMEDIATE_ACK = "0", "1", "31"
"""Kinds of frames; the last is of the draft on the frequency of acknowledgements."""
_FIELDS = ("udp.dstport", "udp.length", "quic.padding_length", "quic.frame_type")
_UDP_HEADER = 8
_BEGINS_S = 2.0


def played(folder: Path) -> Path:
    """A capture of the sessions, with their keys in it. It is played in the namespace."""
    chain = certificates.chain(P_256, folder)
    capture, keys = folder / "sessions.pcapng", folder / "keys"
    address = f"127.0.0.1:{PORT}"
    listens = subprocess.Popen(
        ["tshark", "-q", "-i", "lo", "-f", f"udp port {PORT}", "-w", str(capture)], stderr=subprocess.DEVNULL
    )
    server = subprocess.Popen(
        [str(programs.program(programs.SERVER)), "--protocol", "h3", "--listen", address,
         "--certificate", str(chain.certificate), "--key", str(chain.key)],
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert server.stdout is not None
    server.stdout.readline()
    time.sleep(_BEGINS_S)
    client = [
        str(programs.program(programs.CLIENT)), "--protocol", "h3", "--connect", address,
        "--ca", str(chain.authority), "--count", str(SESSIONS), "--interval-ms", "50",
    ]  # fmt: skip
    subprocess.run(
        client, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "SSLKEYLOGFILE": str(keys)}
    )
    time.sleep(_BEGINS_S)
    for process in (server, listens):
        process.send_signal(signal.SIGTERM)
        process.wait()
    return capture


def read(capture: Path, keys: Path) -> Counter[tuple[str, str]]:
    """Datagrams and bytes by where they go (`server`, `client`) and what they are."""
    asked = [word for field in _FIELDS for word in ("-e", field)]
    told = subprocess.run(
        ["tshark", "-r", str(capture), "-o", f"tls.keylog_file:{keys}", "-d", f"udp.port=={PORT},quic",
         "-T", "fields", *asked],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    return counted(told.stdout.splitlines())


def counted(lines: Iterable[str]) -> Counter[tuple[str, str]]:
    """Datagrams as tshark tells their `_FIELDS`, one a line, added up."""
    found: Counter[tuple[str, str]] = Counter()
    for line in lines:
        port, length, padding, frames = line.split("\t")
        to, octets = ("server" if int(port) == PORT else "client"), int(length) - _UDP_HEADER
        padded = sum(map(int, filter(None, padding.split(","))))
        kinds = set(frames.split(","))
        # A probe asks to be acknowledged and says nothing else.
        probe = {PING, PADDING} <= kinds <= {PING, IMMEDIATE_ACK, PADDING}
        found[to, "datagrams"] += 1
        found[to, "bytes"] += octets
        found[to, "padding"] += padded
        found[to, "unread"] += not frames
        found[to, "probes"] += probe
        found[to, "bytes of probes"] += octets * probe
        found[to, "padding of probes"] += padded * probe
    return found


def inside() -> None:
    """Play and read, and print what was found a session."""
    with tempfile.TemporaryDirectory() as folder:
        capture = played(Path(folder))
        found = read(capture, Path(folder) / "keys")
    if found["server", "unread"] or found["client", "unread"]:
        sys.exit("tshark could not read every datagram: the client wrote no keys, so it is an older one.")
    each = {
        to: {what: n / SESSIONS for (way, what), n in found.items() if way == to}
        for to in ("server", "client")
    }
    print(json.dumps(each, indent=2))


def main() -> int:
    """Do it in a namespace of its own; the exit code."""
    if sys.argv[1:] == ["inside"]:
        inside()
        return 0
    try:
        programs.ready()
    except GauntletError as error:
        sys.exit(str(error))
    ready = "ip link set lo up gso_max_segs 1"
    again = f'{ready} && exec "$0" "$@"'
    words = [
        "unshare",
        "--user",
        "--map-root-user",
        "--net",
        "sh",
        "-c",
        again,
        sys.executable,
        __file__,
        "inside",
    ]
    return subprocess.run(words, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
