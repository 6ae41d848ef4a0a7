"""What the benches of a command link have in common: names of what is compared, and the machine."""

from collections.abc import Iterable
from typing import Any

from gauntlet.errors import UserError
from gauntlet.experiment.runspec import Factor
from gauntlet.space.machine import description
from gauntlet.space.programs import BENCH, MEMORY, about, core, program

SECURITIES: dict[Any, str] = {
    "none": "nothing",
    "sdls-gcm": "SDLS by RustCrypto",
    "sdls-gcm-aws-lc": "SDLS by AWS-LC",
    "sdls-cmac": "SDLS, authentication only",
    "quic-stream": "QUIC stream",
    "quic-datagram": "QUIC datagrams",
    "tls": "TLS over TCP",
    "restp": "ResTP protected",
}
"""Those of the plans that the study SPACE registered."""

BEYOND: dict[Any, str] = {"dtls": "DTLS 1.3"}
"""Those that came later. Benches of their own measure them, so that what is registered stays what it is."""

S2N: dict[Any, str] = {"s2n-stream": "QUIC stream by s2n-quic", "s2n-datagram": "QUIC datagrams by s2n-quic"}
"""A second library of QUIC, which came later still. By quinn are the others."""

QUICS: dict[Any, str] = {
    "quic-stream": "QUIC stream by quinn",
    "quic-datagram": "QUIC datagrams by quinn",
    **S2N,
}
"""Both libraries of QUIC, where they stand beside each other."""

PROVIDERS: dict[Any, str] = {"-": "none", "rustcrypto": "RustCrypto", "aws-lc": "AWS-LC", "ring": "ring"}
"""Those of the plans that the study SPACE registered."""

OPENSSL = "openssl"

UNDER_RUSTLS: dict[Any, str] = {"aws-lc": "AWS-LC", "ring": "ring", OPENSSL: "OpenSSL"}
"""With the library that the study measured, which came later. It is a part of the programs that not every
build has.
"""

CIPHERS: dict[Any, str] = {
    "-": "none",
    "aes-128-gcm": "AES-128-GCM",
    "aes-256-gcm": "AES-256-GCM",
    "chacha20-poly1305": "ChaCha20-Poly1305",
    "aes-256-cmac": "AES-256-CMAC",
}
GROUPS: dict[Any, str] = {
    "x25519": "X25519",
    "p-256": "P-256",
    "p-384": "P-384",
    "p-521": "P-521",
    "x25519mlkem768": "X25519MLKEM768",
}
SIGNATURES: dict[Any, str] = {
    "ed25519": "Ed25519",
    "ecdsa-p256": "ECDSA P-256",
    "rsa-2048": "RSA 2048",
    "-": "none",
}
SERVER, BOTH = "server", "both ends"
"""Who shows a certificate."""


def keeping_to(securities: Iterable[str]) -> list[str]:
    """Words that keep `flight-bench` to these securities, of all that it has."""
    return [word for security in securities for word in ("--security", security)]


def by(providers: Iterable[str]) -> list[str]:
    """Words that have `flight-bench` measure with these libraries under TLS, and with no others."""
    return [word for provider in providers for word in ("--provider", provider)]


def values(names: dict[Any, str]) -> list[Factor]:
    """The values of a factor by how they read."""
    return list(names)


def certificates(mutual: bool) -> str:
    """Who shows a certificate, by whether both do."""
    return BOTH if mutual else SERVER


def ready() -> None:
    """Raise UserError when the programs of flight-links are not built."""
    program(BENCH)
    program(MEMORY)


def ready_with_openssl() -> None:
    """The same, and when OpenSSL is not compiled into them."""
    ready()
    if OPENSSL not in about():
        raise UserError(
            "flight-bench has no OpenSSL in it. `cargo build --profile measure -p flight-links "
            "--features openssl --target-dir target/openssl` builds one that has (Debian: libssl-dev, "
            "pkg-config), and GAUNTLET_FLIGHT_PROGRAMS=target/openssl/measure has it taken."
        )


def ready_without_openssl() -> None:
    """The same, and when OpenSSL is compiled into them: its shared library is in the memory of every process
    then, and its crates are in the programs.
    """
    ready()
    if OPENSSL in about():
        raise UserError(
            "flight-bench has OpenSSL in it, which is in every number of memory and size: "
            "`cargo build --profile measure -p flight-links` builds one without, in target/measure."
        )


def machine() -> dict[str, Any]:
    """The machine, the core that measures, and the libraries that were measured."""
    libraries = [f"{name} {value}" for name, value in about().items()]
    return {**description(), "core": core(), "libraries": libraries}


def facts() -> dict[str, Any]:
    """What parts of one bench have to share: machine and libraries, but not how fast a clock is read."""
    libraries = {name: value for name, value in about().items() if name != "clock_ns"}
    return {**description(), "core": core(), "libraries": libraries}
