"""What a report judges: flows that have the same work to do.

A bulk upload and the messages beside it have nothing in common that a mean could be taken of. Flows of a run
are one *subject* when they have the same application, direction, sizes, times and class of service in every
run, and the same is asked of them; what carries them (protocol, addresses, other options) does not matter,
since that is what is compared. Each subject is judged by itself and named: by `name` of its [[flow]], else by
application and direction.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gauntlet.experiment.protocols import PROTOCOLS
from gauntlet.figures.style import OF_SUBJECT

_WORK = (
    "name",
    "app",
    "direction",
    "packet_bytes",
    "duration_s",
    "size_bytes",
    "pages",
    "page",
    "http",
    "mean_on_s",
    "mean_off_s",
    "interval_s",
    "count",
    "connection",
    "judge",
    "background",
)
"""Keys of a flow's specification (`FlowSpec`) that say what it has to do, and what is asked of it."""


_UNNAMED = ("sender", "receiver")
"""In a network of one's own: between other ends there are other links. Who gives flows one name judges them
as one."""


def subjects_of(specs: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """The subjects of an experiment from its RunSpecs as JSON: place of a flow in its run -> name of its
    subject; all names are empty when there is but one subject.
    """
    most = max((len(spec.get("flows", [])) for spec in specs), default=0)
    of_place: dict[int, str] = {}
    leaders: list[int] = []
    for place in range(most):
        leader = next((it for it in leaders if _same_work(specs, it, place)), None)
        if leader is None:
            leaders.append(place)
        of_place[place] = str(place if leader is None else leader)
    if len(leaders) < 2:
        return dict.fromkeys(range(most), "")
    plain = {str(leader): _name(specs, leader) for leader in leaders}
    names = {
        key: name if list(plain.values()).count(name) == 1 else f"{name}, flow {int(key) + 1}"
        for key, name in plain.items()
    }
    return {place: names[key] for place, key in of_place.items()}


def _same_work(specs: Sequence[Mapping[str, Any]], one: int, other: int) -> bool:
    for spec in specs:
        flows = spec.get("flows", [])
        if max(one, other) >= len(flows):
            continue
        keys = _WORK if flows[one].get("name") else _WORK + _UNNAMED
        if any(flows[one].get(key) != flows[other].get(key) for key in keys):
            return False
        if _dscp(flows[one]) != _dscp(flows[other]):
            return False
        rates = [flows[place].get("rate_bps") for place in (one, other)]
        # None is as much as there is: of "max" a reliable transport sends all it can, another has a number.
        if None not in rates and rates[0] != rates[1]:
            return False
    return True


def _dscp(flow: Mapping[str, Any]) -> int:
    """The class of service that a flow's packets ask for."""
    return int((flow.get("options") or {}).get("dscp", 0))


def _name(specs: Sequence[Mapping[str, Any]], place: int) -> str:
    flow = next(spec["flows"][place] for spec in specs if place < len(spec.get("flows", [])))
    way = f"{flow['sender']} to {flow['receiver']}" if flow.get("sender") else flow.get("direction", "")
    return str(flow.get("name") or f"{flow.get('app', 'flow')} {way}".strip())


def own_stacks(series: Iterable[str]) -> bool:
    """Whether all series are of stacks of the experiment's own."""
    first = [it.rpartition(OF_SUBJECT)[2].partition(" ")[0] for it in series]
    return all(it not in PROTOCOLS for it in first) and not {"", "flow"} & {*first}


def slug(subject: str) -> str:
    """The name of a subject as part of a file's or an element's name."""
    return re.sub(r"[^a-z0-9]+", "-", subject.lower()).strip("-")


def is_greedy(flow: Mapping[str, Any]) -> bool:
    """Whether a flow sends all it can, so that its messages wait in its own sender's buffer."""
    return flow.get("app") in ("cbr", "bulk") and flow.get("rate_bps") is None
