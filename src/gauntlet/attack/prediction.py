"""A processor in virtual time held against a server that exists: its costs learnt at some loads, other loads
foretold (docs/decisions/0013) and then played.

Gauntlet's own web server has a share of one core and is flooded with whole handshakes at even distances, and
an honest client asks beside them. At the loads `LEARNT` its computing time is counted, with and without a
request after the handshake: what a handshake costs and what a request. A processor of these costs is then put
into virtual time and the loads `HELD_OUT` are played there.

A load is a share of the sessions a second that fill the server's share of its core. Over QUIC all lie below
1: a flow's next session begins when the one before is over, so a flood beyond what a server can do takes a
flow for each session that waits, and an endpoint of QUIC holds more memory than a guest has for that many.
"""

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.ipc

from gauntlet.attack import arena, gates
from gauntlet.attack.certificates import P_256
from gauntlet.attack.kinds import FLOOD, H2, H3, KINDS, Kind
from gauntlet.attack.requests import delays
from gauntlet.attack.run import Attack, Client, Outcome, Run
from gauntlet.attack.servers.own import OWN
from gauntlet.attack.share import OF_A_CORE
from gauntlet.attack.survival import curve
from gauntlet.engine.contract import Engine, Place
from gauntlet.engine.cores import usable_cores
from gauntlet.errors import RunError
from gauntlet.experiment.sysctls import STOCK_SYSCTLS

LEARNT = (0.3, 0.6)
HELD_OUT: Mapping[str, Sequence[float]] = {H2: (0.45, 0.8, 0.95, 1.15), H3: (0.45, 0.8, 0.95)}
STACKS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    H2: ("tls", {"congestion_control": "cubic"}),
    H3: ("quic-quinn", {"congestion_control": "cubic"}),
}
"""What plays a protocol in virtual time."""

PROBED_PER_S = 20.0
"""The flood by which the first cost is found: so few that nothing waits."""
CLIENT = Client(requests=400, interval_s=0.04, limit_s=10.0)
AHEAD_S = 2.0
"""For how long the flood is there before the first honest request."""

MEMORY_MIB = 2048
"""Of a guest with some thousand flows."""
ONE_WAY_S = 50e-6
"""In virtual time; far below a handshake's cost, as loopback is."""
BEGINS_S = 1.0
PATIENCE_S = 0.1
"""So long a session may take below full load before its flow's next one is due."""
LATE_S = 1e-4

QUANTILE = 0.99


@dataclass(frozen=True)
class Work:
    """What a run had the server do, a second, and what it computed for it."""

    handshakes_per_s: float
    requests_per_s: float
    cpu_of_a_core: float


@dataclass(frozen=True)
class Costs:
    """Computing time of the server."""

    handshake_s: float
    request_s: float

    @property
    def capacity_per_s(self) -> float:
        """Sessions with one request each that fill the server's share of a core."""
        return OF_A_CORE / (self.handshake_s + self.request_s)

    def processor(self) -> dict[str, Any]:
        """The processor of a plan: slower than this core by the share of it that the server has."""
        handshake_ns, request_ns = (
            round(cost_s / OF_A_CORE * 1e9) for cost_s in (self.handshake_s, self.request_s)
        )
        return {"node": "server", "handshake_ns": handshake_ns, "request_ns": request_ns, "packet_ns": 0}


def fit(works: Sequence[Work]) -> Costs:
    """The costs that explain the computing time best (least squares), neither below nothing.

    Raises RunError when handshakes and requests were the same everywhere, so that they cannot be told apart.
    """
    hh = math.fsum(it.handshakes_per_s**2 for it in works)
    rr = math.fsum(it.requests_per_s**2 for it in works)
    hr = math.fsum(it.handshakes_per_s * it.requests_per_s for it in works)
    hc = math.fsum(it.handshakes_per_s * it.cpu_of_a_core for it in works)
    rc = math.fsum(it.requests_per_s * it.cpu_of_a_core for it in works)
    apart = hh * rr - hr * hr
    if apart <= 1e-6 * hh * rr:
        raise RunError(
            "Handshakes and requests came in one ratio alone, so their costs cannot be told apart."
        )
    handshake_s, request_s = (hc * rr - rc * hr) / apart, (rc * hh - hc * hr) / apart
    if request_s < 0:
        return Costs(hc / hh, 0.0)
    if handshake_s < 0:
        return Costs(0.0, rc / rr)
    return Costs(handshake_s, request_s)


def flood_per_s(level: float, costs: Costs) -> float:
    """What the attacker begins a second, so that with the honest client's the load is this.

    Raises RunError when the honest client alone is more.
    """
    whole = level * costs.capacity_per_s
    rest = round(whole - 1 / CLIENT.interval_s, 2)
    if rest <= 0:
        raise RunError(
            f"A load of {level:g} is {whole:.1f} sessions a second here, and the honest client alone begins "
            f"{1 / CLIENT.interval_s:g}."
        )
    return rest


def longest_s(level: float) -> float:
    """How long a session may take at a load before its flow's next one is due: what waits at the end of a
    flood beyond the server's means, and some patience.
    """
    floods_s = AHEAD_S + CLIENT.sends_s
    return max(0.0, level - 1) * floods_s * 1.5 + PATIENCE_S


def flows(
    protocol: str, per_s: float, begins_s: float, lasts_s: float, *, patience_s: float, first: int
) -> list[dict[str, Any]]:
    """Flows that begin sessions at even distances together, each its share of them: as many flows as leave
    each session so much time. The ids count from `first`.
    """
    stack, params = STACKS[protocol]
    total = math.ceil(lasts_s * per_s - 1e-9)
    count = min(total, max(1, math.ceil(per_s * patience_s)))
    interval_s = count / per_s
    found = []
    for place in range(count):
        sessions = (total - place + count - 1) // count
        message = {
            "message_size_bytes": 100,
            "interval_s": interval_s,
            "duration_s": interval_s * (sessions - 0.5),
            "connection": "fresh",
        }
        found.append(
            {
                "id": f"f{first + place}",
                "stack": stack,
                "stack_params": dict(params),
                "app": "periodic",
                "app_params": message,
                "from": "client",
                "to": "server",
                "start_s": begins_s + place / per_s,
            }
        )
    return found


def plan(protocol: str, level: float, costs: Costs) -> tuple[dict[str, Any], int]:
    """The run in virtual time, and from which flow on its flows are the honest client's."""
    patience_s = longest_s(level)
    flood = flows(
        protocol,
        flood_per_s(level, costs),
        BEGINS_S,
        AHEAD_S + CLIENT.sends_s + 1,
        patience_s=patience_s,
        first=0,
    )
    honest = flows(
        protocol,
        1 / CLIENT.interval_s,
        BEGINS_S + AHEAD_S,
        CLIENT.sends_s,
        patience_s=patience_s,
        first=len(flood),
    )
    line = [{"at_s": 0.0, "link": link, "delay_s": ONE_WAY_S} for link in ("mid>east", "mid>west")]
    run = {
        "id": "run",
        "seed": 1,
        "limit_s": BEGINS_S + AHEAD_S + CLIENT.sends_s + CLIENT.limit_s + 2 * patience_s,
        "network": {"preset": "wire"},
        "timeline": line,
        "sysctls": dict(STOCK_SYSCTLS),
        "flows": [*flood, *honest],
        "record": {"messages": True, "socket_interval_s": None, "packets": "none", "taps": None},
        "processor": costs.processor(),
        "memory_mib": MEMORY_MIB,
    }
    return run, len(flood)


@dataclass(frozen=True)
class Figures:
    """What is compared of a run."""

    completed_per_s: float
    p99_s: float | None
    """None: it is not within the honest client's limit."""


def foretold(run: Mapping[str, Any], exchanges: Sequence[Mapping[str, Any]], honest: int) -> Figures:
    """The figures of a run in virtual time; flows from `honest` on are the honest client's.

    Raises RunError when a session began late, because its flow's last one was not over.
    """
    begins_s = BEGINS_S + AHEAD_S
    ends_s = begins_s + CLIENT.sends_s
    completed = 0
    took_s: list[float | None] = []
    for row in exchanges:
        flow = run["flows"][row["flow"]]
        due_s = flow["start_s"] + row["seq"] * flow["app_params"]["interval_s"]
        if row["requested_ns"] / 1e9 > due_s + LATE_S:
            raise RunError(
                f"Session {row['seq']} of flow {flow['id']} began {row['requested_ns'] / 1e9 - due_s:.3f} s "
                "late: the flood in virtual time was not the one on the machine. More flows are needed."
            )
        done_ns = row["completed_ns"]
        completed += done_ns is not None and begins_s <= done_ns / 1e9 <= ends_s
        if row["flow"] >= honest:
            took_s.append(None if done_ns is None else (done_ns - row["requested_ns"]) / 1e9)
    p99_s = curve(took_s, CLIENT.limit_s).quantile_s(QUANTILE)
    return Figures(completed / CLIENT.sends_s, p99_s)


def observed(outcome: Outcome) -> Figures:
    """The figures of a run on the machine."""
    completed = (outcome.told("completed") or 0.0) + outcome.served_per_s
    limit_s = outcome.run.client.limit_s
    return Figures(completed, delays(outcome.during_attack(), limit_s).quantile_s(QUANTILE))


def work(outcome: Outcome) -> Work:
    """What a run had the server do. Raises RunError when it tells nothing, with the reasons."""
    reasons = gates.reasons(outcome)
    cpu = outcome.server_cpu_share
    if reasons or cpu is None:
        why = "; ".join(reasons) or "the server's computing time was not counted"
        raise RunError(f"A run from which costs were to be learnt is invalid: {why}.")
    completed, served = outcome.told("completed") or 0.0, outcome.served_per_s
    attack = outcome.run.attack
    asks = attack is not None and "--no-request" not in attack.kind.more
    return Work(completed + served, (completed if asks else 0.0) + served, cpu)


def play_host(protocol: str, per_s: float, *, asks: bool, folder: Path) -> Outcome:
    """One run on the machine."""
    kind: Kind = replace(KINDS[FLOOD], more=("--request" if asks else "--no-request",))
    seconds = math.ceil(AHEAD_S + CLIENT.sends_s) + 1
    attack = Attack(kind, per_s, seconds)
    return arena.play(Run(OWN, protocol, P_256, CLIENT, attack, client_at_s=AHEAD_S), folder)


def learn(protocol: str, repetitions: int, folder: Path, tell: Callable[[str], None]) -> Costs:
    """The costs of a handshake and of a request, at the loads from which it is learnt."""
    tell(f"{protocol}: what a session costs while nothing waits")
    costs = fit([work(play_host(protocol, PROBED_PER_S, asks=asks, folder=folder)) for asks in (True, False)])
    works = []
    for repetition in range(repetitions):
        for level in LEARNT:
            for asks in (True, False):
                tell(f"{protocol}: load {level:g}, repetition {repetition + 1} of {repetitions}")
                outcome = play_host(protocol, flood_per_s(level, costs), asks=asks, folder=folder)
                works.append(work(outcome))
    return fit(works)


def predict(protocol: str, level: float, costs: Costs, engine: Engine) -> Figures:
    """Play a load in virtual time."""
    run, honest = plan(protocol, level, costs)
    with tempfile.TemporaryDirectory(prefix="gauntlet-prediction-") as folder:
        found = engine.play(run, Path(folder), place=Place(usable_cores()[0]))
        record = json.loads((found / "record.json").read_text())
        if record["outcome"] != "ok":
            raise RunError(f"The run in virtual time failed: {record['reason']}.")
        with pyarrow.ipc.open_file(found / "exchanges.arrow") as file:
            return foretold(run, file.read_all().to_pylist(), honest)
