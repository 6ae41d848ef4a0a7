"""A client: asks at fixed times, each time over a connection of its own, and tells what it got."""

import json
import socket
import sys
import threading
import time

_LINES = threading.Lock()


def ask(n: int, due: int, host: str, port: int, limit_s: float) -> None:
    began = time.monotonic_ns()
    connected, outcome, got = None, "ok", 0
    try:
        with socket.create_connection((host, port), timeout=limit_s) as link:
            connected = time.monotonic_ns()
            link.settimeout(max(0.001, limit_s - (connected - began) / 1e9))
            link.sendall(b"GET /\r\n")
            while got < 1000:
                block = link.recv(4096)
                if not block:
                    outcome = "reset"
                    break
                got += len(block)
    except TimeoutError:
        outcome = "timeout"
    except ConnectionRefusedError:
        outcome = "refused"
    except OSError:
        outcome = "reset"
    line = {"n": n, "due_ns": due, "start_ns": began, "connected_ns": connected, "first_byte_ns": None}
    with _LINES:
        print(
            json.dumps({"request": {**line, "end_ns": time.monotonic_ns(), "outcome": outcome, "bytes": got}})
        )


def main() -> None:
    words = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=False))
    host, _, port = words["--connect"].rpartition(":")
    count, interval_s = int(words["--count"]), int(words["--interval-ms"]) / 1e3
    limit_s = int(words["--timeout-ms"]) / 1e3
    began_s = time.monotonic()
    asking = []
    for n in range(count):
        time.sleep(max(0.0, began_s + n * interval_s - time.monotonic()))
        due = int((began_s + n * interval_s) * 1e9)
        asking.append(threading.Thread(target=ask, args=(n + 1, due, host, int(port), limit_s)))
        asking[-1].start()
    for it in asking:
        it.join()
    print(json.dumps({"done": {"cpu_ns": time.process_time_ns()}}), flush=True)


main()
