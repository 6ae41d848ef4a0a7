"""The attacks that there are: what each does, over which protocols, and what a server has to hold against it.

Each is a standard's or an advisory's behaviour, played by `gauntlet-attacker` within bounds of rate, number
and time. `weakness` names what Gauntlet's own server can be made to lack, so that the attack must succeed:
the positive control, since an attack that never succeeds tells nothing of who withstands it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from gauntlet.errors import UserError

H1, H2, H3 = "h1", "h2", "h3"
PROTOCOLS: Mapping[str, str] = MappingProxyType(
    {
        H1: "HTTP/1.1 over TLS and TCP",
        H2: "HTTP/2 over TLS and TCP",
        H3: "HTTP/3 over QUIC",
    }
)

FLOOD = "flood"
"""The one whose handshakes come to their end."""

RATE, HELD = "rate", "held"
"""How much of it there is: beginnings a second, or connections that are held open."""

BUILT_UP_S = 5
"""In so many seconds all that are to be held are there: their handshakes shall be no flood."""

SERVICE, MEMORY, STATE, AMPLIFICATION = "service", "memory", "state", "amplification"
"""What a server has to hold: honest clients are served, and about as fast; memory stays within a bound; what
the attack opened is closed when its time is over (where time-outs are known); at most three bytes leave for
one that came before the address is validated.
"""


@dataclass(frozen=True)
class Kind:
    """One attack."""

    key: str
    about: str
    kind: str
    """What `gauntlet-attacker` calls it."""
    protocols: tuple[str, ...]
    dose: str
    """RATE or HELD."""
    usual: int
    """So much of it, unless said otherwise."""
    invariants: tuple[str, ...]
    """What a server has to hold."""
    source: str
    """Where it is described."""
    variant: str = ""
    weakness: str = ""
    """Of Gauntlet's own server, several joined by `+`; empty where the bound lies inside the library and
    cannot be taken away.
    """
    more: tuple[str, ...] = ()
    """Further arguments."""
    long_bytes: int = 0
    """How long the answer is that it asks for; 0: it asks for the page at `/`, or for nothing."""
    timed: bool = False
    """Whether time-outs are what stops it. Against others a server has its usual ones, lest it close the
    connection for being slow that carries the attack.
    """
    forged: bool = False
    """Whether its senders are forged, which takes a network namespace of the run's own."""

    def long_path(self, named: str = "") -> str:
        """Where its long answer is: as named, else where the servers here have it; nowhere: it needs none."""
        return (named or f"/bytes/{self.long_bytes}") if self.long_bytes else ""

    def arguments(
        self, target: str, protocol: str, dose: float, seconds: int, long_path: str = ""
    ) -> list[str]:
        """What `gauntlet-attacker` is asked for; `long_path`: where a server has a long answer, if not where
        the servers here have it.
        """
        variant = ["--variant", self.variant] if self.variant else []
        path = self.long_path(long_path)
        amount = [f"--{self.dose}", f"{dose:g}"]
        if self.dose == HELD:
            amount += ["--rate", f"{max(1.0, dose / BUILT_UP_S):g}"]
        return [
            self.kind, "--target", target, "--protocol", protocol, *variant, *amount,
            "--seconds", str(seconds), *(["--path", path] if path else []), *self.more,
        ]  # fmt: skip


_RFC9000 = "RFC 9000, section 21"
_SPOKEN = ("--interval-ms", "1000", "--silence-ms", "2000")
"""How often what is held says something, and after how long without an answer a connection over QUIC counts
as ended: a server's end without a word is heard, too.
"""
_ALL = (H1, H2, H3)
_LARGE_BYTES = 1 << 20
"""An answer that is longer than what any server should have waiting."""

_KINDS: Sequence[Kind] = (
    Kind(
        FLOOD, "Connections with one request each, as fast as is said.", "flood", _ALL, RATE, 200,
        (SERVICE, MEMORY), "Simpson and others 2024, section 4.1.1", variant="full", more=("--request",),
    ),
    Kind(
        "flood-initial", "First flights whose senders never go on with the handshake, from many addresses.",
        "flood", _ALL, RATE, 200, (SERVICE, MEMORY), f"{_RFC9000}.2; QUICsand (IMC 2021)",
        variant="initial-only", weakness="no-handshake-timeout",
        more=("--sources", "256", "--hold-ms", "10000"), timed=True,
    ),
    Kind(
        "handshake-stall", "Handshakes that are begun and never ended.", "slow", _ALL, HELD, 500,
        (SERVICE, MEMORY, STATE), f"{_RFC9000}.2", variant="handshake-stall", weakness="no-handshake-timeout",
        timed=True, more=_SPOKEN,
    ),
    Kind(
        "header-drip", "Requests whose header comes byte by byte and never ends (slowloris).", "slow", _ALL,
        HELD, 500, (SERVICE, MEMORY, STATE), f"{_RFC9000}.6; slowloris", variant="header-drip",
        weakness="no-header-timeout", timed=True, more=_SPOKEN,
    ),
    Kind(
        "body-drip", "Requests whose body comes byte by byte and never ends.", "slow", _ALL, HELD, 500,
        (SERVICE, MEMORY, STATE), f"{_RFC9000}.6", variant="body-drip",
        weakness="no-body-timeout+no-idle-timeout", timed=True, more=_SPOKEN,
    ),
    Kind(
        "window-starvation", "Answers that are asked for, with hardly any window to send them.", "slow", _ALL,
        HELD, 500, (SERVICE, MEMORY, STATE), f"{_RFC9000}.6", variant="window-starvation",
        weakness="no-idle-timeout", long_bytes=_LARGE_BYTES, timed=True, more=_SPOKEN,
    ),
    Kind(
        "ack-withholding", "Answers that are asked for and never acknowledged.", "slow", _ALL, HELD, 500,
        (SERVICE, MEMORY, STATE), f"{_RFC9000}.6", variant="ack-withholding", weakness="unbounded-sending",
        long_bytes=_LARGE_BYTES, timed=True, more=_SPOKEN,
    ),
    Kind(
        "rapid-reset", "Requests that are taken back at once, again and again.", "rapid-reset", (H2, H3),
        RATE, 4000, (SERVICE, MEMORY), "CVE-2023-44487 (HTTP/2)", weakness="unbounded-resets",
        more=("--requests", "20", "--connections", "16"),
    ),
    Kind(
        "optimistic-ack", "Acknowledgements of packets that have not come.", "optimistic-ack", (H3,), RATE, 4,
        (SERVICE, MEMORY), f"{_RFC9000}.4; CVE-2025-4820", more=("--connections", "4"),
        long_bytes=10_000_000,
    ),
    Kind(
        "cid-exhaustion", "Connection IDs that come when they have been asked back, without end.",
        "cid-exhaustion", (H3,), RATE, 4000, (SERVICE, MEMORY), "CVE-2024-22189, CVE-2024-1410",
        variant="late", more=("--frames", "30"),
    ),
    Kind(
        "header-expansion", "Short headers that stand for long ones (HPACK, QPACK).", "header-expansion",
        (H2, H3), RATE, 800, (SERVICE, MEMORY), "CVE-2025-64702", weakness="unbounded-headers",
        more=("--connections", "64"),
    ),
    Kind(
        "long-settings", "One frame of settings that never ends, which a server may read whole.",
        "long-settings", (H3,), RATE, 10_000, (SERVICE, MEMORY), "RFC 9114, section 10.5",
        weakness="unbounded-control", more=("--connections", "4"),
    ),
    Kind(
        "amplification", "First flights in another's name: how much the server sends whom it does not know.",
        "amplification", (H3,), RATE, 20, (AMPLIFICATION,), "RFC 9000, section 8.1",
        more=("--listen-ms", "3000"),
        weakness="repeats-datagrams",
    ),
    Kind(
        "path-challenge", "Challenges of the path, each of which asks for an answer.", "path-challenge",
        (H3,), RATE, 12_000, (SERVICE, MEMORY), "CVE-2023-49295, CVE-2023-6193", more=("--frames", "100"),
    ),
    Kind(
        "crypto-after-handshake", "CRYPTO frames without end, behind a handshake that is over.",
        "crypto-after-handshake", (H3,), RATE, 10_000, (SERVICE, MEMORY), "CVE-2024-1765",
        weakness="unbounded-crypto",
    ),
    Kind(
        "coalesced-initials", "Datagrams with first packets of several connections.", "coalesced-initials",
        (H3,), RATE, 200, (SERVICE, MEMORY), "CVE-2025-54939", weakness="no-handshake-timeout",
        timed=True,
    ),
    Kind(
        "zero-length", "Datagrams without any content.", "zero-length", (H3,), RATE, 2000,
        (SERVICE, MEMORY), "CVE-2026-11352 (of a client)",
    ),
)  # fmt: skip

KINDS: Mapping[str, Kind] = MappingProxyType({it.key: it for it in _KINDS})
"""Those that are played on this machine's own loopback."""

SYN_FLOOD = Kind(
    "syn-flood", "Connections begun from forged addresses that never answer, in a network namespace.",
    "syn-flood", (H1, H2), RATE, 10_000, (SERVICE, MEMORY), "RFC 4987", forged=True,
)  # fmt: skip

ATTACKS: Mapping[str, Kind] = MappingProxyType({**KINDS, SYN_FLOOD.key: SYN_FLOOD})
"""All that there are."""

LONG_BYTES = tuple(sorted({it.long_bytes for it in _KINDS if it.long_bytes}))
"""Lengths of the answers that a server has to have at /bytes/LENGTH, beside its page."""


def kind(key: str) -> Kind:
    """One attack by its name. Raises UserError with those that there are."""
    if key not in ATTACKS:
        from gauntlet.experiment.strict import unknown_key

        words = unknown_key(key, ATTACKS).replace("keys", "attacks").replace("key", "attack")
        raise UserError(f"{words[0].upper()}{words[1:]}")
    return ATTACKS[key]
