"""packets.bin to pcapng: read back by an independent parser, and by tshark where it is installed."""

import json
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gauntlet.errors import RunError, UserError
from gauntlet.results import pcapng

PLAN = {"id": "r", "record": {"packets": "headers"}}
LINKS = {3: "rasa>ra", 7: "sb>tsb1"}


def ip_packet(size_bytes: int, number: int) -> bytes:
    header = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, size_bytes, number, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes(4)
    )
    return header + struct.pack("!HHHH", 40000, 5000, size_bytes - 20, 0) + bytes(size_bytes - 28)


def write_record(folder: Path, rows: list[tuple[int, int, bytes]]) -> None:
    layout = pcapng.packet_type("headers")
    packets = np.zeros(len(rows), dtype=layout)
    for row, (t_ns, tap, packet) in zip(packets, rows, strict=True):
        kept = packet[:112]
        row["t_ns"], row["tap"], row["captured_bytes"], row["size_bytes"] = t_ns, tap, len(kept), len(packet)
        row["data"][: len(kept)] = np.frombuffer(kept, dtype=np.uint8)
    (folder / "packets.bin").write_bytes(packets.tobytes())
    taps = [{"tap": tap, "link": link} for tap, link in LINKS.items()]
    (folder / "record.json").write_text(json.dumps({"taps": taps}))


def parse(content: bytes) -> tuple[list[str], list[tuple[int, str, int, bytes]]]:
    """Interfaces and packets of a pcapng file, block by block."""
    names: list[str] = []
    packets = []
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        assert struct.unpack_from("<I", content, at + length - 4) == (length,)
        body = content[at + 8 : at + length - 4]
        if kind == 1:
            code, size = struct.unpack_from("<HH", body, 8)
            assert code == 2
            names.append(body[12 : 12 + size].decode())
        elif kind == 6:
            interface, high, low, captured, original = struct.unpack_from("<IIIII", body)
            packets.append(((high << 32) | low, names[interface], original, body[20 : 20 + captured]))
        at += length
    return names, packets


def test_every_packet_is_there_sorted_with_its_link(tmp_path: Path) -> None:
    rows = [
        (5_000_000_001, 3, ip_packet(1500, 1)),
        (5_000_000_900, 3, ip_packet(41, 2)),
        (4_999_999_999, 7, ip_packet(100, 3)),
        (2**33 + 5, 7, ip_packet(113, 4)),
    ]
    write_record(tmp_path, rows)
    assert pcapng.convert(tmp_path, PLAN, tmp_path / "c.pcapng") == 4
    names, packets = parse((tmp_path / "c.pcapng").read_bytes())
    assert names == ["rasa>ra", "sb>tsb1"]
    expected = sorted((t_ns, LINKS[tap], len(packet), packet[:112]) for t_ns, tap, packet in rows)
    assert packets == expected


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_reads_it(tmp_path: Path) -> None:
    write_record(tmp_path, [(1_500_000_001, 3, ip_packet(1500, 1)), (2_000_000_000, 7, ip_packet(60, 2))])
    pcapng.convert(tmp_path, PLAN, tmp_path / "c.pcapng")
    fields = ["frame.time_epoch", "frame.interface_name", "frame.len", "udp.dstport"]
    command = ["tshark", "-r", str(tmp_path / "c.pcapng"), "-T", "fields"]
    told = subprocess.run(
        command + [part for field in fields for part in ("-e", field)],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split("\t") for line in told.stdout.splitlines()]
    assert [line[1:] for line in lines] == [["rasa>ra", "1500", "5000"], ["sb>tsb1", "60", "5000"]]
    assert "500000001" in lines[0][0]


def test_kept_secrets_stand_before_the_packets(tmp_path: Path) -> None:
    write_record(tmp_path, [(1, 3, ip_packet(60, 1))])
    key_log = b"CLIENT_RANDOM 01 02\n"
    (tmp_path / "keys.log").write_bytes(key_log)
    pcapng.convert(tmp_path, PLAN, tmp_path / "c.pcapng")
    content = (tmp_path / "c.pcapng").read_bytes()
    assert len(parse(content)[1]) == 1
    block = struct.pack("<IIII", 10, 20 + 20, 0x544C534B, len(key_log)) + key_log
    assert block in content
    assert content.index(block) < content.index(ip_packet(60, 1))


def test_an_empty_capture_is_a_valid_file(tmp_path: Path) -> None:
    write_record(tmp_path, [])
    assert pcapng.convert(tmp_path, PLAN, tmp_path / "c.pcapng") == 0
    assert parse((tmp_path / "c.pcapng").read_bytes()) == (["rasa>ra", "sb>tsb1"], [])


def test_a_cut_capture_and_an_unknown_tap_are_sentences(tmp_path: Path) -> None:
    write_record(tmp_path, [(1, 3, ip_packet(60, 1))])
    whole = (tmp_path / "packets.bin").read_bytes()
    (tmp_path / "packets.bin").write_bytes(whole[:-1])
    with pytest.raises(RunError, match="not a whole number of 128-byte records"):
        pcapng.convert(tmp_path, PLAN, tmp_path / "c.pcapng")
    (tmp_path / "packets.bin").write_bytes(whole[:8] + struct.pack("<H", 9) + whole[10:])
    with pytest.raises(RunError, match="packets of tap 9, which the record lacks"):
        pcapng.convert(tmp_path, PLAN, tmp_path / "c.pcapng")
    with pytest.raises(UserError, match="kept no packets"):
        pcapng.convert(tmp_path, {"id": "r", "record": {"packets": "none"}}, tmp_path / "c.pcapng")
