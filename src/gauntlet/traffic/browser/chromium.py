"""How Chromium is started: without a window, with a profile of its own, all origins at one address."""

import base64
import hashlib
import os
import shutil
import ssl
import subprocess
from collections.abc import Iterable
from pathlib import Path

from gauntlet.errors import UserError
from gauntlet.traffic.browser import files

VARIABLE = "GAUNTLET_CHROMIUM"
_NAMES = ("chromium", "chromium-browser", "google-chrome")

_ALWAYS = (
    "--headless=new",
    "--remote-debugging-pipe",
    # Its own sandbox takes namespaces, which root in a network namespace of a run does not give it.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-breakpad",
    "--disable-extensions",
    # What it would ask of its maker's servers is nothing of the site's.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
)


def program() -> Path:
    """The Chromium to use: GAUNTLET_CHROMIUM or the PATH's. Raises UserError where there is none."""
    found = os.environ.get(VARIABLE) or next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None or not Path(found).is_file():
        raise UserError("Chromium is not installed (Debian: chromium), or not where GAUNTLET_CHROMIUM says.")
    return Path(found)


def version() -> str:
    """What it says that it is."""
    done = subprocess.run(
        [str(program()), "--version", "--no-sandbox"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "Chromium"


def command(
    profile: Path, *, http: str, origins: Iterable[int], address: str, port: int, authority: str
) -> list[str]:
    """The command; `http` is 2 or 3, `authority` the certificate in PEM whose key is trusted."""
    hosts = [files.host(it) for it in sorted(set(origins))]
    shown = f"[{address}]" if ":" in address else address
    quic = (
        ["--enable-quic", f"--origin-to-force-quic-on={','.join(f'{it}:{port}' for it in hosts)}"]
        if http == "3"
        else ["--disable-quic"]
    )
    return [
        str(program()),
        *_ALWAYS,
        f"--user-data-dir={profile}",
        f"--host-resolver-rules=MAP *.test {shown}, MAP * ~NOTFOUND",
        f"--explicitly-allowed-ports={port}",
        f"--ignore-certificate-errors-spki-list={key_hash(authority)}",
        *quic,
        "about:blank",
    ]


def key_hash(certificate: str) -> str:
    """SHA-256 of a certificate's public key (SubjectPublicKeyInfo, RFC 5280, section 4.1), in base 64."""
    whole = ssl.PEM_cert_to_DER_cert(certificate)
    _, inside, _ = _element(whole, 0)
    _, at, end = _element(whole, inside)
    fields = []
    while at < end:
        tag, _, after = _element(whole, at)
        fields.append((tag, whole[at:after]))
        at = after
    if fields[0][0] == _VERSION:
        fields.pop(0)
    # Serial number, signature algorithm, issuer, validity and subject stand before the key.
    return base64.b64encode(hashlib.sha256(fields[5][1]).digest()).decode()


_VERSION = 0xA0
"""The tag of a certificate's version, which those of version 1 do not have."""


def _element(data: bytes, at: int) -> tuple[int, int, int]:
    """Tag, beginning and end of the content of an element of DER (X.690, section 8.1)."""
    length, begin = data[at + 1], at + 2
    if length & 0x80:
        count = length & 0x7F
        length, begin = int.from_bytes(data[begin : begin + count]), begin + count
    return data[at], begin, begin + length
