"""Who is measured: transports of the guest's kernel, transports in user space, paced datagrams."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gauntlet.experiment import expand, parse_experiment, plan_run
from speed import line
from speed.turns import Contender

KERNEL: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "TCP CUBIC": ("tcp", {"congestion_control": "cubic"}),
    "TCP BBR": ("tcp", {"congestion_control": "bbr"}),
    "TCP Reno": ("tcp", {"congestion_control": "reno"}),
    "SCTP": ("sctp", {}),
}
"""Stacks of the kernel with their parameters, by the name in the table."""

USER_SPACE: Mapping[str, float] = {
    "tls-cubic": 1.0,
    "tls-sctp": 1.0,
    "quic-quinn-cubic": 1.0,
    "quic-s2n-cubic": 1.0,
    "restp-file": 1.0,
    "quic-aioquic-newreno": 0.1,
}
"""Protocols that work in user space, with the share of the data that each carries: aioquic computes ten times
as long."""

EXPERIMENT = """
[experiment]
name = "bench"
repetitions = 1
[scenario]
name = "constant"
rate = "{rate_bps}bit/s"
[link]
network = "rail-d34"
channel_delay = "{delay_s}s"
[matrix]
protocols = ["{protocol}"]
[workload]
app = "bulk"
size = "{size_bytes}B"
[record]
messages = false
sockets = false
packets = "none"
"""


def kernel(
    size_bytes: int, record: Mapping[str, Any], core: int, image: Path | None = None
) -> dict[str, Contender]:
    """Greedy flows of the kernel's stacks."""
    return {
        name: line.contender(
            line.run(line.flow(stack, params, "bulk", {"size_bytes": size_bytes}), record), core, image
        )
        for name, (stack, params) in KERNEL.items()
    }


def user_space(size_bytes: int, core: int, image: Path | None = None) -> dict[str, Contender]:
    """Greedy flows of stacks in user space, as an experiment asks for them, nothing recorded."""
    found = {}
    for protocol, share in USER_SPACE.items():
        text = EXPERIMENT.format(
            rate_bps=line.RATE_BPS,
            delay_s=line.DELAY_S,
            protocol=protocol,
            size_bytes=round(size_bytes * share),
        )
        (spec,) = expand(parse_experiment(text, "bench", Path()))
        found[protocol] = line.contender(plan_run(replace(spec, id=line.RUN_ID)), core, image)
    return found


def paced(duration_s: float, core: int) -> dict[str, Contender]:
    """Datagrams at the line's rate, everything recorded."""
    params = {"rate_bps": line.RATE_BPS, "message_size_bytes": 1448, "duration_s": duration_s}
    flow = line.flow("udp", {}, "cbr", params)
    return {"UDP": line.contender(line.run(flow, {**line.EVERYTHING, "socket_interval_s": None}), core)}
