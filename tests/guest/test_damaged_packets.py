"""Links that damage packets, and byte streams whose instants cannot be worked out from packets.

The checks of the crate `workload` compare the instants of one and the same run with a receiver that wakes.
"""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.guest.conftest import Play, run_plan, tcp_flow

TOLERANCE_NS = 100_000
"""Readings of the clock by a receiver that wakes, of 256 ns each."""

DELAYED_ACK_NS = 50_000_000
"""How long the receiver mostly waits with an acknowledgement (TCP_DELACK_MIN, 40 ms, and two ticks)."""

LONGEST_DELAYED_ACK_NS = 64_000_000
"""And where packets came almost so far apart: half as long again, and a tick (tcp_event_data_recv)."""

RECORD_BYTES = 128
"""Of a packet in packets.bin, with its headers (docs/formats/record.md)."""

ELSEWHERE = {**run_plan()["record"], "taps": ["client>west"]}


def _damaging(corrupt: float, link: str = "mid>east", **changes: Any) -> dict[str, Any]:
    return run_plan(
        timeline=[*run_plan()["timeline"], {"at_s": 0.0, "link": link, "corrupt": corrupt}], **changes
    )


def _received_ns(folder: Path, flow: int) -> list[int | None]:
    with pa.memory_map(str(folder / "messages.arrow")) as source:
        table = pa.ipc.open_file(source).read_all()
    rows = table.select(["flow", "received_ns"]).to_pylist()
    return [row["received_ns"] for row in rows if row["flow"] == flow]


def _apart_ns(here: Path, there: Path, flow: int) -> int:
    """By how much the instants of a flow that arrived whole in both runs differ at most."""
    a, b = _received_ns(here, flow), _received_ns(there, flow)
    assert a
    assert None not in a + b
    return max(abs((one or 0) - (other or 0)) for one, other in zip(a, b, strict=True))


def _acknowledged_ns(folder: Path, record: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Bytes that the receiver of the first flow had acknowledged, each with the instant of the packet."""
    first = record["paths"][0]["return"][0]
    tap = next(tap["tap"] for tap in record["taps"] if tap["link"] == first)
    content = (folder / "packets.bin").read_bytes()
    packets = [content[at : at + RECORD_BYTES] for at in range(0, len(content), RECORD_BYTES)]
    found = []
    for packet in packets:
        t_ns, number = struct.unpack_from("<qH", packet)
        if number == tap:
            # The acknowledgement number of TCP over IPv4 without options (RFC 9293, section 3.1).
            found.append((struct.unpack_from(">I", packet, 16 + 20 + 8)[0], t_ns))
    # That of the SYN-ACK is the number of the first byte.
    return [((acknowledged - found[0][0]) % 2**32, t_ns) for acknowledged, t_ns in found]


@pytest.mark.parametrize("link", ["mid>east", "east>server"])
def test_what_is_damaged_arrives_when_it_is_sent_again(play: Play, tmp_path: Path, link: str) -> None:
    """The receiver acknowledges what it has soon after it has it, and what was damaged a round trip later.

    On the last link it is the receiver itself that finds damage of the IP header or of the Ethernet address.
    About every eighth flipped bit is one of the fields that only the IP checksum covers, every eleventh one
    of the address.
    """
    size_bytes = 1_500_000
    run = _damaging(0.05, link, flows=[tcp_flow(size_bytes)])
    record = play(run)["run"]
    (flow,) = record["flows"]
    assert (flow["outcome"], flow["delivery_instants"]) == ("ok", "wire"), flow["reason"]
    folder = tmp_path / "out" / "run"
    acknowledged, instants = _acknowledged_ns(folder, record), _received_ns(folder, 0)
    message_bytes = flow["message_size_bytes"]
    late_ns = []
    for number, received_ns in enumerate(instants, start=1):
        end = min(number * message_bytes, size_bytes)
        late_ns.append(next(t_ns for had, t_ns in acknowledged if had >= end) - (received_ns or 0))
    assert min(late_ns) >= 0
    # Some fifty packets were damaged: were those told, each would be acknowledged a round trip late.
    assert sum(it > DELAYED_ACK_NS for it in late_ns) <= 3
    assert max(late_ns) <= LONGEST_DELAYED_ACK_NS


def test_tls_arrives_over_a_link_that_damages_packets(play: Play) -> None:
    """Twenty-four runs, among them some in which damaged headers say what nobody sent."""
    flow = tcp_flow(150_000, stack="tls")
    runs = [_damaging(0.1, id=f"seed-{seed}", seed=seed, flows=[flow]) for seed in range(1, 25)]
    for name, record in play(*runs).items():
        assert record["outcome"] == "ok", (name, record["reason"])
        (found,) = record["flows"]
        assert (found["outcome"], found["delivery_instants"]) == ("ok", "wire"), (name, found["reason"])


def _udp() -> dict[str, Any]:
    source = {"rate_bps": 100_000, "message_size_bytes": 1000, "duration_s": 1.0}
    return {**tcp_flow(id="f1", stack="udp", stack_params={}), "app": "cbr", "app_params": source}


def test_a_flow_whose_instants_cannot_be_known_fails_alone(play: Play, tmp_path: Path) -> None:
    """A line without a rate brings more packets at once than the capture can take."""
    delay = [{"at_s": 0.0, "link": link, "delay_s": 0.001} for link in ("mid>east", "mid>west")]
    found = play(run_plan(flows=[tcp_flow(30_000_000), _udp()], timeline=delay))["run"]
    assert found["outcome"] == "ok", found["reason"]
    assert sum(tap["missed_packets"] for tap in found["taps"]) > 0
    tcp, udp = found["flows"]
    assert tcp["outcome"] == "failed"
    assert "too few" in tcp["reason"]
    assert set(_received_ns(tmp_path / "out" / "run", 0)) == {None}
    assert (udp["outcome"], udp["received_messages"]) == ("ok", udp["sent_messages"])


def test_instants_are_those_of_the_receiver_wherever_the_plan_taps(play: Play, tmp_path: Path) -> None:
    flow = tcp_flow(300_000)
    play(run_plan(id="here", flows=[flow]), run_plan(id="there", flows=[flow], record=ELSEWHERE))
    assert _apart_ns(tmp_path / "out" / "here", tmp_path / "out" / "there", 0) < TOLERANCE_NS
