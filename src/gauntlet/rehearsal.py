"""Before the first run: a guest says whether it can play what an experiment asks of it.

Only the guest knows all that goes together: the stacks it was built with, what an application needs of its
transport, how long a message may be, which services exclude each other, which settings its kernel has. So
one guest plays the first moment of every different set of flows of an experiment, over a line on which
nothing goes wrong. Flows that programs carry are left out: their programs would have to start, which takes
longer than all the rest.
"""

import json
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gauntlet.engine import guest, pool
from gauntlet.errors import UserError
from gauntlet.experiment import RunSpec, plan_run
from gauntlet.experiment.external import STACK, check_extras
from gauntlet.experiment.networks import NETWORKS

_RATE_BPS = 10_000_000
_ENDED_AFTER_S = 0.05
"""Virtual seconds: at that rate and without delay enough for any handshake (about ten packets) and some
messages, and few enough packets (40) that a rehearsal costs no more than making its network."""

_ENDED = "the limit of"
"""In the reason of every flow that its run's limit ended: such a flow could have been played."""


def rehearse(specs: Sequence[RunSpec], machine: guest.Machine, source: str) -> None:
    """Have a guest start what `specs` ask of it; `source` names their experiment in error sentences.

    Raises UserError for programs that need what is not installed and with the guest's reason for the first
    run that it cannot play, RunError when no guest boots.
    """
    different = {_asked(spec): spec for spec in reversed(specs)}
    asking = list(reversed(different.values()))
    if not asking:
        return
    check_programs(asking, source)
    with tempfile.TemporaryDirectory(prefix="gauntlet-rehearsal-") as folder:
        runs = [_begun(spec, str(number)) for number, spec in enumerate(asking)]
        guest.boot(runs, Path(folder), seed=1, machine=machine, core=pool.usable_cores()[0])
        for run, spec in zip(runs, asking, strict=True):
            record = json.loads((Path(folder) / run["id"] / "record.json").read_text())
            reason = _refusal(record)
            if reason is not None:
                raise UserError(f"{source}: {_what(spec)} cannot be played: {_worded(reason, spec)}.")


def check_programs(specs: Iterable[RunSpec], source: str) -> None:
    """See that the packages are installed that programs of `specs` need; no guest is booted for it.

    Raises UserError with the command that installs what is missing.
    """
    for spec in specs:
        check_extras((flow.external for flow in spec.flows), f"{source}: {_what(spec)}")


def _asked(spec: RunSpec) -> str:
    """What a guest may refuse of a run; the link's conditions are checked where experiments are read."""
    return repr((spec.link.network, spec.link.drop, spec.flows, spec.record, spec.sysctls))


def _begun(spec: RunSpec, name: str) -> dict[str, Any]:
    """The first moment of a run: its own flows, all at once, and its settings, over a plain line."""
    run = plan_run(replace(spec, id=name, limit_s=_ENDED_AFTER_S))
    network = NETWORKS[spec.link.network]
    rates = [
        {"at_s": 0.0, "link": link, "rate_bps": _RATE_BPS} for link in (*network.up.rate, *network.down.rate)
    ]
    flows = [{**flow, "start_s": 0.0} for flow in run["flows"] if flow["stack"] != STACK]
    return {**run, "timeline": rates, "flows": flows}


def _refusal(record: Mapping[str, Any]) -> str | None:
    """Why the run cannot be played, without a full stop; None when it can."""
    if record["outcome"] != "ok":
        reasons = [record["reason"]]
    else:
        reasons = [flow["reason"] for flow in record["flows"] if flow["outcome"] != "ok"]
    found = next((reason for reason in reasons if _ENDED not in reason), None)
    return None if found is None else found.rstrip(".")


def _worded(reason: str, spec: RunSpec) -> str:
    """The guest's sentence, which has the keys of a plan, with those of an experiment."""
    own = reason.removeprefix("flow f0: ") if len(spec.flows) == 1 else reason
    plain = re.sub(r"`(?:app|stack)_params` of `[\w-]+`: | of `(?:app|stack)_params`", "", own)
    message = "size" if all(flow.app == "periodic" for flow in spec.flows) else "packet"
    keys = {"message_size": message, "peak_rate": "rate"}
    return re.sub(r"`(\w+)_(?:bytes|bps|s)`", lambda name: f"`{keys.get(name[1], name[1])}`", plain)


def _what(spec: RunSpec) -> str:
    apps = " and ".join(f"'{name}'" for name in dict.fromkeys(flow.app for flow in spec.flows))
    return f"'{spec.factors['protocol']}' with the application {apps}"
