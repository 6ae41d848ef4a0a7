"""The peer: the same TCP CUBIC flow over a chain of the same length in ns-3 (Debian's libns3-dev)."""

import json
import shutil
import subprocess
from functools import partial
from pathlib import Path

from gauntlet.errors import RunError
from speed import line
from speed.program import ROOT
from speed.turns import Contender, Turn

HEADERS = Path("/usr/include/ns3")
MODULES = ("applications", "point-to-point", "internet", "traffic-control", "network", "core")
SOURCE = ROOT / "benchmarks" / "ns3" / "line.cc"

MISSING = "ns-3 is not installed: apt-get install g++ libns3-dev"


def installed() -> bool:
    """Whether this machine has ns-3 and a compiler for it."""
    return shutil.which("g++") is not None and HEADERS.is_dir()


def build(folder: Path) -> Path:
    """Compile the peer into `folder`; RunError with the compiler's words when that fails."""
    program = folder / "line"
    libraries = [f"-lns3-{name}" for name in MODULES]
    done = subprocess.run(
        ["g++", "-O2", "-o", str(program), str(SOURCE), *libraries],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RunError(f"The ns-3 program {SOURCE} does not compile:\n{done.stderr[-2000:]}")
    return program


def contender(program: Path, size_bytes: int, core: int) -> Contender:
    """A contender that plays the flow in ns-3; building its network is not counted, the simulation is."""
    return partial(_turn, program, size_bytes, core)


def _turn(program: Path, size_bytes: int, core: int) -> Turn:
    arguments = map(str, (line.RATE_BPS, line.DELAY_S, line.QUEUE_BYTES, size_bytes))
    done = subprocess.run(
        ["taskset", "-c", str(core), str(program), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RunError(
            f"The ns-3 program failed (exit {done.returncode}): {done.stderr.strip() or 'silently'}"
        )
    said = json.loads(done.stdout)
    return Turn(said["virtual_s"], said["wall_s"], said["cpu_s"], said["peak_bytes"])
