"""Is every packet at most as long as the MTU of its link?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gauntlet.certificate.answers import Findings, plural, seconds
from gauntlet.certificate.capture import TapPackets

ETHERNET_MTU_BYTES = 1500
"""MTU of a link that the plan gives none (docs/formats/plan.md)."""

TUNNEL_MTU_BYTES = 1476
"""What a GRE tunnel over IPv4 leaves of an Ethernet MTU: 1500 - 20 - 4."""

_RAIL_D34 = ("rail-d34", "rail-d34-dual")
_RAIL_D34_LANS = ({"tc1", "tc2", "sa", "rasa"}, {"rbsb", "sb", "tsb1", "ts"}, {"rcsc", "sc", "tsc1", "ts"})
"""The host networks of these presets (docs/formats/plan.md), whose packets all have to fit into a tunnel."""


def link_mtu_bytes(network: Mapping[str, Any], link: str) -> int:
    """The largest packet that a link direction `a>b` may carry in the plan's network."""
    ends = set(link.split(">"))
    if network.get("preset") in _RAIL_D34:
        return TUNNEL_MTU_BYTES if any(ends <= lan for lan in _RAIL_D34_LANS) else ETHERNET_MTU_BYTES
    for entry in network.get("links", ()):
        if {entry["a"], entry["b"]} == ends:
            return int(entry.get("mtu_bytes", ETHERNET_MTU_BYTES))
    return ETHERNET_MTU_BYTES


def check_sizes(tap: TapPackets, mtu_bytes: int, findings: Findings) -> None:
    """No packet on the tap is longer than the link's MTU."""
    longest = int(tap.length.max(initial=0))
    above = np.flatnonzero(tap.length > mtu_bytes)
    failure = None
    if len(above):
        failure = (
            f"{plural(len(above), 'packet')} on {tap.link} exceeded the MTU of {mtu_bytes:,} bytes, the "
            f"first at "
            f"{seconds(tap.time_ns[above[0]])}; the longest had {longest:,} bytes."
        )
    findings.add(
        "mtu",
        tap.link,
        failure,
        f"The longest packet on {tap.link} has {longest:,} bytes; {mtu_bytes:,} are allowed.",
        measured={"longest_bytes": longest},
        expected={"mtu_bytes": mtu_bytes},
    )
