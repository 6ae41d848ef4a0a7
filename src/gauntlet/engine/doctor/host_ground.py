"""What the host ground can do here: `gauntlet run --engine host`. Nothing that the virtual ground needs."""

from collections.abc import Callable, Mapping
from typing import Any

from gauntlet import engine
from gauntlet.engine.doctor.check import Check
from gauntlet.engine.host import ask
from gauntlet.errors import GauntletError

_STANDS_IN = {"sch_netem": "delay and loss are made by a relay in user space instead"}
"""What becomes of runs without a module, where they are not refused."""

_NOBODY_ASKS = frozenset({"sch_fq"})
"""Tried, and not needed: datagrams are sent when they are due."""

_COUNTED = {
    "cgroup v1": "control groups of version 1 count what each node uses",
    "cgroup v2": "control groups of version 2 count what each node uses",
    "rusage": "no control group can be made, so that what the kernel tells of a process at its end counts",
}


def asked() -> Mapping[str, Any]:
    """What the player says of this host."""
    found: Mapping[str, Any] = ask(engine.player_binary(), "--doctor")
    return found


def checks(answer: Callable[[], Mapping[str, Any]] = asked) -> list[Check]:
    """Whether runs can be played in real time, and which are refused here."""
    try:
        found = answer()
    except GauntletError as error:
        mend = "Only runs with --engine host need it; allow unprivileged user namespaces, or become root."
        return [Check("host ground", False, str(error), mend, required=False)]
    how = f"namespaces by {found['rights']}; {_COUNTED[found['accounting']]}"
    return [Check("host ground", True, how, required=False), _modules(found["modules"])]


def _modules(modules: list[Mapping[str, Any]]) -> Check:
    """Which parts the host's kernel lacks."""
    name = "host's kernel"
    missing = [it for it in modules if it["missing"] is not None and it["name"] not in _NOBODY_ASKS]
    if not missing:
        return Check(name, True, "has all that runs can ask for", required=False)
    refused = [it for it in missing if it["name"] not in _STANDS_IN]
    said = [f"it has no {it['name']} ({_STANDS_IN[it['name']]})" for it in missing if it not in refused]
    said += [f"it has no {it['name']} (runs with {it['purpose']} are refused)" for it in refused]
    names = " ".join(it["name"] for it in missing)
    return Check(
        name,
        False,
        f"For runs with --engine host: {'; '.join(said)}.",
        f"As root, type `modprobe -a {names}`, or take a kernel that has them; the virtual ground has all.",
        required=False,
    )
