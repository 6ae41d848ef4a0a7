"""Kernel memory of a server's sockets, which no resident set has: by sock_diag(7), socket by socket.

What a connection costs the kernel is the object itself and what is queued in it. Of TCP each connection has a
socket; all connections of QUIC share one, and their state is in the process.
"""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SOCK_DIAG = 4
"""NETLINK_SOCK_DIAG."""
_BY_FAMILY = 20
_REQUEST_DUMP = 0x301
_DONE, _ERROR = 3, 2
_SKMEMINFO = 7
_ALL_STATES = 0xFFFFFFFF
_HEADER = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBBxI2s46x")
"""struct inet_diag_req_v2. Of its addresses only the local port is said: the kernel leaves out the others."""
_TOLD_BYTES = 72
"""struct inet_diag_msg."""
_PORT = struct.Struct("!H")
_ATTRIBUTE = struct.Struct("=HH")
_MEMORY = struct.Struct("=9I")
"""SK_MEMINFO_RMEM_ALLOC to SK_MEMINFO_DROPS."""
_SYN_RECEIVED = 3
"""State of a connection that is half open: its SYN was answered, and nobody has taken the answer up."""
_PROTOCOLS = {socket.IPPROTO_TCP: "TCP", socket.IPPROTO_UDP: "UDP"}
_BUFFER_BYTES = 1 << 18
_BEGINS, _ENDS = "request_sock_", "tw_sock_"
_OBJECTS = (
    "TCP", "TCPv6", "UDP", "UDPv6",
    *(f"{part}TCP{v6}" for part in (_BEGINS, _ENDS) for v6 in ("", "v6")),
)  # fmt: skip
"""Sockets by the kernel's names. Of a connection of TCP that is half open, and of one that is over and only
waits (TIME_WAIT), it keeps less than a socket.
"""


@dataclass(frozen=True)
class Sockets:
    """The sockets of one local port."""

    count: int
    queued_bytes: int
    """Packets that wait in them, and what they hold in reserve."""
    object_bytes: int
    """The sockets themselves; 0 where the kernel does not tell (/proc/slabinfo, for root)."""
    dropped: int
    """Packets that found a queue full."""
    half_open: int = 0
    """Connections of TCP whose handshake has begun; not those that a SYN cookie stands for."""

    @property
    def bytes(self) -> int:
        """All memory that the kernel has for them."""
        return self.queued_bytes + self.object_bytes


def link() -> socket.socket:
    """What tells of the sockets of the network namespace in which it is made, wherever it is used."""
    made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG)
    made.bind((0, 0))
    return made


def of_port(port: int, root: Path = Path("/"), over: socket.socket | None = None) -> Sockets:
    """The sockets whose local port it is: of TCP and UDP, IPv4 and IPv6, in every state. `over` is a `link`
    of the network namespace that is asked about; none: this one.
    """
    sizes = _object_bytes(root)
    count = queued = objects = dropped = half_open = 0
    with ExitStack() as stack:
        asked = over or stack.enter_context(link())
        for family in (socket.AF_INET, socket.AF_INET6):
            for protocol, name in _PROTOCOLS.items():
                kind = f"{name}v6" if family == socket.AF_INET6 else name
                for message in _dump(asked, family, protocol, port):
                    found = _memory(message)
                    part = "" if protocol == socket.IPPROTO_UDP else _part(message[1], found)
                    count += 1
                    half_open += part == _BEGINS
                    objects += sizes.get(part + kind, 0)
                    if found is not None:
                        received, _, _, _, reserved, written, options, backlog, lost = found
                        queued += received + written + reserved + options + backlog
                        dropped += lost
    return Sockets(count, queued, objects, dropped, half_open)


def tells_objects(root: Path = Path("/")) -> bool:
    """Whether the kernel says here how large a socket itself is."""
    return bool(_object_bytes(root))


@cache
def _object_bytes(root: Path) -> dict[str, int]:
    """Bytes of a socket of each kind, by the kernel's name of it (slabinfo(5)); always the same."""
    try:
        lines = (root / "proc" / "slabinfo").read_text().splitlines()
    except OSError:
        return {}
    fields = (line.split() for line in lines)
    return {it[0]: int(it[3]) for it in fields if len(it) > 3 and it[0] in _OBJECTS}


def _dump(link: socket.socket, family: int, protocol: int, port: int) -> Iterator[bytes]:
    """The messages about each socket of a protocol with this local port. After floods over TCP a machine has
    tens of thousands of others, which take long to read.
    """
    asked = _ASKED.pack(family, protocol, 1 << (_SKMEMINFO - 1), _ALL_STATES, _PORT.pack(port))
    whole = _HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST_DUMP, 1, 0) + asked
    link.sendto(whole, (0, 0))
    while True:
        data = link.recv(_BUFFER_BYTES)
        at = 0
        while at + _HEADER.size <= len(data):
            length, kind, _, _, _ = _HEADER.unpack_from(data, at)
            if kind == _DONE:
                return
            if kind == _ERROR:
                number = -struct.unpack_from("=i", data, at + _HEADER.size)[0]
                # A kernel without a module for this protocol has nothing to tell of it.
                if number in (0, 2):
                    return
                raise OSError(number, os.strerror(number))
            yield data[at + _HEADER.size : at + length]
            at += (length + 3) & ~3


def _part(state: int, memory: tuple[int, ...] | None) -> str:
    """What the kernel keeps of a connection of TCP, by the beginning of its name; empty: a whole socket, of
    which alone it tells how much waits in it.
    """
    if state == _SYN_RECEIVED:
        return _BEGINS
    return _ENDS if memory is None else ""


def _memory(message: bytes) -> tuple[int, ...] | None:
    """The numbers of SK_MEMINFO; None where a message has none (a connection that only begins or ends)."""
    at = _TOLD_BYTES
    while at + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, at)
        if length < _ATTRIBUTE.size:
            return None
        if kind == _SKMEMINFO and length >= _ATTRIBUTE.size + _MEMORY.size:
            return _MEMORY.unpack_from(message, at + _ATTRIBUTE.size)
        at += (length + 3) & ~3
    return None
