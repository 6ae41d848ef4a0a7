"""What stands beside the flows that are judged: does it stay the same while their transport is varied?"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def varying_beside(runs: Iterable[Sequence[Mapping[str, Any]]]) -> list[str]:
    """A sentence for each flow in the background that changes its protocol with the flows that are judged, so
    that a comparison of these compares two things at once.

    `runs` has the flows of each run as specifications have them (`FlowSpec`). Where the judged flows keep
    their protocol the background's is what is compared, and nothing is said.
    """
    protocols: dict[int, set[str]] = {}
    background: dict[int, str] = {}
    for flows in runs:
        for place, flow in enumerate(flows):
            protocols.setdefault(place, set()).add(str(flow.get("protocol")))
            if flow.get("background"):
                background[place] = str(flow.get("name") or flow.get("app"))
    varied = {place for place, those in protocols.items() if len(those) > 1}
    if varied <= background.keys():
        return []
    return [
        f"The flow in the background ({name}) changes its protocol with those that are judged, so that two "
        'things differ at once. To compare the judged ones alone, give it one: protocol = "tcp-cubic".'
        for place, name in background.items()
        if place in varied
    ]
