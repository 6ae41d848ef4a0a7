"""Packets of a session's opening that vanish by script: which of them, and on which hop."""

from collections.abc import Iterable
from typing import Any

from gauntlet.errors import UserError
from gauntlet.experiment.networks import NETWORKS
from gauntlet.experiment.runspec import FlowSpec, LinkConditions, RunSpec

_PACKETS = {"none": (), "first-syn": ("syn",), "first-syn-ack": ("syn-ack",), "both": ("syn", "syn-ack")}
"""By the values of [link] drop: the kinds of packets of which the first is lost."""


def check(link: LinkConditions, flows: Iterable[FlowSpec]) -> None:
    """Refuse drops for flows that programs carry: nobody knows which of their packets open a session.

    Which of the guest's own stacks have such packets the guest says itself. Raises UserError.
    """
    carried = next((flow for flow in flows if flow.external is not None), None)
    if link.drop != "none" and carried is not None:
        raise UserError(
            f"[link] drop: programs carry '{carried.app}' over {carried.protocol}, and the packets that open "
            "their sessions are not known; leave the key out or choose another application or protocol."
        )


def scripted(spec: RunSpec) -> list[dict[str, Any]]:
    """The plan's `drops`: the same for every flow, each on the access hop of the direction it goes."""
    if not _PACKETS[spec.link.drop]:
        return []
    network = NETWORKS[spec.link.network]
    asked = []
    for index, flow in enumerate(spec.flows):
        there, back = (network.up, network.down) if flow.direction == "up" else (network.down, network.up)
        for packet in _PACKETS[spec.link.drop]:
            hop = there if packet == "syn" else back
            asked.append({"flow": f"f{index}", "packet": packet, "nth": 1, "link": hop.access[0]})
    return asked
