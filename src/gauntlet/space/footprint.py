"""What securities take beside time: memory, instructions, the size of their code."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from gauntlet.errors import RunError, UserError
from gauntlet.space.programs import MEMORY, credentials, first_row, program

Pair = tuple[str, str]
"""A security with the provider of TLS; those without TLS take no notice of it."""

SECURITIES: tuple[Pair, ...] = (
    ("none", "aws-lc"),
    ("sdls-gcm", "aws-lc"),
    ("sdls-gcm-aws-lc", "aws-lc"),
    ("sdls-cmac", "aws-lc"),
    ("quic-stream", "aws-lc"),
    ("quic-stream", "ring"),
    ("quic-datagram", "aws-lc"),
    ("tls", "aws-lc"),
    ("tls", "ring"),
    ("restp", "aws-lc"),
)
"""Those of the plans that the study SPACE registered."""

BEYOND: tuple[Pair, ...] = (("dtls", "aws-lc"),)
"""Those that came later."""

S2N: tuple[Pair, ...] = (("s2n-stream", "aws-lc"), ("s2n-stream", "ring"), ("s2n-datagram", "aws-lc"))
"""A second library of QUIC. Its first packets and tokens are AWS-LC's work under either provider."""

QUICS: tuple[Pair, ...] = (*(pair for pair in SECURITIES if pair[0].startswith("quic-")), *S2N)
"""Both libraries of QUIC, in one program."""

OPENSSL: tuple[Pair, ...] = (
    ("none", "aws-lc"),
    ("quic-stream", "aws-lc"),
    ("quic-stream", "ring"),
    ("quic-stream", "openssl"),
)
"""QUIC by the library that the study measured, beside the others in one program. Its shared library is in the
resident set of each, and so in that without security too.
"""

_ALIKE = {
    ("sdls-cmac", "aws-lc"),
    ("quic-datagram", "aws-lc"),
    ("tls", "ring"),
    ("s2n-stream", "ring"),
    ("s2n-datagram", "aws-lc"),
}
"""Those that are much like another."""

_SIGNATURES = {"dtls": "ecdsa-p256"}
"""The keys of certificates where they are not of Ed25519, as the programs have it (`Suite::of`)."""

_LINKS = 33
"""Links open at once, for what a further one takes of memory."""

_MARK = 1 << 24
"""Octets of the block that lies on the heap during the work (`flight-memory --mark`): far more than is taken
before it, so that massif's peak is the work's.
"""

_MESSAGES = 1000
"""Messages of one of two runs under callgrind, of which the other has none: so many, because AWS-LC gathers
randomness when it starts, and spends some 0.3 million instructions more or less on it."""

_HANDSHAKES = 21
"""Links of one of two runs under callgrind, of which the other has one."""

PAYLOADS = (64, 1024)
"""Payloads whose instructions are counted; in between they grow with the length."""

_NUMBERS = "heap rss pss links messages"
"""With what the names of columns begin that have numbers."""

BackEnds = Mapping[str, tuple[str, ...]]
"""The crates of each back end, as symbols name them."""

_BACK_ENDS: BackEnds = {
    "aws-lc": ("aws_lc_rs", "aws_lc_sys", "aws_lc"),
    "ring": ("ring",),
    "rustcrypto": (
        "aes",
        "aes_gcm",
        "ccm",
        "cmac",
        "ctr",
        "ghash",
        "polyval",
        "hmac",
        "sha2",
        "dbl",
        "cipher",
    ),
    "rustls": ("rustls", "webpki", "rustls_pki_types"),
    "quinn": ("quinn_proto",),
    "restp": ("restp_proto", "snow"),
    "sdls": ("sdls",),
}

_C_NAMES = {
    "aws-lc": ("aws_lc_", "AWSLC_", "AWS_LC_", "mlk_", "mld_", "Lmlk_", "Lmld_"),
    "ring": ("ring_core_",),
}
"""With what the names of C functions begin that tell their library."""

_REST = "rest"
"""Rust's standard library, the program itself, and C functions whose names do not tell their library."""

BACK_ENDS: BackEnds = {**_BACK_ENDS, _REST: ()}
"""Rows of the table of sizes that the study SPACE registered."""

BACK_ENDS_S2N: BackEnds = {
    **_BACK_ENDS,
    "s2n-quic": (
        "s2n_quic",
        "s2n_quic_core",
        "s2n_quic_crypto",
        "s2n_quic_platform",
        "s2n_quic_rustls",
        "s2n_quic_transport",
        "s2n_codec",
    ),
    _REST: (),
}
"""The same with the second library of QUIC, which is a part of the rest there. Its driver (`s2n-endpoint`) is
a part of the rest here too, as quinn's is.
"""


def memory(quick: bool, tell: Callable[[str], None], pairs: Sequence[Pair]) -> pa.Table:
    """Heap, resident set, and, where valgrind is installed, the heap of C libraries too."""
    valgrind = _valgrind(tell, "no heap of C libraries")
    with _options(quick, pairs) as each:
        return pa.Table.from_pylist([_memory(valgrind, options) for options in each])


def _memory(valgrind: str | None, options: list[str]) -> dict[str, Any]:
    printed = first_row(_output([str(program(MEMORY)), *options])[0])
    row: dict[str, Any] = {
        name: int(value) if name.startswith(tuple(_NUMBERS.split())) else value
        for name, value in printed.items()
    }
    many = first_row(_output([str(program(MEMORY)), *options, "--links", str(_LINKS)])[0])
    row["rss_a_further_link"] = (int(many["rss_peak"]) - row["rss_peak"]) // (_LINKS - 1)
    row["heap_peak_with_c"] = row["heap_a_further_link_with_c"] = None
    if valgrind:
        one, all_ = (_massif(valgrind, [*options, "--links", str(count)]) for count in (1, _LINKS))
        row["heap_peak_with_c"] = one
        row["heap_a_further_link_with_c"] = (all_ - one) // (_LINKS - 1)
    return row


def instructions(quick: bool, tell: Callable[[str], None], pairs: Sequence[Pair]) -> pa.Table:
    """Instructions of a message and of a handshake, both ends together; no rows without valgrind."""
    schema = pa.schema(
        {
            "security": pa.string(),
            "provider": pa.string(),
            "what": pa.string(),
            "payload_octets": pa.int64(),
            "instructions": pa.int64(),
        }
    )
    valgrind = _valgrind(tell, "no instructions")
    if valgrind is None:
        return pa.Table.from_pylist([], schema)
    payloads = PAYLOADS[-1:] if quick else PAYLOADS
    with _options(quick, pairs) as each:
        counted = [row for options in each for row in _instructions(valgrind, options, payloads)]
    return pa.Table.from_pylist(counted, schema)


def _instructions(valgrind: str, options: list[str], payloads: Sequence[int]) -> Iterator[dict[str, Any]]:
    base, printed = _callgrind(valgrind, [*options, "--messages", "0"])
    name = {column: printed[column] for column in ("security", "provider")}
    for payload in payloads:
        sent = [*options, "--payload", str(payload), "--messages", str(_MESSAGES)]
        counted = (_callgrind(valgrind, sent)[0] - base) // _MESSAGES
        yield {**name, "what": "message", "payload_octets": payload, "instructions": counted}
    if name["security"] == "none" or name["security"].startswith("sdls"):
        return
    many, _ = _callgrind(valgrind, [*options, "--messages", "0", "--links", str(_HANDSHAKES)])
    counted = (many - base) // (_HANDSHAKES - 1)
    yield {**name, "what": "handshake", "payload_octets": None, "instructions": counted}


def sizes(back_ends: BackEnds = BACK_ENDS) -> pa.Table:
    """Code and data of each back end in the program that holds all of them, by its symbols."""
    tool = shutil.which("nm")
    if tool is None:
        raise UserError("nm is not installed, which tells the sizes of code (Debian: binutils).")
    said = _output([tool, "--print-size", "--demangle", str(program(MEMORY))])[0]
    found = {name: {"code_octets": 0, "data_octets": 0} for name in back_ends}
    for size, kind, name in symbols(said):
        found[of_back_end(name, back_ends)]["code_octets" if kind in "tTwW" else "data_octets"] += size
    return pa.Table.from_pylist(
        [{"back_end": name, **octets, "parts": " ".join(back_ends[name])} for name, octets in found.items()]
    )


def symbols(said: str) -> list[tuple[int, str, str]]:
    """Size, kind and name of each symbol that `nm --print-size` has a size of; what lies at one place under
    several names counts once.
    """
    found = {}
    for line in said.splitlines():
        matched = re.fullmatch(r"([0-9a-f]+) ([0-9a-f]+) (\w) (.+)", line)
        if matched:
            found[matched[1]] = (int(matched[2], 16), matched[3], matched[4])
    return list(found.values())


def of_back_end(symbol: str, back_ends: BackEnds = BACK_ENDS) -> str:
    """The back end whose crate a symbol names first: `<quinn_proto::x as core::y>::z` is quinn's."""
    first = re.match(r"[<&*(\[ ]*(?:mut |dyn )?([A-Za-z]\w*)", symbol)
    crate = first[1] if first else ""
    for back_end, crates in back_ends.items():
        if crate in crates or crate.startswith(_C_NAMES.get(back_end, ())):
            return back_end
    return _REST


@contextmanager
def _options(quick: bool, pairs: Sequence[Pair]) -> Iterator[list[list[str]]]:
    """Options of the program for each security, with certificates that are there meanwhile; quick, without
    those that are much like another.
    """
    chosen = [pair for pair in pairs if not (quick and pair in _ALIKE)]
    signed = {security: _SIGNATURES.get(security, "ed25519") for security, _ in chosen}
    with credentials(signed.values()) as files:
        yield [
            ["--security", security, "--provider", provider, "--credentials", str(files[signed[security]])]
            for security, provider in chosen
        ]


def _valgrind(tell: Callable[[str], None], without: str) -> str | None:
    found = shutil.which("valgrind")
    if found is None:
        tell(f"valgrind is not installed: {without} (Debian: valgrind).")
    return found


def _output(command: list[str]) -> tuple[str, str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return done.stdout, done.stderr


def _callgrind(valgrind: str, options: list[str]) -> tuple[int, dict[str, str]]:
    """Instructions of a run, and the row that it printed."""
    callgrind = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program(MEMORY))]
    printed, said = _output([*callgrind, *options])
    found = re.search(r"Collected : (\d+)", said)
    if found is None:
        raise RunError("valgrind's callgrind did not say how many instructions it collected.")
    return int(found[1]), first_row(printed)


def _massif(valgrind: str, options: list[str]) -> int:
    """What the heap holds at most while links are opened and used, of C libraries too, in octets above the
    level that it has then: what the program takes to read its options is gone, and in no peak.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "massif"
        # Massif would pass over a peak that is less than 1 % above the last one, which the mark makes large.
        massif = [valgrind, "--tool=massif", "--peak-inaccuracy=0.0", f"--massif-out-file={out}"]
        printed, _ = _output([*massif, str(program(MEMORY)), *options, "--mark", str(_MARK)])
        snapshots = re.findall(r"mem_heap_B=(\d+)", out.read_text(encoding="utf-8"))
    peak = max(int(octets) for octets in snapshots)
    before = int(first_row(printed)["heap_before"])
    if not _MARK <= before <= peak:
        raise RunError(
            f"massif's peak of {peak} octets is not above the {before} that {MEMORY} says it began from; "
            "build it anew: cargo build --profile measure -p flight-links."
        )
    return peak - before
