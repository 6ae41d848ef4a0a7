"""Changes of routes in a plan, and their checks on this side (docs/formats/plan.md). The guest checks the
same on its own, and that no change leads packets round in a circle.
"""

from collections.abc import Callable, Sequence
from ipaddress import ip_address, ip_interface, ip_network
from itertools import pairwise
from typing import Annotated, Protocol, TypeVar

from pydantic import Field

from gauntlet.experiment.strict import Strict

Read = TypeVar("Read")


class PlanRouteChange(Strict):
    """From an instant on a node sends what goes to a prefix by another next hop, or knows no way there."""

    at_s: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    node: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]
    to: str
    """A prefix, an address, or default."""
    via: str | None
    """The address of a next hop; None: there is no way."""


class _Node(Protocol):
    name: str
    switch: bool


class _Address(Protocol):
    node: str
    address: str


def in_order(changes: list[PlanRouteChange]) -> list[PlanRouteChange]:
    """The changes themselves. Raises ValueError where one is too early or there twice."""
    for before, after in pairwise(changes):
        if after.at_s < before.at_s:
            raise ValueError(
                f"the entry at {after.at_s:g} s stands after one at {before.at_s:g} s; sort by at_s."
            )
    at_once = [(change.at_s, change.node, change.to) for change in changes]
    for at_s, node, to in at_once:
        if at_once.count((at_s, node, to)) > 1:
            raise ValueError(f"the route of '{node}' to {to} changes twice at {at_s:g} s; keep one of them.")
    return changes


def check(changes: Sequence[PlanRouteChange], nodes: Sequence[_Node], addresses: Sequence[_Address]) -> None:
    """Check them against a network that a plan writes out. Raises ValueError with one sentence."""
    known = {node.name for node in nodes if not node.switch}
    owner = {ip_interface(it.address).ip: it.node for it in addresses}
    for change in changes:
        here = f"the route of '{change.node}' to {change.to} at {change.at_s:g} s"
        if change.node not in known:
            raise ValueError(f"{here}: there is no node of that name that has routes; name one of the nodes.")
        if change.to != "default":
            _read(ip_network, change.to, f"{here}: 'to' is no prefix and no address; write one, or default.")
        if change.via is None:
            continue
        via = _read(ip_address, change.via, f"{here}: 'via' is no address; write one, or null for no way.")
        own = [ip_interface(it.address) for it in addresses if it.node == change.node]
        if owner.get(via) in (None, change.node) or not any(via in it.network for it in own):
            raise ValueError(f"{here}: the next hop {via} is at the other end of no link of '{change.node}'.")


def _read(kind: Callable[[str], Read], text: str, wrong: str) -> Read:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(wrong) from None
