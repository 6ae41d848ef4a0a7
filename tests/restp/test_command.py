"""`python -m restp_decoder` prints a line or an object a packet; its exit status tells what it saw."""

import io
import json
from pathlib import Path

import pytest

from restp_decoder.__main__ import main
from tests.restp.document import VECTORS
from tests.restp.test_capture import ethernet, ipv4, udp, write

Capture = pytest.CaptureFixture[str]


def test_hex_in_one_line(capsys: Capture) -> None:
    assert main([VECTORS["f4_snack_after_17"].hex()]) == 0
    assert capsys.readouterr().out == (
        "40000 > 8080, ACK FUL CON ARQ NAK SAK, sequence 1, acknowledgement 10, "
        "hole +0 size 4 vector 1101, payload 0\n"
    )


def test_sack_and_protection_in_one_line(capsys: Capture) -> None:
    main([VECTORS["f4_sack_after_17"].hex()])
    main([VECTORS["protected_data"].hex()])
    sack, sealed = capsys.readouterr().out.splitlines()
    assert "sack [17,17] [14,15]" in sack
    assert sealed.startswith("version 1, ")
    assert sealed.endswith("payload 12 and tag")


def test_copies_and_stubs_have_their_names(capsys: Capture) -> None:
    main([VECTORS["mp_copy"].hex()])
    main([VECTORS["mp_stub"].hex()])
    main(["--json", VECTORS["mp_stub"].hex()])
    copy, stub, shown = capsys.readouterr().out.splitlines()
    assert " ARQ MP MPM COPIES, " in copy
    assert copy.endswith(", payload 12")
    assert stub.endswith(", stub, payload 0")
    assert json.loads(shown)["header"]["sched"] == ["COPIES"]


def test_json_has_the_parts_of_chapter_20(capsys: Capture) -> None:
    assert main(["--json", VECTORS["f4_snack_after_17"].hex()]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["header"]["flags"] == ["ACK"]
    assert shown["header"]["error"] == ["ARQ", "NAK", "SAK"]
    assert shown["header_words"] == 7
    assert shown["extensions"] == {
        "sequence": 1,
        "acknowledgement": 10,
        "snack": {"offset": 0, "size": 4, "vector": "1101", "missing": [10, 11, 12, 13, 16]},
    }
    assert (shown["payload"], shown["payload_check"]) == ("", "absent")


def test_json_of_every_kind_of_extension(capsys: Capture) -> None:
    names = ("mp_data", "mp_capable_ack", "mp_join_syn", "mp_join_syn_ack", "mp_join_ack", "mp_priority")
    for name in (*names, "opt_multipath_harq", "protected_data", "sack_on_data"):
        assert main(["--json", VECTORS[name].hex()]) == 0
    data, capable, *joins, priority, opening, sealed, sack = map(
        json.loads, capsys.readouterr().out.splitlines()
    )
    assert data["extensions"]["dss"] == {
        "data_fin": False,
        "length": 1,
        "payload_crc": False,
        "data_ack": 7000,
        "dsn": 6000,
        "ssn": 550,
    }
    assert capable["extensions"]["mp_capable"] == {
        "flags": ["G"],
        "key": "1122334455667788",
        "responder_key": "99aabbccddeeff00",
    }
    assert [list(join["extensions"]["mp_join"]) for join in joins] == [
        ["backup", "address_id", "token", "nonce"],
        ["backup", "address_id", "hmac", "nonce"],
        ["backup", "address_id", "hmac"],
    ]
    assert priority["extensions"]["priority"] == {"backup": False, "address_id": 2}
    assert list(opening["extensions"]) == [
        *("crc", "window", "cookie", "mp_capable", "dss", "fec", "sequence", "acknowledgement")
    ]
    assert sealed["tag"] == VECTORS["protected_data"][-16:].hex()
    assert sealed["extensions"]["protection"] == {"epoch": 1, "subflow": 0, "packet_number": 0xDEADBEEF}
    assert sack["extensions"]["sack"] == [[14, 17]]


def test_drops_set_the_exit_status(capsys: Capture) -> None:
    assert main(["--json", VECTORS["bad_order"].hex()]) == 1
    assert json.loads(capsys.readouterr().out)["drop"] == "contradiction"
    assert main([VECTORS["bad_too_short"].hex()]) == 1
    assert capsys.readouterr().out.startswith("drop too_short: ")


def test_a_pseudo_header_can_be_given(capsys: Capture) -> None:
    octets = VECTORS["datagram_crc_ipv6"].hex()
    assert main([octets]) == 1
    assert main([octets, "--source", "2001:db8::1", "--destination", "2001:db8::2"]) == 0
    assert "CRC, payload 12 good" in capsys.readouterr().out


def test_hex_lines_from_stdin(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sys.stdin", io.StringIO(f"{VECTORS['datagram'].hex(' ')}\n\n{VECTORS['ack'].hex()}\n")
    )
    assert main(["-"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_capture(capsys: Capture, tmp_path: Path) -> None:
    frames = (ipv4(udp(VECTORS[name])) for name in ("data", "bad_order", "datagram_reserved_hints"))
    path = write(tmp_path / "a.pcap", 1, *map(ethernet, frames), ethernet(ipv4(udp(b""), fragment=0x2000)))
    assert main([str(path)]) == 1
    data, dropped, ill_sent, part = capsys.readouterr().out.splitlines()
    assert data.startswith(
        "1 1700000000.000005000 192.0.2.1 port 40000 > 198.51.100.2 port 61253: 40000 > 8080,"
    )
    assert "drop contradiction" in dropped
    assert "URG marks only data" in ill_sent
    assert part.endswith("not decoded: a fragment of an IP packet")
    assert main(["--json", str(path)]) == 1
    objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [shown["frame"] for shown in objects] == [1, 2, 3, 4]
    assert len(objects[2]["sender_faults"]) == 4
    assert objects[3]["incomplete"] == "a fragment of an IP packet"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["/no/such.pcap"], "cannot be read"),
        (["x" * 5000], "cannot be read"),
        (["00", "--source", "192.0.2.1"], "needs both"),
        (["00", "--source", "192.0.2.1", "--destination", "::1"], "both must be IPv4"),
        (["00", "--source", "here", "--destination", "there"], "make no pseudo-header"),
    ],
)
def test_wrong_requests_are_refused_in_a_sentence(capsys: Capture, arguments: list[str], words: str) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert words in error


def test_lines_without_hex_are_refused(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("00\nno hex\n"))
    assert main(["-"]) == 2
    assert "Line 2" in capsys.readouterr().err
