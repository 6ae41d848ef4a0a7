"""Sends over TCP for a while, so many bytes a system call, from a sending buffer of a given size
(docs/formats/external-stack.md). The socket never blocks: what a call leaves over waits until the kernel says
that there is room.
"""

import json
import os
import select
import socket
import sys
import time
from pathlib import Path

if os.environ["GAUNTLET_APP"] != "cbr":
    print("this client knows the application cbr alone", file=sys.stderr)
    sys.exit(127)

duration_ns = int(float(os.environ["GAUNTLET_DURATION_S"]) * 1e9)
message_bytes = int(os.environ["GAUNTLET_MESSAGE_SIZE_BYTES"])
call = bytes(int(os.environ["GAUNTLET_CALL_BYTES"]))

sent = []
count = 0
started_ns = time.monotonic_ns()
with socket.socket() as connection:
    connection.setsockopt(
        socket.IPPROTO_TCP, socket.TCP_CONGESTION, os.environ["GAUNTLET_CONGESTION"].encode()
    )
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, int(os.environ["GAUNTLET_BUFFER_BYTES"]))
    connection.connect((os.environ["GAUNTLET_SERVER_ADDRESS"], int(os.environ["GAUNTLET_PORT"])))
    connection.setblocking(False)
    writable = select.poll()
    writable.register(connection, select.POLLOUT)
    established_ns = now_ns = time.monotonic_ns()
    while now_ns < established_ns + duration_ns:
        try:
            count += connection.send(call)
            sent.append((now_ns, count))
        except BlockingIOError:
            writable.poll(1000)
        now_ns = time.monotonic_ns()
    connection.setblocking(True)
    # The last message is whole, so that both ends count the same.
    connection.sendall(bytes(-count % message_bytes))
    count += -count % message_bytes
    sent.append((time.monotonic_ns(), count))
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)
    finished_ns = time.monotonic_ns()

result = {
    "format": "gauntlet-external-result",
    "version": 1,
    "clock": "monotonic",
    "software": "send-buffer client 1.0",
    "started_ns": started_ns,
    "established_ns": established_ns,
    "finished_ns": finished_ns,
    "sent": sent,
}
Path(os.environ["GAUNTLET_RESULT"]).write_text(json.dumps(result))
