"""A server: takes a connection, works for a while, answers a line with a page. It tells what it counted.

FAKE_WORK_S: how long it computes for each connection. FAKE_DIES_AFTER: after so many connections it ends with
an error. FAKE_KEEPS: it keeps so many bytes of each connection. FAKE_SILENT: it does not say when it listens.
"""

import json
import os
import selectors
import signal
import socket
import sys
import time

PAGE = b"." * 1000
COUNTED = {"handshakes_begun": 0, "handshakes_completed": 0, "requests": 0, "bytes_in": 0, "bytes_out": 0}


def done(*_: object) -> None:
    # Past `print`: the signal may come while a line is being printed.
    os.write(1, json.dumps({"done": {**COUNTED, "cpu_ns": time.process_time_ns()}}).encode() + b"\n")
    os._exit(0)


def work(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def main() -> None:
    words = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=False))
    host, _, port = words["--listen"].rpartition(":")
    work_s = float(os.environ.get("FAKE_WORK_S", "0"))
    dies_after = int(os.environ.get("FAKE_DIES_AFTER", "0"))
    keeps = int(os.environ.get("FAKE_KEEPS", "0"))
    kept: list[bytes] = []
    signal.signal(signal.SIGTERM, done)
    selector = selectors.DefaultSelector()
    listener = socket.create_server((host, int(port)), backlog=1024)
    selector.register(listener, selectors.EVENT_READ)
    if "FAKE_SILENT" not in os.environ:
        ready = {"address": words["--listen"], "protocol": words["--protocol"], "versions": {"hyper": "1.0"}}
        print(json.dumps({"ready": ready}), flush=True)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                client, _ = listener.accept()
                COUNTED["handshakes_begun"] += 1
                if dies_after and COUNTED["handshakes_begun"] > dies_after:
                    sys.exit("too many connections")
                work(work_s)
                if keeps:
                    kept.append(os.urandom(keeps))
                selector.register(client, selectors.EVENT_READ)
                continue
            client = key.fileobj  # type: ignore[assignment]
            try:
                asked = client.recv(4096)
                if asked:
                    client.sendall(PAGE)
            except OSError:
                asked = b""
            if asked:
                COUNTED["handshakes_completed"] += 1
                COUNTED["requests"] += 1
                COUNTED["bytes_in"] += len(asked)
                COUNTED["bytes_out"] += len(PAGE)
            selector.unregister(client)
            client.close()


main()
