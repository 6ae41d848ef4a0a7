"""What securities take beside time: what valgrind, nm and the programs say is read as they say it."""

import shutil
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


def test_the_greatest_snapshot_is_the_peak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs(tmp_path, monkeypatch)
    there = valgrind(
        tmp_path,
        "for word; do case $word in --massif-out-file=*) out=${word#*=}; esac; done\n"
        'printf "mem_heap_B=5\\nmem_heap_B=700\\nmem_heap_B=60\\n" > "$out"',
    )
    assert footprint._massif(there, []) == 700


def test_a_further_link_is_the_slope_of_the_peak_with_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program and a massif of which one link takes 1,000 octets and each further one 64."""
    programs(tmp_path, monkeypatch)
    (tmp_path / "flight-memory").write_text(
        "#!/bin/sh\necho security,provider,links,heap_peak,rss_peak,pss; echo none,-,1,900,8000,7000\n"
    )
    monkeypatch.setattr(shutil, "which", lambda name: str(tmp_path / name))
    valgrind(
        tmp_path,
        "for word; do case $word in --massif-out-file=*) out=${word#*=}; esac; links=$word; done\n"
        'echo "mem_heap_B=$((1000 + 64 * (links - 1)))" > "$out"',
    )
    (row,) = footprint.memory(False, print, [("none", "aws-lc")]).to_pylist()
    assert (row["heap_peak_with_c"], row["heap_a_further_link_with_c"]) == (1000, 64)
    assert (row["pss"], row["rss_a_further_link"]) == (7000, 0)


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
