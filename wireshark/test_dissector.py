"""The dissector against the golden vectors: tshark must show every field as the JSON files say it.

Run with `pytest wireshark`. A capture of all vectors is written first: those with a pseudo-header go over raw
IP, the others over UDP. Needs tshark (Debian package `tshark`).
"""

from __future__ import annotations

import ipaddress
import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
VECTORS = HERE.parent / "crates" / "restp-proto" / "tests" / "vectors"
UDP_PORT = 61253
LINKTYPE_RAW = 101

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

Json = dict[str, Any]
Shown = dict[str, list[str]]

FIELDS = [
    "version", "header_words", "order", "path_mode", "scheduler", "cong", "k", "corruption_echo",
    "source_port", "destination_port", "hec.status", "payload_crc.status", "window", "cookie",
    "protection.epoch", "protection.subflow", "protection.packet_number", "mp_capable.flags",
    "mp_capable.key", "subflow.backup", "subflow.address_id", "mp_join.token", "mp_join.nonce",
    "mp_join.mac", "dss.flags", "dss.data_fin", "dss.length", "dss.data_ack", "dss.data_sequence",
    "dss.subflow_sequence", "fec.type", "fec.range", "sequence", "acknowledgement", "sack.left",
    "sack.right", "snack.offset", "snack.size", "snack.vector", "snack.missing", "payload", "stub", "tag",
    "frame.kind", "frame.stream", "frame.offset", "frame.code", "frame.limit", "frame.final_length",
    "frame.urgency", "frame.turns", "frame.data", "frame.fault", "drop",
]  # fmt: skip
BITS = {
    "flags": ["CWR", "ECE", "URG", "ACK", "PSH", "RST", "SYN", "FIN"],
    "flow": ["CKI", "CON", "OPT", "CXF"],
    "error": ["ENC", "ARQ", "CRC", "FEC", "NAK", "SAK", "DEL"],
}
ORDER = {"none": 0, "FUL": 1, "PAR": 2, "streams": 3}
PATH_MODE = {"single": 0, "standby": 2, "spreading": 3}
SCHEDULER = {"none": 0, "FRS": 1, "RRS": 2, "copies": 3}
CAPABLE = {"A": 128, "G": 2, "H": 1}


def ip_checksum(header: bytes) -> int:
    """The checksum of an IPv4 header (RFC 1071)."""
    total: int = sum(struct.unpack(f"!{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - ((total & 0xFFFF) + (total >> 16))


def ip_packet(source: str, destination: str, protocol: int, payload: bytes) -> bytes:
    """An IP packet without link layer."""
    src, dst = ipaddress.ip_address(source), ipaddress.ip_address(destination)
    if src.version == 6:
        return struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64) + src.packed + dst.packed + payload
    header = (
        struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0) + src.packed + dst.packed
    )
    return header[:10] + struct.pack("!H", ip_checksum(header)) + header[12:] + payload


def frame(vector: Json, datagram: bytes) -> bytes:
    """The datagram as it travels: over raw IP if it has a pseudo-header, else over UDP."""
    if pseudo := vector.get("pseudo_header"):
        return ip_packet(pseudo["source"], pseudo["destination"], pseudo["protocol"], datagram)
    udp = struct.pack("!HHHH", 50000, UDP_PORT, 8 + len(datagram), 0) + datagram
    return ip_packet("192.0.2.10", "192.0.2.20", 17, udp)


def write_capture(path: Path, frames: list[bytes]) -> None:
    """A pcap file (libpcap's format, version 2.4)."""
    records = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, LINKTYPE_RAW)]
    for second, octets in enumerate(frames):
        records.append(struct.pack("<IIII", second, 0, len(octets), len(octets)) + octets)
    path.write_bytes(b"".join(records))


def run_tshark(capture: Path, *arguments: str) -> list[list[str]]:
    """One list of columns a packet, as the dissector in this folder shows them."""
    columns = [*FIELDS, *(f"{group}.{name.lower()}" for group, names in BITS.items() for name in names)]
    command = ["tshark", "-n", "-r", str(capture), "-X", f"lua_script:{HERE / 'restp.lua'}", *arguments]
    command += ["-T", "fields", "-E", "separator=|", "-E", "occurrence=a", "-E", "aggregator=,"]
    for column in columns:
        command += ["-e", f"restp.{column}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "Lua" not in done.stderr, done.stderr
    return [line.split("|") for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Json, Shown]]:
    """Every vector with what tshark shows of it."""
    names = sorted(path.stem for path in VECTORS.glob("*.json"))
    vectors = {name: json.loads((VECTORS / f"{name}.json").read_text()) for name in names}
    frames = [
        frame(vector, bytes.fromhex((VECTORS / f"{name}.hex").read_text()))
        for name, vector in vectors.items()
    ]
    capture = tmp_path_factory.mktemp("capture") / "vectors.pcap"
    write_capture(capture, frames)
    rows = run_tshark(capture)
    assert len(rows) == len(names)
    columns = [*FIELDS, *(f"{group}.{name.lower()}" for group, names in BITS.items() for name in names)]
    result = {}
    for (name, vector), row in zip(vectors.items(), rows, strict=True):
        cells = {column: cell.split(",") for column, cell in zip(columns, row, strict=True) if cell}
        result[name] = (vector, cells)
    return result


def expected_extensions(extensions: Json) -> Shown:
    """The extension fields that the JSON file promises, and no others."""
    want: Json = {name: extensions.get(name) for name in ("window", "sequence", "acknowledgement", "cookie")}
    want |= {f"protection.{name}": value for name, value in extensions.get("protection", {}).items()}
    want |= expected_multipath(extensions)
    want |= {f"fec.{name}": value for name, value in extensions.get("fec", {}).items()}
    want |= {f"snack.{name}": value for name, value in extensions.get("snack", {}).items()}
    if sack := extensions.get("sack"):
        want |= {"sack.left": [left for left, _ in sack], "sack.right": [right for _, right in sack]}
    lists = {name: value if isinstance(value, list) else [value] for name, value in want.items()}
    return {
        name: [str(value) for value in values]
        for name, values in lists.items()
        if values[0] not in (None, "")
    }


def expected_multipath(extensions: Json) -> Json:
    """The fields of MP_CAPABLE, MP_JOIN, subflow priority and data sequence signal."""
    want: Json = {}
    if capable := extensions.get("mp_capable"):
        want["mp_capable.flags"] = f"0x{sum(CAPABLE[flag] for flag in capable['flags']):02x}"
        want["mp_capable.key"] = [f"0x{key}" for key in capable["keys"]]
    if word := extensions.get("mp_join") or extensions.get("mp_priority"):
        want |= {"subflow.backup": int(word["backup"]), "subflow.address_id": word["address_id"]}
        want |= {f"mp_join.{name}": f"0x{word[name]:08x}" for name in ("token", "nonce") if name in word}
        want["mp_join.mac"] = word.get("mac")
    if dss := extensions.get("dss"):
        fin, crc = dss.get("data_fin", False), dss.get("payload_crc", False)
        flags = (fin << 7) | (("data_sequence" in dss) << 6) | (("data_ack" in dss) << 5) | (crc << 4)
        want |= {"dss.flags": f"0x{flags:02x}", "dss.data_fin": int(fin), "dss.length": dss.get("length", 0)}
        want |= {f"dss.{name}": dss.get(name) for name in ("data_ack", "data_sequence", "subflow_sequence")}
    return want


KINDS = {
    "data": 0x01, "reset": 0x02, "stop": 0x03, "credit": 0x04, "stream_credit": 0x05, "streams": 0x06,
    "priority": 0x07,
}  # fmt: skip


def expected_frames(frames: list[Json]) -> Shown:
    """The fields of frames, each with the values of all frames in their order."""
    want: Shown = {}
    for frame_of in frames:
        ((name, values),) = frame_of.items()
        mark = 0x10 if values.get("fin") or values.get("one_way") else 0
        want.setdefault("frame.kind", []).append(f"0x{KINDS[name] | mark:02x}")
        for key, value in values.items():
            if key not in ("fin", "one_way") and value != "":
                want.setdefault(f"frame.{key}", []).append(value if key == "data" else str(int(value)))
    return want


def expected(vector: Json) -> Shown:
    """Every field of a valid vector as tshark prints it."""
    header = vector["header"]
    want = expected_extensions(vector["extensions"])
    want |= {
        "version": [str(header["version"])],
        "header_words": [str(vector["header_words"])],
        "order": [str(ORDER[header["order"]])],
        "path_mode": [str(PATH_MODE[header["path_mode"]])],
        "scheduler": [str(SCHEDULER[header["scheduler"]])],
        "cong": [str(header["cong"])],
        "k": [str(header["k"])],
        "corruption_echo": [str(int(header["corruption_echo"]))],
        "source_port": [str(header["source_port"])],
        "destination_port": [str(header["destination_port"])],
        "payload_crc.status": [vector["payload_check"]],
    }
    for group, names in BITS.items():
        want |= {f"{group}.{name.lower()}": [str(int(name in header[group]))] for name in names}
    if "CRC" in header["error"] and "tag" not in vector:
        want["hec.status"] = ["good"]
    for name in ("payload", "tag"):
        if vector.get(name):
            want[name] = [vector[name]]
    dss = vector["extensions"].get("dss", {})
    if dss.get("length") and not dss.get("data_fin") and not vector["payload"]:
        want["stub"] = ["1"]
    if vector.get("frames_fault"):
        want["frame.fault"] = ["from here on"]
    return want | expected_frames(vector.get("frames", []))


def test_every_field_of_every_valid_vector_is_shown(shown: dict[str, tuple[Json, Shown]]) -> None:
    valid = {name: entry for name, entry in shown.items() if "drop" not in entry[0]}
    assert len(valid) >= 60
    for name, (vector, cells) in valid.items():
        assert cells == expected(vector), name


def test_every_bad_vector_is_marked_with_its_reason(shown: dict[str, tuple[Json, Shown]]) -> None:
    bad = {name: entry for name, entry in shown.items() if "drop" in entry[0]}
    assert len(bad) >= 25
    for name, (vector, cells) in bad.items():
        assert cells.get("drop") == [vector["drop"]], name


def test_the_capture_has_every_extension(shown: dict[str, tuple[Json, Shown]]) -> None:
    """A field that no vector shows would never be checked above."""
    seen = {column for _, cells in shown.values() for column in cells}
    assert seen >= set(FIELDS)


def test_damaged_datagrams_are_judged_as_the_file_says(tmp_path: Path) -> None:
    """The same file as for the Rust decoder: both must find the same reason first."""
    lines = [line.split() for line in (VECTORS / "damaged.txt").read_text().splitlines()]
    assert len(lines) > 400
    capture = tmp_path / "damaged.pcap"
    write_capture(capture, [frame({}, bytes.fromhex(octets)) for octets, _ in lines])
    drop = FIELDS.index("drop")
    for (octets, verdict), row in zip(lines, run_tshark(capture), strict=True):
        assert (row[drop] or "ok") == verdict, octets


def test_another_udp_port_can_be_set(tmp_path: Path) -> None:
    datagram = bytes.fromhex((VECTORS / "datagram.hex").read_text())
    udp = struct.pack("!HHHH", 50000, 7777, 8 + len(datagram), 0) + datagram
    capture = tmp_path / "port.pcap"
    write_capture(capture, [ip_packet("192.0.2.10", "192.0.2.20", 17, udp)])
    version, *_ = run_tshark(capture)[0]
    assert version == ""
    version, *_ = run_tshark(capture, "-o", "restp.udp_port:7777")[0]
    assert version == "0"
