"""Programs of the user inside an emulated network: boot, pass on what they print, hand back the exit code."""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gauntlet.engine import cores, guest
from gauntlet.errors import RunError

_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
"""How a shell ends when it cannot execute or cannot find a command (POSIX.1-2017, Shell, 2.8.2)."""

OnOutput = Callable[[str, str, str], None]
"""Called with program id, stream (`stdout` or `stderr`) and text."""


def run_programs(run: Mapping[str, Any], *, writable: Sequence[Path], on_output: OnOutput) -> int:
    """Play a run with programs (plan.md) and return the exit code of the one that is waited for.

    `writable` are folders of the host that the programs may write. Raises RunError when a program could not
    be started, was ended by a signal or met the run's limit.
    """

    def listen(event: Mapping[str, Any]) -> None:
        if event["event"] == "output":
            on_output(event["program"], event["stream"], event["text"])

    with tempfile.TemporaryDirectory(prefix="gauntlet-exec-") as folder:
        out = Path(folder) / "records"
        guest.boot(
            [run],
            out,
            seed=run["seed"],
            machine=guest.Machine.installed(),
            core=cores.usable_cores()[-1],
            writable=writable,
            on_event=listen,
        )
        record = json.loads((out / run["id"] / "record.json").read_text())
    if record["outcome"] != "ok":
        raise RunError(record["reason"])
    waited = [program["id"] for program in run["programs"] if program.get("wait", True)]
    for program in record["programs"]:
        code = program["exit_code"]
        if program["id"] not in waited and code in (_NOT_EXECUTABLE, _NOT_FOUND):
            raise RunError(
                f"The {program['id']} could not be started (its shell ended with exit code {code})."
            )
        if program["outcome"] != "ok" and code is None:
            raise RunError(f"{program['reason']}.")
    codes = {program["id"]: int(program["exit_code"] or 0) for program in record["programs"]}
    return max((codes[name] for name in waited), default=0)
