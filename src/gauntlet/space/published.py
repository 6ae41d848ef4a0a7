"""What the study printed (key SPACE: QUIC vs SDLS in NASA's core Flight System, chapter 4)."""

from collections.abc import Mapping
from dataclasses import dataclass

METHOD_SAMPLES = 20
"""Repetitions of every time of a message (section 4.2); the mean is printed. One message left in two seconds
(its Benchmark module, section 3).
"""

METHOD_HANDSHAKES = 10
"""Repetitions of every handshake (section 4.3); the mean is printed."""

METHOD_GAPS_MS = (500, 2000)
"""Gaps that are as good as the study's: after half a second a path is as cold as after two."""

PAYLOADS = (128, 256, 512, 1024)


@dataclass(frozen=True)
class MessageTime:
    """A printed time of one message in microseconds, and what is compared with it here."""

    key: str
    security: str
    provider: str
    cipher: str
    operation: str
    payload_octets: int
    microseconds: float


_LIBRARIES = {"OpenSSL": "aws-lc", "wolfSSL": "ring"}
_CIPHERS = {
    "AES-128-GCM": "aes-128-gcm",
    "AES-256-GCM": "aes-256-gcm",
    "CHACHA20-POLY1305": "chacha20-poly1305",
}
_READ = {
    ("AES-128-GCM", "OpenSSL"): (25, 23.7, 24.5, 24.4),
    ("AES-128-GCM", "wolfSSL"): (24.5, 23.4, 25.5, 25.8),
    ("AES-256-GCM", "OpenSSL"): (23, 21.8, 23.6, 24),
    ("AES-256-GCM", "wolfSSL"): (24.4, 25.8, 24.1, 26),
    ("CHACHA20-POLY1305", "OpenSSL"): (23, 22.8, 22.7, 22.4),
}
"""Table 4.1. Its "SHA368" is SHA384."""
_WRITE = {
    ("AES-128-GCM", "OpenSSL"): (42.5, 41, 42, 41.4),
    ("AES-128-GCM", "wolfSSL"): (41.1, 44.3, 43.5, 43.5),
    ("AES-256-GCM", "OpenSSL"): (40, 42.1, 40.3, 41.3),
    ("AES-256-GCM", "wolfSSL"): (41.2, 40.6, 42.4, 43.5),
    ("CHACHA20-POLY1305", "OpenSSL"): (41, 37, 40, 41),
}
"""Table 4.2."""


def _quic(table: str, operation: str, rows: Mapping[tuple[str, str], tuple[float, ...]]) -> list[MessageTime]:
    return [
        MessageTime(
            f"{table}/{cipher}/{library}/{octets}",
            "quic-stream",
            _LIBRARIES[library],
            _CIPHERS[cipher],
            operation,
            octets,
            time,
        )
        for (cipher, library), times in rows.items()
        for octets, time in zip(PAYLOADS, times, strict=True)
    ]


def _sdls(operation: str, time: float) -> MessageTime:
    key = f"figure-4.1/{operation}/1024"
    return MessageTime(key, "sdls-gcm-aws-lc", "aws-lc", "aes-256-gcm", operation, 1024, time)


MESSAGES: tuple[MessageTime, ...] = (
    _sdls("apply", 19.0),
    _sdls("process", 16.0),
    *_quic("table-4.1", "process", _READ),
    *_quic("table-4.2", "apply", _WRITE),
)
"""Figure 4.1 is a picture: the text tells only its values at 1,024 octets (19, "just under" 16)."""

GROWTH_US = 1.2
"""By how much encrypting 1,024 octets takes longer than encrypting 128 (section 4.2)."""

RATIOS = {"apply": 2.15, "process": 1.5}
"""QUIC's time by SDLS's at 1,024 octets (section 4.2)."""


@dataclass(frozen=True)
class HandshakeTime:
    """A printed computing time of a handshake in microseconds. The signature is not told, ground had no
    certificate and space's was not checked (read in ssloxford/spaceQUIC, cli.c and serv.c).
    """

    group: str
    client: float
    server: float
    printed_total: float

    @property
    def total(self) -> float:
        """Of both ends. For P-256 the study prints 1,219 for 512 + 779 = 1,291: a slip."""
        return self.client + self.server


HANDSHAKES: tuple[HandshakeTime, ...] = (
    HandshakeTime("x25519", 463, 732, 1195),
    HandshakeTime("p-256", 512, 779, 1219),
    HandshakeTime("p-384", 2204, 2526, 4730),
    HandshakeTime("p-521", 4550, 4794, 9344),
)
"""Table 4.3; its "P-512" is P-521."""

WORTH: tuple[tuple[str, str, str, float], ...] = (
    ("section-4.3/worth/client/QUIC", "ground", "quic-stream", 12),
    ("section-4.3/worth/server/QUIC", "space", "quic-stream", 18),
    ("section-4.6/worth/client/SDLS", "ground", "sdls-gcm-aws-lc", 25),
    ("section-4.6/worth/server/SDLS", "space", "sdls-gcm-aws-lc", 37),
)
"""How many messages of 1,024 octets sent are worth a handshake with X25519, by end."""

MEMORY: tuple[tuple[str, str, str, float, float], ...] = (
    ("no security", "none", "-", 84.5, 6.7e3),
    ("SDLS", "sdls-gcm-aws-lc", "aws-lc", 89.5, 8.3e3),
    ("QUIC with OpenSSL", "quic-stream", "aws-lc", 583.3, 13.3e3),
    ("QUIC with wolfSSL", "quic-stream", "ring", 344.8, 9.5e3),
)
"""Table 4.4: peaks of heap and resident set of the whole cFS, in kilobytes."""
