"""Certificates of a run: made once for a folder and kind, and such as TLS libraries take."""

import ssl
from pathlib import Path

import pytest

from gauntlet.attack import certificates
from gauntlet.attack.certificates import Chain
from gauntlet.attack.programs import CERTIFICATE, program
from gauntlet.errors import RunError, UserError

KINDS_OF_OPENSSL = ("p-256", "rsa-2048", "rsa-4096")
"""OpenSSL 3.0 reads no key of Ed25519 with its public half beside it (PKCS #8, version 2)."""


def built() -> bool:
    """Whether the program that makes certificates is there."""
    try:
        program(CERTIFICATE)
    except UserError:
        return False
    return True


def shaken(chain: Chain, name: str) -> dict[str, object]:
    """A handshake in memory between two ends of OpenSSL; the certificate that the client has seen."""
    server, client = (
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER),
        ssl.create_default_context(cafile=chain.authority),
    )
    server.load_cert_chain(chain.certificate, chain.key)
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    one = client.wrap_bio(down, up, server_hostname=name)
    other = server.wrap_bio(up, down, server_side=True)
    left = [one, other]
    for _ in range(10):
        for end in list(left):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            left.remove(end)
    assert not left
    return dict(one.getpeercert() or {})


@pytest.mark.skipif(not built(), reason="gauntlet-web-certificate is not built")
@pytest.mark.parametrize("key", KINDS_OF_OPENSSL)
@pytest.mark.parametrize("name", ["server.gauntlet.test", "127.0.0.1"])
def test_a_client_that_trusts_the_authority_takes_the_certificate(
    key: str, name: str, tmp_path: Path
) -> None:
    assert shaken(certificates.chain(key, tmp_path), name)


@pytest.mark.skipif(not built(), reason="gauntlet-web-certificate is not built")
def test_another_name_is_not_taken(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(certificates.chain("p-256", tmp_path), "example.org")


@pytest.mark.usefixtures("programs")
def test_a_folder_keeps_its_certificate_for_each_kind(tmp_path: Path) -> None:
    first = certificates.chain("p-256", tmp_path).certificate
    first.write_text("kept")
    assert certificates.chain("p-256", tmp_path).certificate.read_text() == "kept"
    assert certificates.chain("ed25519", tmp_path).certificate.read_text() == "ed25519: server.pem\n"
    assert first.with_name("server.key").stat().st_mode & 0o077 == 0, "the key is nobody else's to read"


def test_a_certificate_that_is_not_made_is_a_sentence(programs: Path, tmp_path: Path) -> None:
    (programs / CERTIFICATE).write_text("#!/bin/sh\necho 'no randomness' >&2\nexit 1\n")
    with pytest.raises(RunError, match="No certificate was made: no randomness"):
        certificates.chain("p-256", tmp_path)
