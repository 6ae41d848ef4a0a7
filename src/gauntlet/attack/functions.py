"""What a handshake's instructions are spent on, by groups of functions, of Gauntlet's own server and client.

Each is run twice under callgrind, with few requests and with many, each request over a connection of its own.
The difference has no start in it and no end. The kernel's part is not counted: of a system call only what
leads to it.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gauntlet.attack import arena
from gauntlet.attack.run import Client, Outcome, Run
from gauntlet.attack.servers.own import OWN
from gauntlet.errors import RunError

FEW, MANY = 2, 12
"""Requests of the two runs; the difference is that of ten handshakes."""
_INTERVAL_S, _LIMIT_S = 0.2, 30.0

_SHOWN = 20

REST = "rest"
_WORDS: Mapping[str, Sequence[str]] = {
    "key exchange": ("x25519", "curve25519", r"\bfe_", r"\bge_", "table_select"),
    "signature": (
        "ecp_nistz256", "p256", "ecdsa", "ed25519", "ring::ec::", "ring::rsa", "ring::arithmetic", "bn_mul",
        "bn_from", "bn_sqr", "LIMBS_", "limbs_",
    ),
    "hashes, HKDF": (
        "sha256", "sha512", "ring::digest", "ring::hmac", "ring::hkdf", "key_schedule", "Okm",
        "rustls::crypto::ring::h",
    ),
    "AEAD, header protection": (
        "aes_", "aesni", "gcm_", "ghash", "chacha", "poly1305", "ring::aead", "rustls::crypto::cipher",
        "rustls::crypto::ring::(quic|tls13)", "rustls::quic",
    ),
    "certificates": ("webpki", "pki_types", r"\bder::", "x509"),
    "QUIC, reading frames": (
        "quinn_proto::frame", "quinn_proto::varint", "quinn_proto::connection::Connection::process_payload",
        "quinn_proto::connection::Connection::process_early_payload",
    ),
    "QUIC, all else": ("quinn", "rustc_hash", "slab::"),
    "TLS": ("rustls",),
    "HTTP": (r"\bh3", r"\bh2::", "hyper", r"\bhttp::", "httparse", r"\bweb::", "qpack", "hpack"),
    "runtime": (
        "tokio", "mio::", "futures", "std::io", "std::net", "std::sync", "std::time", "socket2",
    ),
    "copies, allocation": ("mem(cpy|move|set|cmp)", "alloc", "free", r"\bbytes::", "heap::"),
    "system-call stubs": (
        "^(send|recv|read|write|epoll|accept|close|socket|connect|bind|[gs]etsockopt|getsockname|getpeername)",
        "^(fcntl|ioctl|shutdown|syscall|clock_gettime|getrandom|__libc_|__GI_)",
    ),
}  # fmt: skip
GROUPS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {name: re.compile("|".join(it)) for name, it in _WORDS.items()}
)
"""What functions are for, by what is in their names; the first that fits counts. What is compiled into its
caller counts as that. An Ed25519 signature uses functions of the key exchange, and counts as it.
"""


@dataclass(frozen=True)
class Spent:
    """Instructions of a handshake with a request for 1,000 bytes."""

    functions: Mapping[str, float]

    @property
    def whole(self) -> float:
        """All of them."""
        return sum(self.functions.values())

    @property
    def groups(self) -> dict[str, float]:
        """By what they are for, all groups; they add up to the whole."""
        found = dict.fromkeys((*GROUPS, REST), 0.0)
        for name, count in self.functions.items():
            found[group(name)] += count
        return found

    def most(self, of: str, number: int) -> list[tuple[str, float]]:
        """The functions of a group that took most, so many of them at most."""
        inside = [it for it in self.functions.items() if group(it[0]) == of]
        return sorted(inside, key=lambda it: it[1], reverse=True)[:number]

    def to_json(self) -> dict[str, Any]:
        """As data: the whole, its groups, and of each the functions that took most."""
        most = {of: dict(self.most(of, _SHOWN)) for of in self.groups}
        return {"instructions": self.whole, "groups": self.groups, "functions": most}


def group(function: str) -> str:
    """What a function is for."""
    return next((name for name, words in GROUPS.items() if words.search(function)), REST)


def difference(less: Mapping[str, int], more: Mapping[str, int], times: int) -> Spent:
    """What one of so many handshakes took that one run has more than another."""
    names = Counter(less) | Counter(more)
    return Spent({it: (more.get(it, 0) - less.get(it, 0)) / times for it in names})


def counted(run: Run, few: int, many: int, folder: Path | None = None) -> tuple[Outcome, Outcome] | None:
    """A run under callgrind, with few requests and with many; None where one was not served."""
    client = replace(run.client, interval_s=_INTERVAL_S, limit_s=_LIMIT_S)
    less, more = (
        arena.play(replace(run, counted=True, client=replace(client, requests=requests)), folder)
        for requests in (few, many)
    )
    unserved = any(it.took_s is None for outcome in (less, more) for it in outcome.requests)
    return None if unserved else (less, more)


def handshake(protocol: str, certificate: str, folder: Path | None = None) -> Mapping[str, Spent]:
    """What a handshake takes of the server and of the client, as `server` and `client`.

    Raises RunError when a request was not served.
    """
    run = Run(OWN, protocol, certificate, Client(FEW, _INTERVAL_S, _LIMIT_S), None, of_a_core=None)
    both = counted(run, FEW, MANY, folder)
    if both is None:
        raise RunError(f"A request over {protocol} was not served, so it cannot be said what one takes.")
    less, more = both
    return {
        who: difference(less.functions[who], more.functions[who], MANY - FEW) for who in ("server", "client")
    }
