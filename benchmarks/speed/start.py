"""How long `gauntlet run` takes to its first guest's first packet."""

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gauntlet.errors import RunError
from speed.program import ROOT

EXPERIMENT = ROOT / "experiments" / "constant.toml"
ENDED_WITHIN_S = 60.0


def start(rounds: int) -> dict[str, Any]:
    """Wall seconds from typing the command until the first guest captures: its flows start then."""
    times = [_once() for _ in range(rounds)]
    return {"wall_s": min(times), "turns_wall_s": times}


def _once() -> float:
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder:
        out = Path(folder) / "out"
        command = [
            sys.executable,
            "-m",
            "gauntlet",
            "run",
            str(EXPERIMENT),
            "--out",
            str(out),
            "--quiet",
            "--no-cache",
        ]
        before_s = time.perf_counter()
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            while (
                not (captures := any(out.glob(".work-*/*.records/*/packets.bin"))) and process.poll() is None
            ):
                time.sleep(0.002)
            wall_s = time.perf_counter() - before_s
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=ENDED_WITHIN_S)
    if not captures:
        raise RunError(f"`gauntlet run {EXPERIMENT}` ended before a guest captured anything: {said.strip()}")
    return wall_s
