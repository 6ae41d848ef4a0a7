"""Addresses: everything happens on this machine's loopback, and no switch changes that."""

import errno
import ipaddress
import socket
from dataclasses import dataclass

from gauntlet.errors import UserError

HOST = "127.0.0.1"
_ATTEMPTS = 100


@dataclass(frozen=True)
class Address:
    """A loopback address and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address(text: str, where: str = "--listen") -> Address:
    """The address and port of "127.0.0.1:4433" or "[::1]:4433".

    Raises UserError for every other address than those of 127.0.0.0/8 and ::1, and for names: what a name
    stands for is decided elsewhere. An IPv4 address inside an IPv6 one (`::ffff:127.0.0.1`) is refused as by
    the attacker: Python's versions disagree on whether it is loopback.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or not 1 <= int(port) <= 65_535:
        raise UserError(f"{where}: '{text}' is no address with a port; write one such as '127.0.0.1:4433'.")
    bare = host.removeprefix("[").removesuffix("]")
    try:
        found = ipaddress.ip_address(bare)
    except ValueError:
        raise UserError(
            f"{where}: '{host}' is no address in numbers; write one of this machine's loopback, such as "
            "'127.0.0.1:4433' or '[::1]:4433'."
        ) from None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    if mapped is not None and mapped.is_loopback:
        raise UserError(
            f"{where}: {bare} is an IPv4 address inside an IPv6 one, which the attacker refuses; "
            f"write {mapped} itself."
        )
    if not found.is_loopback:
        raise UserError(
            f"{where}: {bare} is not on this machine's loopback, and attacks leave it for nothing; start the "
            "server here and name 127.0.0.1 or [::1]."
        )
    return Address(bare, int(port))


def free(host: str = HOST) -> Address:
    """An address whose port nobody has, neither of TCP nor of UDP."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for _ in range(_ATTEMPTS):
        with (
            socket.socket(family, socket.SOCK_STREAM) as tcp,
            socket.socket(family, socket.SOCK_DGRAM) as udp,
        ):
            tcp.bind((host, 0))
            port = int(tcp.getsockname()[1])
            try:
                udp.bind((host, port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                continue
            return Address(host, port)
    raise UserError(f"No port of {host} is free for TCP and for UDP.")
