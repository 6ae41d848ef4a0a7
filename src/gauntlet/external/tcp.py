"""What programs over TCP choose per socket."""

import socket

from gauntlet.external.contract import Unsupported


def choose_congestion_control(sock: socket.socket, name: str | None) -> None:
    """Set a socket's congestion control (tcp(7), TCP_CONGESTION); None: the kernel's default.

    Raises Unsupported when the kernel does not have it.
    """
    if name is None:
        return
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    except OSError as error:
        raise Unsupported(f"the kernel has no congestion control '{name}': {error.strerror}") from None
