"""What an SCTP receiver's way of reading changes: the same losses, with totals only and with every message.

A receiver that notes each message reads the clock for each; one that wants totals reads hundreds in a call
(docs/virtual-time.md, "Reading the clock takes a step"). Each seed is played both ways on the line of
`benchmarks/run.py` with 1 % loss, packets recorded; printed is the first packet that differs and how far
apart the last messages are. Writes `build/bench-sctp_reading.json`.
"""

import json
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gauntlet.engine import cores
from speed import line, program
from speed.host import guest_kernel, host

FULL_SEEDS, FULL_BYTES = 12, 4_000_000
SHORT_SEEDS, SHORT_BYTES = 1, 200_000
LOSSY_LINK, LOSS = "ra>rabc", 0.01
STEP_NS = 256
"""A step of the guest's clock (TIMER_MULTIPLIER in arch/um/kernel/time.c)."""
RECORD_BYTES, HEADER = 128, struct.Struct("<qHHI")
"""A record of packets.bin (docs/formats/record.md): instant, tap, bytes kept, length; then the headers."""

Packet = tuple[int, int, int, bytes]


def main() -> None:
    """Play every seed both ways, print and write what differs."""
    parser = program.options("sctp_reading", "SCTP read in two ways.", "one seed, 200 kB")
    chosen = parser.parse_args()
    seeds, size_bytes = (SHORT_SEEDS, SHORT_BYTES) if chosen.short else (FULL_SEEDS, FULL_BYTES)
    core = cores.usable_cores()[-1]
    found = []
    for seed in range(1, seeds + 1):
        totals, links, totals_end_s = played(seed, size_bytes, core, messages=False)
        each, _, each_end_s = played(seed, size_bytes, core, messages=True)
        later_ms = (each_end_s - totals_end_s) * 1e3
        first = first_difference(totals, each)
        said = "none"
        if first is not None:
            link, steps = links[first[0][1]], (first[1][0] - first[0][0]) / STEP_NS
            said = f'on "{link}" at {first[0][0] / 1e9:.6f} s, {steps:+.0f} steps'
        found.append({"seed": seed, "first_difference": said, "last_message_later_ms": later_ms})
        print(f"seed {seed}: first packet that differs: {said}; last message {later_ms:+.4f} ms", flush=True)
    figures = {"host": host(), "guest_kernel": guest_kernel(), "short": chosen.short, "seeds": found}
    program.write(figures, chosen)


def played(
    seed: int, size_bytes: int, core: int, *, messages: bool
) -> tuple[list[Packet], dict[int, str], float]:
    """The packets of a run in order, the taps' links by number, and when the last message came."""
    run: dict[str, Any] = line.run(
        line.flow("sctp", {}, "bulk", {"size_bytes": size_bytes}),
        {"messages": messages, "packets": "headers"},
    )
    run["seed"] = seed
    delay_s = line.DELAY_S * 0.6
    run["timeline"].append({"at_s": 0.0, "link": LOSSY_LINK, "delay_s": delay_s, "loss": LOSS})
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder:
        line.play(run, Path(folder), core)
        record = json.loads((Path(folder) / line.RUN_ID / "record.json").read_text())
        stored = (Path(folder) / line.RUN_ID / "packets.bin").read_bytes()
    links = {tap["tap"]: tap["link"] for tap in record["taps"]}
    return sorted(packets(stored)), links, float(record["flows"][0]["last_received_s"])


def packets(stored: bytes) -> Iterator[Packet]:
    """The records of a packets.bin."""
    for at in range(0, len(stored), RECORD_BYTES):
        t_ns, tap, kept, length = HEADER.unpack_from(stored, at)
        yield t_ns, tap, length, stored[at + HEADER.size : at + HEADER.size + kept]


def first_difference(one: list[Packet], other: list[Packet]) -> tuple[Packet, Packet] | None:
    """The first packet of a run that is not the other's of the same place at its tap."""
    found = []
    for tap in {packet[1] for packet in one}:
        pairs = zip(
            (packet for packet in one if packet[1] == tap),
            (packet for packet in other if packet[1] == tap),
            strict=False,
        )
        found += [pair for pair in pairs if pair[0] != pair[1]][:1]
    return min(found, default=None)


if __name__ == "__main__":
    program.end(main)
