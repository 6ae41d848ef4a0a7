"""What securities take beside time: what valgrind, nm and the programs say is read as they say it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gauntlet.errors import RunError
from gauntlet.space import footprint
from gauntlet.space.programs import first_row


@pytest.mark.parametrize(
    ("symbol", "back_end"),
    [
        ("<quinn_proto::token::Log as core::fmt::Debug>::fmt", "quinn"),
        ("<&mut rustls::conn::Connection as std::io::Read>::read", "rustls"),
        ("aws_lc_0_47_0_EVP_PKEY_new", "aws-lc"),
        ("AWSLC_hmac_in_place_methods_init", "aws-lc"),
        ("ring_core_0_17_14__x25519_fe_mul", "ring"),
        ("ring::aead::seal", "ring"),
        ("<sdls::security::Security>::apply", "sdls"),
        ("restp_proto::endpoint::Endpoint::handle", "restp"),
        ("<aes::soft::Aes256 as cipher::BlockCipher>::encrypt", "rustcrypto"),
        ("ringing::bell", "rest"),
        ("core::ptr::drop_in_place::<quinn_proto::Endpoint>", "rest"),
        ("p384_felem_mul", "rest"),
        ("{closure#0}", "rest"),
    ],
)
def test_a_symbol_is_of_the_crate_that_it_names_first(symbol: str, back_end: str) -> None:
    assert footprint.of_back_end(symbol) == back_end


def test_what_lies_at_one_place_under_two_names_counts_once() -> None:
    said = (
        "0000000000001000 0000000000000010 t sdls::one\n"
        "0000000000001000 0000000000000010 t sdls::other\n"
        "0000000000002000 T no_size\n"
        "                 U imported\n"
        "0000000000003000 00000000000000ff r <sdls::A as B>::TABLE\n"
    )
    assert footprint.symbols(said) == [(16, "t", "sdls::other"), (255, "r", "<sdls::A as B>::TABLE")]


def test_s2n_quic_is_a_part_of_the_rest_but_where_it_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is registered stays what it is, and both ways the sizes come to the same sum."""
    programs(tmp_path, monkeypatch)
    monkeypatch.setattr(shutil, "which", lambda name: str(tmp_path / name))
    nm = tmp_path / "nm"
    nm.write_text(
        "#!/bin/sh\ncat <<'END'\n"
        "0000000000001000 0000000000000010 t <s2n_quic_transport::Endpoint as core::fmt::Debug>::fmt\n"
        "0000000000002000 0000000000000020 t s2n_codec::decoder::decode\n"
        "0000000000003000 0000000000000003 r s2n_quic_core::varint::TABLE\n"
        "0000000000004000 0000000000000040 t quinn_proto::endpoint::Endpoint::handle\n"
        "0000000000005000 0000000000000080 t s2n_endpoint::Slot::take\n"
        "0000000000006000 0000000000000100 W sdls::frame::Frame::checksum\nEND\n"
    )
    nm.chmod(0o755)

    def found(back_ends: footprint.BackEnds) -> dict[str, tuple[int, int]]:
        rows = footprint.sizes(back_ends).to_pylist()
        assert [row["back_end"] for row in rows] == [*back_ends]
        sizes = {row["back_end"]: (row["code_octets"], row["data_octets"]) for row in rows}
        return {name: octets for name, octets in sizes.items() if octets != (0, 0)}

    assert found(footprint.BACK_ENDS) == {"quinn": (64, 0), "sdls": (256, 0), "rest": (176, 3)}
    apart = {"quinn": (64, 0), "sdls": (256, 0), "s2n-quic": (48, 3), "rest": (128, 0)}
    assert found(footprint.BACK_ENDS_S2N) == apart


def valgrind(folder: Path, script: str) -> str:
    """A program in valgrind's place."""
    program = folder / "valgrind"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def programs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs in the place of the one that is measured, and of the one that makes certificates."""
    monkeypatch.setenv("GAUNTLET_FLIGHT_PROGRAMS", str(folder))
    for name, script in (("flight-memory", ""), ("flight-bench", 'echo "$@"')):
        program = folder / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)


def test_instructions_and_what_the_program_printed_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(tmp_path, monkeypatch)
    there = valgrind(tmp_path, "echo security,provider; echo tls,ring; echo '==1== Collected : 1234' >&2")
    assert footprint._callgrind(there, []) == (1234, {"security": "tls", "provider": "ring"})
    with pytest.raises(RunError, match="did not say how many instructions"):
        footprint._callgrind(valgrind(tmp_path, "echo none"), [])
    with pytest.raises(RunError, match="failed: no such thing"):
        footprint._callgrind(valgrind(tmp_path, "echo no such thing >&2; exit 3"), [])


MARK = 1 << 24

MASSIF = "for word; do case $word in --massif-out-file=*) out=${word#*=}; esac; done\n"
"""Where the snapshots are to be written."""


def said(before: int) -> str:
    """What the program prints of the heap that its work began from."""
    return f"echo security,heap_before; echo none,{before}\n"


def test_the_greatest_snapshot_above_the_level_before_the_work_is_the_peak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was larger before the mark than the work is above it is not taken."""
    programs(tmp_path, monkeypatch)
    snapshots = (5, 13_000, 300, MARK + 300, MARK + 4300, MARK + 60)
    script = MASSIF + "".join(f'echo "mem_heap_B={it}" >> "$out"\n' for it in snapshots)
    there = valgrind(tmp_path, script + said(MARK + 300))
    assert footprint._massif(there, []) == 4000


@pytest.mark.parametrize("before", [300, MARK + 5000])
def test_a_peak_that_cannot_be_the_works_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    """A program that knows no mark, and a massif that saw less than the program holds."""
    programs(tmp_path, monkeypatch)
    there = valgrind(tmp_path, f'{MASSIF}echo "mem_heap_B={MARK + 4300}" > "$out"\n{said(before)}')
    with pytest.raises(RunError, match=f"is not above the {before} that flight-memory says"):
        footprint._massif(there, [])


WORK = r"""
#include <stdio.h>
#include <stdlib.h>
static void *volatile kept;
int main(int count, char **words) {
    kept = malloc(200000); free(kept);
    kept = malloc(atoi(words[count - 1]));
    void *volatile work = malloc(30000); free(work);
    work = malloc(29990); free(work);
    printf("security,heap_before\nnone,%s\n", words[count - 1]);
}
"""
"""Takes 200 kB and gives them back, and then has 30 kB above its mark, which is its last option."""


@pytest.mark.skipif(
    not (shutil.which("valgrind") and shutil.which("cc")), reason="valgrind or a compiler is not installed"
)
def test_massif_tells_the_peak_of_the_work_to_the_octet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(tmp_path, monkeypatch)
    source = tmp_path / "work.c"
    source.write_text(WORK)
    subprocess.run(["cc", "-O0", "-o", str(tmp_path / "flight-memory"), str(source)], check=True)
    assert footprint._massif(str(shutil.which("valgrind")), []) == 30_000


OPTIONS = """links=1 messages=1 payload=128
while [ $# -gt 1 ]; do case $1 in
--security) security=$2;; --provider) provider=$2;;
--links) links=$2;; --messages) messages=$2;; --payload) payload=$2;;
esac; shift; done
"""
"""What a program was told."""


def test_a_further_link_is_the_slope_of_resident_set_and_of_the_peak_with_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One link takes 8,000 octets of the resident set and 1,000 of the heap, each further one 48 and 64."""
    programs(tmp_path, monkeypatch)
    (tmp_path / "flight-memory").write_text(
        f"#!/bin/sh\n{OPTIONS}echo security,provider,links,heap_before,heap_peak,rss_peak,pss\n"
        "echo none,-,$links,300,900,$((8000 + 48 * (links - 1))),7000\n"
    )
    monkeypatch.setattr(shutil, "which", lambda name: str(tmp_path / name))
    valgrind(
        tmp_path,
        f'{MASSIF}{OPTIONS}echo "mem_heap_B=$(({MARK} + 1300 + 64 * (links - 1)))" > "$out"\n'
        f"{said(MARK + 300)}",
    )
    (row,) = footprint.memory(False, print, [("none", "aws-lc")]).to_pylist()
    assert (row["heap_peak_with_c"], row["heap_a_further_link_with_c"]) == (1000, 64)
    assert (row["heap_before"], row["pss"]) == (300, 7000)
    assert (row["rss_peak"], row["rss_a_further_link"]) == (8000, 48)


def test_messages_and_handshakes_are_the_slopes_of_their_instructions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run takes 500,000 instructions, a link 90,000, and a message 700 and two for each octet."""
    programs(tmp_path, monkeypatch)
    monkeypatch.setattr(shutil, "which", lambda name: str(tmp_path / name))
    valgrind(
        tmp_path,
        f"{OPTIONS}echo security,provider; echo $security,$provider\n"
        "all=$((500000 + 90000 * links + (700 + 2 * payload) * messages))\n"
        "echo '==1== Collected :' $all >&2",
    )

    def counted(quick: bool) -> list[tuple[object, ...]]:
        pairs = [("sdls-gcm", "aws-lc"), ("none", "aws-lc"), ("tls", "aws-lc")]
        return [tuple(row.values()) for row in footprint.instructions(quick, print, pairs).to_pylist()]

    each = {
        security: [(security, "aws-lc", "message", octets, 700 + 2 * octets) for octets in (64, 1024)]
        for security in ("sdls-gcm", "none", "tls")
    }
    handshake = ("tls", "aws-lc", "handshake", None, 90_000)
    assert counted(False) == [*each["sdls-gcm"], *each["none"], *each["tls"], handshake]
    assert counted(True) == [each["sdls-gcm"][1], each["none"][1], each["tls"][1], handshake]


def test_what_is_measured_reads_certificates_that_another_process_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each security has those of its own signature, and they are gone afterwards."""
    programs(tmp_path, monkeypatch)
    read = tmp_path / "read"
    (tmp_path / "flight-memory").write_text(
        f'#!/bin/sh\ncat "$6" >> {read}; echo "$6" >> {read}\n'
        "echo security,provider,links,heap_peak,rss_peak,pss; echo $2,$4,1,900,8000,7000\n"
    )
    monkeypatch.setattr(shutil, "which", lambda name: None)
    pairs = [("quic-stream", "ring"), ("dtls", "aws-lc")]
    found = footprint.memory(False, lambda _: None, pairs).to_pylist()
    assert [(row["security"], row["provider"]) for row in found] == pairs
    lines = read.read_text().splitlines()
    made = ["credentials --signature ed25519", "credentials --signature ecdsa-p256"]
    assert [lines[0::4], lines[2::4]] == [made, made], "with one link and with 33"
    assert not any(Path(line).exists() for line in lines[1::2])


def test_without_valgrind_there_are_no_instructions_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    said: list[str] = []
    assert footprint.instructions(True, said.append, footprint.SECURITIES).num_rows == 0
    assert said == ["valgrind is not installed: no instructions (Debian: valgrind)."]


def test_a_row_has_the_names_of_its_heading() -> None:
    assert first_row("a,b\n1,2\n3,4\n") == {"a": "1", "b": "2"}
