"""How much the kernel lets a program hand over while its sending buffer is 104 KiB: run by `gauntlet exec` at
both ends (docs/studies/d34.md, "What a sending buffer holds").

With a number of bytes a system call it sends for ten seconds with CUBIC, looks at its socket each 20 ms once
slow start is over and prints the most of each that it saw; without one it takes what comes.
"""

import fcntl
import os
import select
import socket
import struct
import sys
import termios
import time

PORT = 5000
BUFFER_BYTES = 104 * 1024
SLOW_START_S = 2.0
# The kernel's numbers: asm-generic/socket.h, linux/sock_diag.h (places in the answer), linux/sockios.h.
SO_MEMINFO = 55
SK_MEMINFO_SNDBUF, SK_MEMINFO_WMEM_QUEUED, SK_MEMINFO_VARS = 3, 5, 9
SIOCOUTQNSD = 0x894B


def take() -> None:
    """Take the bytes of one connection."""
    with socket.create_server(("", PORT)) as listening, listening.accept()[0] as connection:
        while connection.recv(1 << 20):
            pass


def queued(connection: socket.socket, request: int) -> int:
    """Bytes of data that wait: not acknowledged (SIOCOUTQ), or not sent (SIOCOUTQNSD)."""
    return int.from_bytes(fcntl.ioctl(connection, request, bytes(4)), sys.byteorder)


def send(call_bytes: int) -> None:
    """Send, look, and print the most that was seen."""
    call, held, on_the_way, charged = bytes(call_bytes), 0, 0, 0
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        connection.connect((os.environ["GAUNTLET_SERVER"], PORT))
        connection.setblocking(False)
        writable = select.poll()
        writable.register(connection, select.POLLOUT)
        began_s = now_s = time.monotonic()
        look_s = began_s + SLOW_START_S
        while now_s < began_s + 10:
            try:
                connection.send(call)
            except BlockingIOError:
                writable.poll(max(1, int((look_s - now_s) * 1000)))
            now_s = time.monotonic()
            if now_s >= look_s:
                answer = connection.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 4 * SK_MEMINFO_VARS)
                memory = struct.unpack(f"={SK_MEMINFO_VARS}I", answer)
                data = queued(connection, termios.TIOCOUTQ)
                held = max(held, data)
                on_the_way = max(on_the_way, data - queued(connection, SIOCOUTQNSD))
                charged = max(charged, memory[SK_MEMINFO_WMEM_QUEUED])
                look_s = now_s + 0.02
    print(
        f"{call_bytes} bytes a call: at most {held} bytes of data, {on_the_way} of them on their way; "
        f"the kernel charged {charged} of {memory[SK_MEMINFO_SNDBUF]}"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        send(int(sys.argv[1]))
    else:
        take()
