#!/usr/bin/env python3
"""Writes the golden vectors: every `NAME.json` says what a packet holds, `NAME.hex` gets its octets.

The packing follows docs/restp-spec.md and shares nothing with the Rust encoder, so each checks the other.
`--check` changes nothing and fails if a file on disk differs. Chapter 20 of the specification is written,
too.
"""

from __future__ import annotations

import argparse
import ipaddress
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SPEC = HERE.parents[3] / "docs" / "restp-spec.md"
BEGIN, END = "<!-- vectors: begin -->\n", "<!-- vectors: end -->\n"

FLAGS = {"CWR": 128, "ECE": 64, "URG": 32, "ACK": 16, "PSH": 8, "RST": 4, "SYN": 2, "FIN": 1}
FLOW = {"CKI": 32, "CON": 16, "OPT": 8, "CXF": 4}
ERROR = {"ENC": 128, "ARQ": 64, "CRC": 32, "FEC": 16, "NAK": 8, "SAK": 4, "DEL": 2}
ORDER = {"none": 0, "FUL": 1, "PAR": 2, "streams": 3}
PATH_MODE = {"single": 0, "standby": 2, "spreading": 3}
SCHEDULER = {"none": 0, "FRS": 1, "RRS": 2, "copies": 3}
MP_FLAGS = {"A": 128, "C": 32, "D": 16, "E": 8, "F": 4, "G": 2, "H": 1}

Json = dict[str, Any]


def crc16(data: bytes) -> int:
    """R-CRC-1, a bit at a time."""
    value = 0xFFFF
    for octet in data:
        value ^= octet << 8
        for _ in range(8):
            value = (value << 1) ^ (0x1021 if value & 0x8000 else 0)
        value &= 0xFFFF
    return value


def crc32c(data: bytes) -> int:
    """R-CRC-3, a bit at a time; 0x82F63B78 is the generator mirrored."""
    value = 0xFFFFFFFF
    for octet in data:
        value ^= octet
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def u32(value: int) -> bytes:
    """A word."""
    return value.to_bytes(4, "big")


def bits(names: list[str], table: dict[str, int]) -> int:
    """The octet in which the named bits are set."""
    return sum(table[name] for name in names)


def pseudo_header(pseudo: Json | None, size_bytes: int) -> bytes:
    """R-CRC-2: what precedes the header in the HEC."""
    if pseudo is None:
        return b""
    source = ipaddress.ip_address(pseudo["source"])
    addresses = source.packed + ipaddress.ip_address(pseudo["destination"]).packed
    if source.version == 4:
        return addresses + bytes([0, pseudo["protocol"]]) + size_bytes.to_bytes(2, "big")
    return addresses + u32(size_bytes) + bytes([0, 0, 0, pseudo["protocol"]])


def multipath(extensions: Json) -> tuple[int, bytes]:
    """MPT and the words of the multipath extension (chapters 3.4 to 3.6)."""
    if capable := extensions.get("mp_capable"):
        keys = b"".join(bytes.fromhex(key) for key in capable["keys"])
        return 1, bytes([bits(capable["flags"], MP_FLAGS), 0, 0, 0]) + keys
    for code, name in ((2, "mp_join"), (3, "mp_priority")):
        if word := extensions.get(name):
            rest = b""
            if "token" in word:
                rest += u32(word["token"])
            if "mac" in word:
                rest += bytes.fromhex(word["mac"])
            if "nonce" in word:
                rest += u32(word["nonce"])
            return code, bytes([16 if word["backup"] else 0, word["address_id"], 0, 0]) + rest
    return 0, b""


def data_sequence_signal(dss: Json | None, payload: bytes) -> bytes:
    """R-DSS-1."""
    if dss is None:
        return b""
    mapped = "data_sequence" in dss
    flags = (dss.get("data_fin", False) << 7) | (mapped << 6) | (("data_ack" in dss) << 5)
    words = u32(dss["data_ack"]) if "data_ack" in dss else b""
    if mapped:
        words += u32(dss["data_sequence"]) + u32(dss["subflow_sequence"])
    if dss.get("payload_crc", False):
        flags |= 16
        words += u32(crc32c(payload))
    return bytes([flags, 0]) + int(dss.get("length", 0)).to_bytes(2, "big") + words


def tail_extensions(extensions: Json, payload: bytes) -> bytes:
    """Everything behind the multipath extension (R-EXT-1)."""
    words = data_sequence_signal(extensions.get("dss"), payload)
    if fec := extensions.get("fec"):
        words += u32(fec["type"] << 24 | fec["range"])
    if "sequence" in extensions:
        words += u32(extensions["sequence"])
    if "acknowledgement" in extensions:
        words += u32(extensions["acknowledgement"])
    for left, right in extensions.get("sack", []):
        words += u32(left) + u32(right)
    if snack := extensions.get("snack"):
        words += snack["offset"].to_bytes(2, "big") + snack["size"].to_bytes(2, "big")
        words += bytes.fromhex(snack["vector"])
    return words


def number(value: int) -> bytes:
    """R-STR-2: a number of a frame in its shortest spelling."""
    code = next(code for code in range(4) if value < 1 << (8 * (1 << code) - 2))
    octets = 1 << code
    return (value | code << (8 * octets - 2)).to_bytes(octets, "big")


FRAMES = {
    "data": (0x01, ["stream", "offset"]),
    "reset": (0x02, ["stream", "code", "final_length"]),
    "stop": (0x03, ["stream", "code"]),
    "credit": (0x04, ["limit"]),
    "stream_credit": (0x05, ["stream", "limit"]),
    "streams": (0x06, ["limit"]),
    "priority": (0x07, ["stream"]),
}


def frames(vector: Json) -> bytes:
    """R-STR-3: the frames of a payload."""
    octets = b""
    for frame in vector["frames"]:
        ((name, values),) = frame.items()
        kind, numbers = FRAMES[name]
        mark = 0x10 if values.get("fin") or values.get("one_way") else 0
        octets += bytes([kind | mark]) + b"".join(number(values[key]) for key in numbers)
        if name == "data":
            data = bytes.fromhex(values["data"])
            octets += number(len(data)) + data
        elif name == "priority":
            octets += bytes([values["urgency"] << 1 | values["turns"]])
    return octets


def encode(vector: Json) -> bytes:
    """The datagram that `vector` describes."""
    header, extensions = vector["header"], vector["extensions"]
    payload = bytes.fromhex(vector["payload"])
    if "frames" in vector and not payload.startswith(frames(vector)):
        raise SystemExit(f"the payload of {vector['about']!r} is not its frames: {frames(vector).hex()}")
    body = payload + bytes.fromhex(vector.get("tag", ""))

    before_crc = b""
    if protection := extensions.get("protection"):
        before_crc = bytes([protection["epoch"], protection["subflow"]])
        before_crc += int(protection["packet_number"]).to_bytes(6, "big")
    # A sealed packet has no checksums (R-PROT-6).
    with_crc = "CRC" in header["error"] and "tag" not in vector
    crc = b""
    if with_crc:
        sent = bytes([*body[:-1], body[-1] ^ 1]) if vector["payload_check"] == "corrupt" else body
        crc = bytes(4) + (u32(crc32c(sent)) if body else b"")
    after_crc = b""
    if "window" in extensions:
        after_crc += extensions["window"].to_bytes(2, "big") + bytes(2)
    after_crc += bytes.fromhex(extensions.get("cookie", ""))
    mpt, words = multipath(extensions)
    after_crc += words + tail_extensions(extensions, payload)

    size = 3 + (len(before_crc) + len(crc) + len(after_crc)) // 4
    base = u32(
        header["version"] << 28
        | (size % 16) << 24
        | bits(header["flags"], FLAGS) << 16
        | ORDER[header["order"]] << 14
        | bits(header["flow"], FLOW) << 8
        | bits(header["error"], ERROR)
    )
    base += u32(
        PATH_MODE[header["path_mode"]] << 30
        | SCHEDULER[header["scheduler"]] << 28
        | header["cong"] << 24
        | ("window" in extensions) << 20
        | header["k"] << 16
        | (size // 16) << 8
        | mpt << 6
        | ("dss" in extensions) << 5
        | header["corruption_echo"] << 4
    )
    base += header["source_port"].to_bytes(2, "big") + header["destination_port"].to_bytes(2, "big")

    octets = bytearray(base + before_crc + crc + after_crc)
    if with_crc:
        at = len(base) + len(before_crc)
        covered = pseudo_header(vector.get("pseudo_header"), len(octets) + len(body)) + octets
        octets[at : at + 2] = crc16(covered).to_bytes(2, "big")
    return bytes(octets) + body


def build(name: str, seen: dict[str, bytes]) -> bytes:
    """The octets of one vector; a `base` is another vector that is then damaged."""
    if name not in seen:
        vector = json.loads((HERE / f"{name}.json").read_text())
        if "base" in vector:
            octets = bytearray(build(vector["base"], seen))
            for at, replacement in vector.get("patch", []):
                octets[at : at + len(replacement) // 2] = bytes.fromhex(replacement)
            seen[name] = bytes(octets[: vector.get("cut_bytes")])
        else:
            seen[name] = encode(vector)
    return seen[name]


def hex_lines(octets: bytes) -> str:
    """Words in hex, four a line; the last may be short."""
    words = [octets[at : at + 4].hex() for at in range(0, len(octets), 4)]
    return "\n".join(" ".join(words[at : at + 4]) for at in range(0, len(words), 4)) + "\n"


def caption(vector: Json) -> str:
    """What the specification says above a vector: all that a reader needs to judge its octets."""
    text = str(vector["about"])
    if drop := vector.get("drop"):
        return f"{text}; dropped: `{drop}`"
    if pseudo := vector.get("pseudo_header"):
        addresses = f"`{pseudo['source']}` to `{pseudo['destination']}`"
        return f"{text}; from {addresses}, protocol {pseudo['protocol']}"
    return text


def chapter(names: list[str], octets: dict[str, bytes]) -> str:
    """The vectors as they stand in the specification."""
    parts = []
    for name in names:
        vector = json.loads((HERE / f"{name}.json").read_text())
        parts.append(f"**{name}**: {caption(vector)}\n\n```\n{hex_lines(octets[name])}```\n")
    return "\n".join(parts)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, fail on a difference")
    check = parser.parse_args().check

    octets: dict[str, bytes] = {}
    names = sorted(path.stem for path in HERE.glob("*.json"))
    wanted = {HERE / f"{name}.hex": hex_lines(build(name, octets)) for name in names}
    spec = SPEC.read_text()
    head, _, rest = spec.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not end:
        print(f"{SPEC.name} has no lines {BEGIN.strip()} and {END.strip()} in this order", file=sys.stderr)
        return 1
    wanted[SPEC] = head + BEGIN + "\n" + chapter(names, octets) + "\n" + END + tail

    differing = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in differing:
        if check:
            print(f"{path.name} differs from what the JSON files say: run make_vectors.py", file=sys.stderr)
        else:
            path.write_text(wanted[path])
    return 1 if check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
