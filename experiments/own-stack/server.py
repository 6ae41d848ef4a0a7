"""Server of a stack of one's own, by the contract of docs/formats/external-stack.md: takes bytes over TCP."""

import json
import os
import socket
import time
from pathlib import Path

here = (os.environ["GAUNTLET_SERVER_ADDRESS"], int(os.environ["GAUNTLET_PORT"]))

received = []
count = 0
with socket.create_server(here) as listening:
    print("GAUNTLET READY", flush=True)
    connection, _ = listening.accept()
    with connection:
        while block := connection.recv(65536):
            count += len(block)
            received.append((time.monotonic_ns(), count))

result = {
    "format": "gauntlet-external-result",
    "version": 1,
    "clock": "monotonic",
    "software": "example server 1.0",
    "received": received,
}
Path(os.environ["GAUNTLET_RESULT"]).write_text(json.dumps(result))
