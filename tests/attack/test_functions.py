"""What a handshake's instructions are spent on: callgrind's file, groups of functions, and the difference."""

import io
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from gauntlet.attack import arena, functions, terminal
from gauntlet.attack.callgrind import self_instructions
from gauntlet.attack.functions import GROUPS, REST, Spent, difference, group
from gauntlet.attack.run import Client, Run
from gauntlet.attack.servers.own import OWN
from gauntlet.errors import RunError
from tests.attack.conftest import two_cores
from tests.attack.factory import outcome, run

FILE = """\
# callgrind format
version: 1
positions: line
events: Ir
summary: 137

ob=(1) /usr/bin/server
fl=(1) ???
fn=(1) main
0 7
+3 30
cob=(2) /lib/libc.so.6
cfn=(2) memcpy
calls=2 0
* 60
-1 10
fn=(2)
0 60
fn=(3) quinn_proto::connection::Connection::handle(u8, u16)
0 30
totals: 137
"""


def test_a_function_has_what_it_took_itself() -> None:
    found = self_instructions(FILE.splitlines(keepends=True))
    assert found == {"main": 47, "memcpy": 60, "quinn_proto::connection::Connection::handle(u8, u16)": 30}
    assert sum(found.values()) == 137


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("ring_core_0_17_14__p256_point_mul", "signature"),
        ("ring_core_0_17_14__x25519_ge_scalarmult_base", "key exchange"),
        ("ge_madd", "key exchange"),
        ("ring_core_0_17_14__aes_hw_ctr32_encrypt_blocks", "AEAD, header protection"),
        ("ring_core_0_17_14__sha256_block_data_order_hw", "hashes, HKDF"),
        ("rustls::tls13::key_schedule::KeyScheduleHandshake::sign", "hashes, HKDF"),
        ("webpki::verify_cert::verify_chain", "certificates"),
        ("rustls::server::tls13::client_hello::emit", "TLS"),
        ("<quinn_proto::crypto::rustls::TlsSession as quinn_proto::crypto::Session>::read", "QUIC, all else"),
        ("quinn_proto::connection::Connection::poll_transmit", "QUIC, all else"),
        (
            "<quinn_proto::frame::Iter as core::iter::traits::iterator::Iterator>::next",
            "QUIC, reading frames",
        ),
        ("h3::qpack::decoder::decode_stateless", "HTTP"),
        ("hyper::proto::h1::role::parse", "HTTP"),
        ("tokio::runtime::io::driver::Driver::turn", "runtime"),
        ("__memcpy_avx_unaligned_erms", "copies, allocation"),
        ("_int_malloc", "copies, allocation"),
        ("sendmsg", "system-call stubs"),
        ("do_lookup_x", REST),
    ],
)
def test_functions_are_told_apart_by_their_names(function: str, expected: str) -> None:
    assert group(function) == expected


def test_the_groups_of_a_handshake_add_up_to_it() -> None:
    less = {"memcpy": 100, "quinn::poll": 50, "start": 1000}
    spent = difference(less, {"memcpy": 300, "quinn::poll": 150, "start": 1000, "sendmsg": 40}, 10)
    assert spent.whole == 34.0
    assert {name: count for name, count in spent.groups.items() if count} == {
        "copies, allocation": 20.0,
        "QUIC, all else": 10.0,
        "system-call stubs": 4.0,
    }
    assert list(spent.groups) == [*GROUPS, REST]
    assert spent.to_json()["functions"]["QUIC, all else"] == {"quinn::poll": 10.0}


def test_a_terminal_has_a_column_for_each_protocol() -> None:
    spent = {"h2": Spent({"memcpy": 1_234_000.0}), "h3": Spent({"memcpy": 2e6, "sendmsg": 5e5})}
    screen = Console(width=80, record=True, file=io.StringIO())
    screen.print(terminal.spent("server", spent))
    rows = [line.split() for line in screen.export_text().splitlines()]
    assert rows[0] == ["server,", "thousand", "instructions", "h2", "h3"]
    assert ["copies,", "allocation", "1,234", "2,000"] in rows
    assert rows[-1] == ["all", "1,234", "2,500"]


def test_what_two_runs_differ_in_is_a_handshakes(monkeypatch: pytest.MonkeyPatch) -> None:
    def play(asked: Run, _: Path | None) -> object:
        count = asked.client.requests
        each = {who: {"start": 500, "memcpy": 30 * count} for who in ("server", "client")}
        return outcome(asked, [0.01] * count, functions=each)

    monkeypatch.setattr(arena, "play", play)
    found = functions.handshake("h3", "p-256")
    assert {who: it.whole for who, it in found.items()} == {"server": 30.0, "client": 30.0}


def test_a_request_that_was_not_served_tells_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena, "play", lambda asked, _: outcome(run(None), [0.1, None]))
    with pytest.raises(RunError, match="A request over h2 was not served"):
        functions.handshake("h2", "p-256")


COUNTS = """#!/bin/sh
for word; do
  case $word in
    --tool=*) ;;
    --callgrind-out-file=*) printf 'fn=(1) main\\n1 7\\n' > "${word#*=}" ;;
    *) break ;;
  esac
  shift
done
echo '==1== Collected : 7' >&2
exec "$@"
"""


@two_cores
@pytest.mark.usefixtures("programs")
def test_server_and_client_are_counted_each_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = tmp_path / "valgrind"
    counts.write_text(COUNTS)
    counts.chmod(counts.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    asked = Run(OWN, "h1", "p-256", Client(3, 0.05, 1.0), None, of_a_core=None)
    found = arena.play(replace(asked, counted=True), tmp_path)
    assert found.instructions == {"server": 7, "client": 7}
    assert found.functions == {"server": {"main": 7}, "client": {"main": 7}}
    assert arena.play(asked, tmp_path).functions == {}
