"""Packets of a session's opening that vanish by script: which of them, and on which hop."""

from typing import Any

from gauntlet.experiment.networks import NETWORKS
from gauntlet.experiment.runspec import RunSpec

_PACKETS = {"none": (), "first-syn": ("syn",), "first-syn-ack": ("syn-ack",), "both": ("syn", "syn-ack")}
"""By the values of [link] drop: the kinds of packets of which the first is lost."""


def scripted(spec: RunSpec) -> list[dict[str, Any]]:
    """The plan's `drops`: the same for every flow, each on the access hop of the direction it goes."""
    network = NETWORKS[spec.link.network]
    asked = []
    for index, flow in enumerate(spec.flows):
        there, back = (network.up, network.down) if flow.direction == "up" else (network.down, network.up)
        for packet in _PACKETS[spec.link.drop]:
            hop = there if packet == "syn" else back
            asked.append({"flow": f"f{index}", "packet": packet, "nth": 1, "link": hop.access[0]})
    return asked
