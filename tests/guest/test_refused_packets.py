"""Packets that the sender's own kernel refuses: transports in user space take them for lost on the way.

It refuses none where the host's own link has no queue, which is wherever the plan gives that link neither a
rate nor a delay; and where it has one, the certificate does not take the link for checked.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.guest.conftest import Play, run_plan, tcp_flow

COUNTED = (("Ip", "OutDiscards"), ("Udp", "SndbufErrors"))
"""Of /proc/net/snmp: packets that a socket handed over and that did not leave, for want of room or of a place
(RFC 4293, ipSystemStatsOutDiscards; include/uapi/linux/snmp.h, UDP_MIB_SNDBUFERRORS)."""

OWN_QUEUE = {"at_s": 0.0, "link": "client>west", "rate_bps": 1_000_000, "queue_limit_bytes": 5_000}


def _greedy(name: str, stack: str, own: list[dict[str, Any]], **stack_params: Any) -> dict[str, Any]:
    """A flow as fast as it can, and the counters of its sender's kernel when it is over."""
    source = {"rate_bps": None, "message_size_bytes": 1000, "duration_s": 3.0}
    flow = tcp_flow(stack=stack, stack_params=stack_params, app="cbr", app_params=source)
    look = {"id": "look", "node": "client", "argv": ["/bin/cat", "/proc/net/snmp"], "start_s": 60.0}
    return run_plan(id=name, flows=[flow], programs=[look], timeline=[*own, *run_plan()["timeline"]])


def _refused(lines: list[str]) -> int:
    """The sum of what is counted; a protocol has a line of names and one of numbers."""
    tables = [line.split() for line in lines if line.strip()]
    counters: dict[tuple[str, str], int] = {}
    for names, numbers in zip(tables[::2], tables[1::2], strict=True):
        protocol = names[0].rstrip(":")
        counters |= {(protocol, name): int(it) for name, it in zip(names[1:], numbers[1:], strict=True)}
    return sum(counters[name] for name in COUNTED)


@pytest.mark.parametrize(
    ("stack", "params"),
    [
        ("quic-quinn", {"congestion_control": "cubic"}),
        ("quic-s2n", {"congestion_control": "cubic"}),
        ("restp", {"profile": "file_arq"}),
        ("restp", {"profile": "file_arq", "encapsulation": "ip"}),
    ],
)
def test_the_senders_kernel_refuses_no_packet_but_those_of_a_queue_of_its_own(
    play: Play, stack: str, params: dict[str, Any]
) -> None:
    events: list[Mapping[str, Any]] = []
    runs = [_greedy("line", stack, [], **params), _greedy("own", stack, [OWN_QUEUE], **params)]
    records = play(*runs, events=events)
    said: dict[str, list[str]] = {"line": [], "own": []}
    for event in events:
        if event["event"] == "output":
            said[event["run"]] += event["text"].splitlines()
    lost = {link["link"]: link["dropped_packets"] for link in records["line"]["links"]}
    assert records["line"]["flows"][0]["received_messages"] > 500
    assert _refused(said["line"]) == 0, lost
    # The counters do count.
    own = {link["link"]: link["dropped_packets"] for link in records["own"]["links"]}
    assert _refused(said["own"]) > 0, own
