"""Certificates for servers of a run: an authority of its own and a server's certificate by it, in a folder."""

import datetime
import importlib.util
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Union

from gauntlet.errors import UserError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.x509 import Certificate

    PrivateKey = Union["EllipticCurvePrivateKey", "Ed25519PrivateKey", "RSAPrivateKey"]

P_256 = "p-256"
KEYS: Mapping[str, str] = MappingProxyType(
    {P_256: "ECDSA P-256", "ed25519": "Ed25519", "rsa-2048": "RSA 2048", "rsa-4096": "RSA 4096"}
)
_YEAR = datetime.timedelta(days=365)


@dataclass(frozen=True)
class Chain:
    """Files in PEM."""

    authority: Path
    """What a client trusts."""
    certificate: Path
    key: Path


def ready() -> None:
    """Raise UserError when what makes certificates is not installed."""
    if importlib.util.find_spec("cryptography") is None:
        raise UserError(
            'Certificates are made by the package cryptography, which is not installed; type `pip install '
            '"gauntlet-net[attack]"`.'
        )


def chain(key: str, folder: Path) -> Chain:
    """The certificate of a server with a key of this kind, made where the folder has none yet; it is good for
    `localhost`, 127.0.0.1 and ::1.
    """
    found = Chain(folder / f"{key}-ca.pem", folder / f"{key}.pem", folder / f"{key}-key.pem")
    if not found.key.exists():
        _make(key, found)
    return found


def _make(kind: str, files: Chain) -> None:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    authority_key, key = _private(P_256), _private(kind)
    authority = _certificate("Gauntlet's authority of one run", authority_key, None, authority_key)
    leaf = _certificate("localhost", key, authority, authority_key)
    files.authority.parent.mkdir(parents=True, exist_ok=True)
    files.authority.write_bytes(authority.public_bytes(Encoding.PEM))
    files.certificate.write_bytes(leaf.public_bytes(Encoding.PEM))
    files.key.touch(mode=0o600)
    files.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _private(kind: str) -> "PrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if kind == P_256:
        return ec.generate_private_key(ec.SECP256R1())
    if kind == "ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(65_537, int(kind.removeprefix("rsa-")))


def _certificate(
    name: str, key: "PrivateKey", by: "Certificate | None", signed_with: "PrivateKey"
) -> "Certificate":
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _YEAR)
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
    )
    if by is not None:
        places = [ipaddress.ip_address(it) for it in ("127.0.0.1", "::1")]
        names = [x509.DNSName("localhost"), *map(x509.IPAddress, places)]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False).add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
    algorithm = None if isinstance(signed_with, Ed25519PrivateKey) else hashes.SHA256()
    return builder.sign(signed_with, algorithm)
