"""The engine of the virtual ground: each run in a guest of its own, booted for it, in virtual time.

The same run on the same engine gives the same bytes, whatever its id, host and the load on it.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet.engine import cores, guest, kernel
from gauntlet.engine.contract import OnEvent, Place
from gauntlet.engine.hashes import sha256_of_file
from gauntlet.errors import RunError

_RATE_BPS = 10_000_000
_ENDED_AFTER_S = 0.05
"""Virtual seconds: at that rate and without delay enough for any handshake (about ten packets) and some
messages, and few enough packets (40) that a rehearsal costs no more than making its network."""

_ENDED = "the limit of"
"""In the reason of every flow that its run's limit ended: such a flow could have been played."""

_UNMET_S = 1.0
"""When rules of in-path nodes begin to act in a rehearsal: when it is long over."""

_REHEARSED_BYTES = 4 << 20
"""Of plans that one guest rehearses: it holds them all in its memory at once."""

_EXTERNAL = "external"
"""The stack of flows that programs carry."""

_SHIPPED = "gauntlet.external."
"""How the modules of programs that ship begin: they are known to start, and that takes longer than all the
rest of a rehearsal."""

_PROGRAMS_ENDED_AFTER_S = 1.0
"""Virtual seconds where programs of the user's own are rehearsed: time for a server to be ready and for a
client to say that it does not do what is asked. To start them takes none."""


@dataclass(frozen=True)
class Virtual:
    """Guests on one machine: kernel, first program and memory."""

    machine: guest.Machine

    @staticmethod
    def installed() -> "Virtual":
        """The installed kernel and guest program; RunError with the remedy when one is missing."""
        return Virtual(guest.Machine.installed())

    @property
    def exact(self) -> bool:
        """Virtual time repeats itself to the bit."""
        return True

    def identity(self) -> dict[str, str]:
        """Kernel and guest program by hash, and how they are booted. RunError when one cannot be read."""
        return {
            "ground": "virtual",
            "kernel_sha256": sha256_of_file(self.machine.kernel),
            "guest_sha256": sha256_of_file(self.machine.program),
            "memory": self.machine.memory,
            "arguments": guest.ARGUMENTS,
        }

    def describe(self) -> dict[str, str]:
        """The identity with the kernel's release."""
        return {"kernel": kernel.describe().version, **self.identity()}

    def refusals(self, runs: Sequence[Mapping[str, Any]]) -> list[str | None]:
        """Have one guest start what each run asks of it, over a plain line, and note what it refuses.

        Only the guest knows all that goes together: its stacks and what they need, how long messages may be,
        which services exclude each other, the settings of its kernel.
        """
        if not runs:
            return []
        begun = [_begun(run, str(number)) for number, run in enumerate(runs)]
        with tempfile.TemporaryDirectory(prefix="gauntlet-rehearsal-") as folder:
            for some in _portions(begun, _REHEARSED_BYTES):
                guest.boot(some, Path(folder), seed=1, machine=self.machine, core=cores.usable_cores()[0])
            return [_refusal(_record(Path(folder) / run["id"])) for run in begun]

    def play(
        self, run: Mapping[str, Any], out: Path, *, place: Place, on_event: OnEvent | None = None
    ) -> Path:
        """Boot a guest with the seed and the memory of the run. Raises RunError as `guest.boot` does."""
        guest.boot(
            [run],
            out,
            seed=run["seed"],
            machine=self.machine.with_memory(run.get("memory_mib")),
            core=place.core,
            on_event=on_event,
            console=place.console,
            enter=place.enter,
        )
        folder = out / str(run["id"])
        if not (folder / "record.json").is_file():
            raise RunError("The guest ended without a record of its run.")
        return folder


def _portions(runs: Sequence[dict[str, Any]], size_bytes: int) -> Iterator[list[dict[str, Any]]]:
    """The runs in order, in lists whose plans have `size_bytes` at most; a larger one stands alone."""
    some: list[dict[str, Any]] = []
    filled = 0
    for run in runs:
        own = len(json.dumps(run))
        if some and filled + own > size_bytes:
            yield some
            some, filled = [], 0
        some.append(run)
        filled += own
    if some:
        yield some


def _begun(run: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The first moment of a run: its own flows, all at once, and its settings, over a plain line.

    Rules of in-path nodes are read and do nothing: a flow that a rule ends can be played, and its end is what
    the run is for.
    """
    shaped = {entry["link"] for entry in run["timeline"] if "rate_bps" in entry}
    rates = [{"at_s": 0.0, "link": link, "rate_bps": _RATE_BPS} for link in sorted(shaped)]
    flows = [{**flow, "start_s": 0.0} for flow in run["flows"] if not _ships(flow)]
    programs = any(flow["stack"] == _EXTERNAL for flow in flows)
    limit_s = _PROGRAMS_ENDED_AFTER_S if programs else _ENDED_AFTER_S
    nodes = [{**node, "rules": [_unmet(rule) for rule in node["rules"]]} for node in run.get("in_path", ())]
    begun = {**run, "id": name, "limit_s": limit_s, "timeline": rates, "flows": flows}
    return {**begun, "in_path": nodes} if nodes else begun


def _ships(flow: Mapping[str, Any]) -> bool:
    """Whether programs that ship carry a flow."""
    return flow["stack"] == _EXTERNAL and any(
        word.startswith(_SHIPPED) for word in flow["stack_params"]["client"]
    )


def _unmet(rule: Mapping[str, Any]) -> dict[str, Any]:
    """The rule for packets, or a call of the clock, that come too late."""
    match = rule["match"]
    key = "at_s" if "at_s" in match else "from_s"
    return {**rule, "match": {**match, key: max(match.get(key, 0.0), _UNMET_S)}}


def _refusal(record: Mapping[str, Any]) -> str | None:
    """Why the run cannot be played, without a full stop; None when it can."""
    if record["outcome"] != "ok":
        reasons = [record["reason"]]
    else:
        late = _until_the_end(record)
        failed = [flow for flow in record["flows"] if flow["outcome"] != "ok"]
        reasons = [flow["reason"] for flow in failed if flow["id"] not in late]
    found = next((reason for reason in reasons if _ENDED not in reason), None)
    return None if found is None else found.rstrip(".")


def _until_the_end(record: Mapping[str, Any]) -> set[str]:
    """Flows whose programs were at work when the rehearsal ended, or gave up shortly before, for they know
    how much time they have: these could have been played.
    """
    found = set()
    for programs in record.get("external", ()):
        last = programs.get("client") or programs.get("server")
        if last is not None and last["finished_s"] > 0.9 * _PROGRAMS_ENDED_AFTER_S:
            found.add(programs["flow"])
    return found


def _record(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder / "record.json").read_text())
    return record
