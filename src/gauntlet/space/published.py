"""What the study printed (key SPACE: QUIC vs SDLS in NASA's core Flight System, chapter 4)."""

from dataclasses import dataclass

METHOD_GAP_MS = 2000
"""One message every two seconds (its Benchmark module, section 3)."""

METHOD_SAMPLES = 20
"""Repetitions of every time of a message (section 4.2); the mean is printed."""

METHOD_HANDSHAKES = 10
"""Repetitions of every handshake (section 4.3); the mean is printed."""


@dataclass(frozen=True)
class MessageTime:
    """A printed time of one message in microseconds, and what is compared with it here."""

    where: str
    security: str
    provider: str
    operation: str
    payload_octets: int
    microseconds: float


def _row(
    where: str, security: str, provider: str, operation: str, times: dict[int, float]
) -> list[MessageTime]:
    return [MessageTime(where, security, provider, operation, octets, us) for octets, us in times.items()]


MESSAGES: tuple[MessageTime, ...] = (
    *_row("section 4.2, Figure 4.1", "sdls-gcm", "rustcrypto", "apply", {1024: 19.0}),
    *_row("section 4.2, Figure 4.1", "sdls-gcm", "rustcrypto", "process", {1024: 16.0}),
    *_row("section 4.2, Figure 4.1", "sdls-gcm-aws-lc", "aws-lc", "apply", {1024: 19.0}),
    *_row("section 4.2, Figure 4.1", "sdls-gcm-aws-lc", "aws-lc", "process", {1024: 16.0}),
    *_row(
        "Table 4.1, AES-256-GCM, OpenSSL",
        "quic-stream",
        "aws-lc",
        "process",
        {128: 23.0, 256: 21.8, 512: 23.6, 1024: 24.0},
    ),
    *_row(
        "Table 4.2, AES-256-GCM, OpenSSL",
        "quic-stream",
        "aws-lc",
        "apply",
        {128: 40.0, 256: 42.1, 512: 40.3, 1024: 41.3},
    ),
)
"""Figure 4.1 is a picture: the text tells only its values at 1,024 octets (19, "just under" 16)."""


@dataclass(frozen=True)
class HandshakeTime:
    """A printed computing time of a handshake in microseconds. The signature is not told, ground had no
    certificate and space's was not checked (read in ssloxford/spaceQUIC, cli.c and serv.c).
    """

    group: str
    client: float
    server: float

    @property
    def total(self) -> float:
        """Of both ends. For P-256 the study prints 1,219 for 512 + 779 = 1,291: a slip."""
        return self.client + self.server


HANDSHAKES: tuple[HandshakeTime, ...] = (
    HandshakeTime("x25519", 463, 732),
    HandshakeTime("p-256", 512, 779),
    HandshakeTime("p-384", 2204, 2526),
    HandshakeTime("p-521", 4550, 4794),
)
"""Table 4.3; its "P-512" is P-521."""

MEMORY_KB: dict[str, tuple[float, float]] = {
    "no security": (84.5, 6.7e3),
    "SDLS": (89.5, 8.3e3),
    "QUIC with OpenSSL": (583.3, 13.3e3),
    "QUIC with wolfSSL": (344.8, 9.5e3),
}
"""Table 4.4: peaks of heap and resident set of the whole cFS, in kilobytes."""
