"""[server]: what the hosts of the trackside compute with."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from gauntlet.errors import UserError
from gauntlet.experiment import player
from gauntlet.experiment.networks import endpoints
from gauntlet.experiment.protocols import protocol
from gauntlet.experiment.quantities import Time
from gauntlet.experiment.runspec import FlowSpec
from gauntlet.experiment.strict import Strict
from gauntlet.experiment.workloads import app

NONE = "none"
"""The processor of a server that computes for nothing."""
_NS = 10**9


class ProcessorSection(Strict):
    """[server] processor: what work costs on it, in its own time."""

    handshake: Time = 0.0
    """A session that is accepted."""
    request: Time = 0.0
    """A request that is answered: of page and web, and each message of periodic."""
    packet: Time = 0.0
    """A packet that comes or leaves."""

    @model_validator(mode="after")
    def _something(self) -> "ProcessorSection":
        if not self.handshake and not self.request and not self.packet:
            raise ValueError(
                "the processor does everything for nothing; give handshake, request or packet, or none."
            )
        return self


def _or_none(value: object) -> object:
    return None if value == NONE else value


class ServerSection(Strict):
    """[server]: the host of the trackside that waits for sessions."""

    processor: Annotated[ProcessorSection | None, BeforeValidator(_or_none)] = None
    """Its one processor, or none: computing costs nothing."""


def planned(server: ServerSection, network: str, flows: Sequence[FlowSpec]) -> Mapping[str, Any] | None:
    """The plan's `processor`; None without one. Raises UserError where nobody works on it."""
    costs = server.processor
    if costs is None:
        return None
    listening = [(index, flow) for index, flow in enumerate(flows) if _listens_at_trackside(flow)]
    if not listening:
        raise UserError(
            "[server] processor: no flow has its sessions waited for at the trackside; turn the direction of "
            "one."
        )
    able = player.stacks_with("processor")
    for _, flow in listening:
        if flow.external is not None or protocol(flow.protocol).stack not in able:
            raise UserError(
                f"[server] processor: what {flow.protocol} computes cannot be charged; "
                f"{', '.join(sorted(able))} can be."
            )
    hosts = {_trackside(network, flow, index) for index, flow in listening}
    if len(hosts) > 1:
        raise UserError(
            f"[server] processor: the flows have {len(hosts)} servers, {' and '.join(sorted(hosts))}; give "
            "all the same tunnel."
        )
    return {
        "node": hosts.pop(),
        "handshake_ns": round(costs.handshake * _NS),
        "request_ns": round(costs.request * _NS),
        "packet_ns": round(costs.packet * _NS),
    }


def _listens_at_trackside(flow: FlowSpec) -> bool:
    return flow.direction == ("down" if app(flow.app).receiver_opens else "up")


def _trackside(network: str, flow: FlowSpec, index: int) -> str:
    sender, receiver = endpoints(network, flow, index)
    return receiver if flow.direction == "up" else sender
