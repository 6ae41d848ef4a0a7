"""What stays in a network namespace of a run's own and so keeps it: it sets it up, and hands out a socket
that tells of the sockets there.

    python -m gauntlet.attack.inside COOKIES PATH

COOKIES is the value of net.ipv4.tcp_syncookies; PATH is where a socket of the Unix domain waits for the
other.
"""

import errno
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from pathlib import Path

from gauntlet.attack import sockets

_SYSCTLS = Path("/proc/sys/net/ipv4")
FORGED, FORGED_BITS = "198.18.0.0", 15
"""The addresses that `gauntlet-attacker` forges; kept for tests of network devices (RFC 2544)."""
HALF_OPEN = 4096
"""net.ipv4.tcp_max_syn_backlog, for which kernels have a default by the machine's memory. Above the server's
own bound it is the server that says how many connections may be half open.
"""

_ERROR = 2
_REQUEST_ACKNOWLEDGED = 0x5
_CREATE = 0x600
_NEW_LINK, _NEW_ROUTE = 16, 24
_GET_FLAGS = 0x8913
"""SIOCGIFFLAGS (netdevice(7))."""
_FLAGS = struct.Struct("=16sH22x")
"""struct ifreq."""
_UP = 1
_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")
"""struct ifinfomsg."""
_ROUTE = struct.Struct("=8BI")
"""struct rtmsg."""
_MAIN, _BOOT, _ON_LINK, _UNICAST = 254, 3, 253, 1
"""Table, who made it, scope and type of a route (rtnetlink(7))."""
_DESTINATION, _THROUGH = 1, 4


def command(cookies: int, path: Path) -> list[str]:
    """What starts this, inside of a new namespace."""
    return [sys.executable, "-m", "gauntlet.attack.inside", str(cookies), str(path)]


def main(cookies: str, path: str) -> None:
    """Set up, hand out, and stay. Raises OSError where that cannot be, or the namespace is no new one."""
    if _is_up("lo"):
        raise OSError(errno.EEXIST, "its loopback interface is up", "it is no new one")
    loopback = socket.if_nametoindex("lo")
    _ask(_NEW_LINK, _LINK.pack(socket.AF_UNSPEC, 0, loopback, _UP, _UP))
    # Whom a forged address is answered to is nobody: the packet comes in again and is thrown away.
    route = _ROUTE.pack(socket.AF_INET, FORGED_BITS, 0, 0, _MAIN, _BOOT, _ON_LINK, _UNICAST, 0)
    to = _attribute(_DESTINATION, socket.inet_aton(FORGED))
    _ask(_NEW_ROUTE, route + to + _attribute(_THROUGH, struct.pack("=I", loopback)), _CREATE)
    (_SYSCTLS / "tcp_max_syn_backlog").write_text(str(HALF_OPEN))
    (_SYSCTLS / "tcp_syncookies").write_text(cookies)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as out, sockets.link() as tells:
        out.connect(path)
        socket.send_fds(out, [b"."], [tells.fileno()])
    print(json.dumps({"ready": {}}), flush=True)
    signal.pause()


def _is_up(interface: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        told = fcntl.ioctl(asking, _GET_FLAGS, _FLAGS.pack(interface.encode(), 0))
    return bool(_FLAGS.unpack(told)[1] & _UP)


def _attribute(kind: int, content: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(content), kind) + content


def _ask(kind: int, content: bytes, flags: int = 0) -> None:
    """Have the kernel do something by rtnetlink(7). Raises OSError when it does not."""
    asked = _HEADER.pack(_HEADER.size + len(content), kind, _REQUEST_ACKNOWLEDGED | flags, 1, 0) + content
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
        link.sendto(asked, (0, 0))
        said = link.recv(4096)
    number = -struct.unpack_from("=i", said, _HEADER.size)[0]
    if _HEADER.unpack_from(said)[1] != _ERROR or number != 0:
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as error:
        sys.exit(f"{error.filename or 'setting it up'}: {error.strerror}")
