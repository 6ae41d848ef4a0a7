"""Client of a stack of one's own, by the contract of docs/formats/external-stack.md: uploads bytes over TCP.

Nothing but the standard library, and any language will do: variables in, one JSON file out.
"""

import json
import os
import socket
import sys
import time
from pathlib import Path

app = os.environ["GAUNTLET_APP"]
if app != "bulk":
    print(f"this client knows the application bulk, not {app}", file=sys.stderr)
    sys.exit(127)

server = (os.environ["GAUNTLET_SERVER_ADDRESS"], int(os.environ["GAUNTLET_PORT"]))
size_bytes = int(os.environ["GAUNTLET_SIZE_BYTES"])
block_bytes = int(os.environ["GAUNTLET_BLOCK_BYTES"])
time_left_s = float(os.environ["GAUNTLET_TIME_LEFT_S"])

sent = []
count = 0
started_ns = time.monotonic_ns()
with socket.create_connection(server, timeout=time_left_s) as connection:
    established_ns = time.monotonic_ns()
    while count < size_bytes:
        count += connection.send(bytes(min(block_bytes, size_bytes - count)))
        sent.append((time.monotonic_ns(), count))
    connection.shutdown(socket.SHUT_WR)
    # The server closes when it has everything.
    connection.recv(1)
    finished_ns = time.monotonic_ns()

result = {
    "format": "gauntlet-external-result",
    "version": 1,
    "clock": "monotonic",
    "software": "example client 1.0",
    "started_ns": started_ns,
    "established_ns": established_ns,
    "finished_ns": finished_ns,
    "sent": sent,
}
Path(os.environ["GAUNTLET_RESULT"]).write_text(json.dumps(result))
