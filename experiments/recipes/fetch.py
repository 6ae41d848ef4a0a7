"""Client of a stack of one's own: fetches each file with a program that knows nothing of Gauntlet."""

import json
import os
import subprocess
import time
from pathlib import Path

address, port = os.environ["GAUNTLET_SERVER_ADDRESS"], os.environ["GAUNTLET_PORT"]
program = os.environ["GAUNTLET_PROGRAM"]
command = {
    "curl": ["curl", "--silent", "--fail", "--output", "/dev/null", f"http://{address}:{port}/file"],
    "gtlsclient": [
        "gtlsclient", "--quiet", "--exit-on-all-streams-close", address, port, f"https://{address}:{port}/file",
    ],
}[program]  # fmt: skip

exchanges = []
for wanted in json.loads(os.environ["GAUNTLET_OBJECTS"]):
    asked_ns = time.monotonic_ns()
    subprocess.run(command, check=True)
    there = {"requested_ns": asked_ns, "completed_ns": time.monotonic_ns(), "outcome": "ok"}
    exchanges.append({"object": wanted["object"], "size_bytes": wanted["size_bytes"], **there})

told = {"format": "gauntlet-external-result", "version": 1, "clock": "monotonic", "software": program}
told |= {"started_ns": exchanges[0]["requested_ns"], "exchanges": exchanges}
Path(os.environ["GAUNTLET_RESULT"]).write_text(json.dumps(told))
