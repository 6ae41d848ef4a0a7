"""Certificates of a run: what a TLS library takes, for each kind of key."""

import ssl
from pathlib import Path

import pytest

from gauntlet.attack import certificates
from gauntlet.attack.certificates import KEYS, Chain


def shaken(chain: Chain, name: str) -> dict[str, object]:
    """A handshake in memory between two ends of OpenSSL; the certificate that the client has seen."""
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context(cafile=chain.authority)
    server.load_cert_chain(chain.certificate, chain.key)
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    one = client.wrap_bio(down, up, server_hostname=name)
    other = server.wrap_bio(up, down, server_side=True)
    for _ in range(10):
        try:
            one.do_handshake()
            other.do_handshake()
        except ssl.SSLWantReadError:
            try:
                other.do_handshake()
            except ssl.SSLWantReadError:
                continue
        break
    return dict(one.getpeercert() or {})


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_a_client_that_trusts_the_authority_takes_the_certificate(key: str, name: str, tmp_path: Path) -> None:
    assert shaken(certificates.chain(key, tmp_path), name)


def test_another_name_is_not_taken(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(certificates.chain("p-256", tmp_path), "example.org")


def test_a_folder_keeps_its_certificate(tmp_path: Path) -> None:
    first = certificates.chain("p-256", tmp_path).certificate.read_bytes()
    assert certificates.chain("p-256", tmp_path).certificate.read_bytes() == first
    assert certificates.chain("ed25519", tmp_path).certificate.read_bytes() != first


def test_the_key_is_nobody_elses_to_read(tmp_path: Path) -> None:
    assert certificates.chain("p-256", tmp_path).key.stat().st_mode & 0o077 == 0


def test_the_kinds_are_what_they_are_called(tmp_path: Path) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    found = {
        key: x509.load_pem_x509_certificate(certificates.chain(key, tmp_path).certificate.read_bytes())
        for key in KEYS
    }
    assert isinstance(found["p-256"].public_key(), ec.EllipticCurvePublicKey)
    assert isinstance(found["ed25519"].public_key(), ed25519.Ed25519PublicKey)
    sizes = [key.key_size for it in found.values() if isinstance(key := it.public_key(), rsa.RSAPublicKey)]
    assert sizes == [2048, 4096]
