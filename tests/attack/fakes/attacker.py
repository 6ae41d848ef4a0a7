"""An attacker: opens connections at a rate, or holds some, and tells each second what it did.

FAKE_MOST_PER_S: it begins no more than so many a second, like one that cannot keep up. FAKE_TAIL_S: the last
of what it began takes so long after the last second, of which it tells then.
"""

import json
import os
import socket
import sys
import time
from typing import Any


def tell(kind: str, content: dict[str, Any]) -> None:
    print(json.dumps({kind: content}), flush=True)


def main() -> None:
    words = sys.argv[2:]
    named = {
        word: words[at + 1] for at, word in enumerate(words) if word.startswith("--") and at + 1 < len(words)
    }
    host, _, port = named["--target"].rpartition(":")
    seconds, rate = int(named["--seconds"]), float(named.get("--rate", "20"))
    hold = int(float(named.get("--held", "0")))
    most = float(os.environ.get("FAKE_MOST_PER_S", "inf"))
    began = time.monotonic()
    held: list[socket.socket] = []
    total = {"offered": 0, "sent": 0, "completed": 0, "failed": 0, "bytes_out": 0, "bytes_in": 0, "cpu_ns": 0}
    saturated = False
    line_ns = int(began * 1e9)
    for second in range(seconds):
        told = dict.fromkeys(total, 0)
        cpu_ns, late_ns = time.process_time_ns(), 0
        for n in range(round(rate)):
            due = began + second + n / rate
            if hold and len(held) >= hold:
                break
            told["offered"] += 1
            if n >= most:
                continue
            time.sleep(max(0.0, due - time.monotonic()))
            late_ns = max(late_ns, int((time.monotonic() - due) * 1e9))
            told["sent"] += 1
            try:
                link = socket.create_connection((host, int(port)), timeout=2)
                if hold:
                    held.append(link)
                    continue
                link.sendall(b"GET /\r\n")
                told["bytes_out"] += 7
                got = link.recv(4096)
                told["bytes_in"] += len(got)
                told["completed" if got else "failed"] += 1
                link.close()
            except OSError:
                told["failed"] += 1
        time.sleep(max(0.0, began + second + 1 - time.monotonic()))
        told["cpu_ns"] = time.process_time_ns() - cpu_ns
        saturated = saturated or (second > 0 and told["sent"] < 0.99 * told["offered"])
        for name, count in told.items():
            total[name] += count
        ended_ns = time.monotonic_ns()
        times = {"began_ns": line_ns, "ended_ns": ended_ns}
        tell("second", {"t": second + 1, **times, **told, "held": len(held), "late_max_ns": late_ns})
        line_ns = ended_ns
    if tail_s := float(os.environ.get("FAKE_TAIL_S", "0")):
        time.sleep(tail_s)
        times = {"began_ns": line_ns, "ended_ns": time.monotonic_ns()}
        tell("second", {"t": seconds + 1, **times, **dict.fromkeys(total, 0), "late_max_ns": 0})
    why = "it could not keep up" if saturated else ""
    tell("done", {**total, "held_max": len(held), "saturated": saturated, "why": why})


main()
