"""One run of the laboratory as it is asked for, and what is known when it is over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gauntlet.attack.counters import Memory
from gauntlet.attack.kinds import FLOOD, Kind
from gauntlet.attack.loopback import Address
from gauntlet.attack.requests import Request
from gauntlet.attack.seconds import Second, per_s
from gauntlet.attack.servers.contract import OFF, Server
from gauntlet.attack.share import OF_A_CORE, Throttled
from gauntlet.attack.sockets import Sockets

_NS = 1e-9


@dataclass(frozen=True)
class Client:
    """What the honest client asks for: requests at fixed times, each over a connection of its own."""

    requests: int
    interval_s: float
    limit_s: float
    """A request that is not served after this time is given up."""
    path: str = "/"
    more: tuple[str, ...] = ()
    """Further arguments of gauntlet-web-client."""

    @property
    def sends_s(self) -> float:
        """From the first request to the end of the interval of the last."""
        return self.requests * self.interval_s


@dataclass(frozen=True)
class Attack:
    """How much of which attack, and for how long."""

    kind: Kind
    dose: float
    """Beginnings a second, or connections that are held."""
    seconds: int


@dataclass(frozen=True)
class Run:
    """What is asked for."""

    server: Server
    protocol: str
    certificate: str
    """Kind of its key."""
    client: Client
    attack: Attack | None
    defence: str = OFF
    weakness: str = ""
    tight: bool = False
    """Whether the server is to close soon what is slow (`gauntlet.attack.servers.contract.TIGHT_S`): under
    attacks that time-outs stop.
    """
    of_a_core: float | None = OF_A_CORE
    """What the server may take of a core; None: all of it."""
    client_at_s: float = 0.0
    attack_at_s: float = 0.0
    long_path: str = ""
    """Where the server has a long answer, for attacks that do not take it; empty: where all here have it."""
    at: Address | None = None
    """Where the server listens; None: at a port that is free."""
    more: tuple[str, ...] = ()
    """Further arguments of Gauntlet's own server."""
    counted: bool = False
    """Whether server and client run under valgrind's callgrind, which counts their instructions."""
    cookies: str | None = None
    """When the kernel sends SYN cookies (`gauntlet.attack.namespace.COOKIES`): the run is in a network
    namespace of its own. None: it is on this machine's own loopback, as the machine is.
    """


@dataclass(frozen=True)
class Sample:
    """What the kernel counted of the server at one instant."""

    at_s: float
    """By the monotonic clock."""
    cpu_s: float
    memory: Memory
    sockets: Sockets


@dataclass(frozen=True)
class Outcome:
    """What is known when a run is over; instants are those of the monotonic clock."""

    run: Run
    requests: Sequence[Request]
    client_began_s: float
    client_cpu_s: float | None
    """None: it did not come to its end."""
    client_late_s: float
    """How much later than it was to a request began at most."""
    attack_began_s: float | None
    attack_ended_s: float | None
    seconds: Sequence[Second]
    """What the attacker told, line by line."""
    attacker: Mapping[str, Any] | None
    """Its totals; None where there was no attack or it did not come to its end."""
    samples: Sequence[Sample]
    counted: Mapping[str, Any]
    """What the server says at its end that it has counted; empty of those that count nothing."""
    died: str
    """How the server died meanwhile; empty: it lived."""
    complaints: Sequence[str]
    """What client and attacker say where they failed."""
    others_of_a_core: float
    """What everything else on this machine took meanwhile, in cores."""
    retransmitted_segments: int
    """TCP segments that were sent again meanwhile, whoever sent them."""
    throttled: Throttled | None
    instructions: Mapping[str, int]
    """Of server and client, where they were counted."""
    functions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The same by the functions that took them."""
    tcp: Mapping[str, int] = field(default_factory=dict)
    """What the kernel counted of TCP meanwhile, by its own names, where the run had a namespace of its own.
    """
    libraries: Mapping[str, str] = field(default_factory=dict)
    """What the server says that it is built of, by version; empty of those that do not say."""

    @property
    def window_s(self) -> tuple[float, float]:
        """From when to when both the attack and the client were at work."""
        client = (self.client_began_s, self.client_began_s + self.run.client.sends_s)
        if self.attack_began_s is None or self.attack_ended_s is None:
            return client
        return max(client[0], self.attack_began_s), min(client[1], self.attack_ended_s)

    def during_attack(self) -> list[Request]:
        """The requests that began while the attack went on; without one all."""
        if self.attack_began_s is None or self.attack_ended_s is None:
            return list(self.requests)
        first, last = (at - self.client_began_s for at in (self.attack_began_s, self.attack_ended_s))
        return [it for it in self.requests if first <= it.began_s <= last]

    def sampled(self) -> list[Sample]:
        """The samples of the window; those next to it where it has fewer than two."""
        first, last = self.window_s
        inside = [it for it in self.samples if first <= it.at_s <= last]
        return inside if len(inside) > 1 else list(self.samples)

    @property
    def server_cpu_share(self) -> float | None:
        """Computing time of the server in the window, in cores."""
        return _rate([(it.at_s, it.cpu_s) for it in self.sampled()])

    def told(self, name: str) -> float | None:
        """What the attacker told of in the seconds of the window, a second; None where it told of none."""
        first, last = self.window_s
        return per_s([it for it in self.seconds if first <= it.middle_s <= last], name)

    @property
    def served_per_s(self) -> float:
        """The honest client's requests that were served in the window, a second."""
        first, last = (at - self.client_began_s for at in self.window_s)
        ends = [it.began_s + it.took_s for it in self.requests if it.took_s is not None]
        return sum(first <= end <= last for end in ends) / (last - first) if last > first else 0.0

    @property
    def server_cpu_a_handshake_s(self) -> float | None:
        """Computing time of the server for a handshake that came to its end, with what goes with it; none
        where an attack is no flood of such.
        """
        if self.run.attack is not None and self.run.attack.kind.key != FLOOD:
            return None
        share, completed = self.server_cpu_share, (self.told("completed") or 0.0) + self.served_per_s
        return share / completed if share is not None and completed else None

    @property
    def attacker_cpu_a_handshake_s(self) -> float | None:
        """Computing time of the attacker for the same."""
        if self.run.attack is None or self.run.attack.kind.key != FLOOD:
            return None
        spent, completed = self.told("cpu_ns"), self.told("completed")
        return spent * _NS / completed if spent is not None and completed else None

    def attacker_headroom(self, of_a_core: float) -> float | None:
        """How many times as much the attacker could begin until it takes this share of its core; None where
        it did nothing.
        """
        spent = self.told("cpu_ns") if self.run.attack is not None else None
        return of_a_core / (spent * _NS) if spent else None

    @property
    def held(self) -> int:
        """The most connections that the attacker held at a time."""
        totals = self.attacker or {}
        return int(totals.get("held_max", totals.get("held", 0)))

    @property
    def dropped_packets(self) -> int:
        """Packets that found a full queue at the server's sockets."""
        counts = [it.sockets.dropped for it in self.samples]
        return max(counts) - counts[0]

    @property
    def process_growth_bytes(self) -> int:
        """By how much the server's process grew at most over what it was before."""
        return max(it.memory.proportional for it in self.samples) - self.samples[0].memory.proportional

    @property
    def kernel_growth_bytes(self) -> int:
        """By how much the kernel's memory for its sockets grew at most."""
        return max(it.sockets.bytes for it in self.samples) - self.samples[0].sockets.bytes


def _rate(points: Sequence[tuple[float, float]]) -> float | None:
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return None
    (first_s, first), (last_s, last) = points[0], points[-1]
    return (last - first) / (last_s - first_s)
