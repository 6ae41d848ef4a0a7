"""`python -m restp_decoder FILE.pcap|HEX`: one line a packet, or one JSON object a line with `--json`."""

import argparse
import json
import sys
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

from restp_decoder.capture import UDP_PORT, read_capture
from restp_decoder.checks import IP_PROTOCOL, PseudoHeader
from restp_decoder.decode import decode
from restp_decoder.describe import Fields, as_json, one_line
from restp_decoder.faults import DecodeError, InputError
from restp_decoder.sender import sender_faults

_DROPPED = 1
_NOT_READ = 2


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m restp_decoder",
        description="Decode ResTP datagrams. The exit status is 1 if one of them must be dropped.",
    )
    parser.add_argument(
        "input", help="a pcap file, one datagram in hex, or - for one in hex on each line of stdin"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a packet")
    parser.add_argument(
        "--udp-port", type=int, default=UDP_PORT, help="UDP port in a pcap file (%(default)s)"
    )
    parser.add_argument("--protocol", type=int, default=IP_PROTOCOL, help="IP protocol number (%(default)s)")
    parser.add_argument("--source", help="outer source address of hex that travelled directly over IP")
    parser.add_argument("--destination", help="outer destination address of such hex")
    return parser.parse_args(arguments)


def _pseudo_header(options: argparse.Namespace) -> PseudoHeader | None:
    """The pseudo-header of `--source` and `--destination`; InputError if they make none."""
    if options.source is None and options.destination is None:
        return None
    if options.source is None or options.destination is None:
        raise InputError("Only one of --source and --destination is given; a pseudo-header needs both.")
    try:
        return PseudoHeader(ip_address(options.source), ip_address(options.destination), options.protocol)
    except ValueError as error:
        raise InputError(f"--source and --destination make no pseudo-header: {error}") from error


def _octets(text: str) -> bytes | None:
    """The datagram that `text` spells in hex, None if it is no hex."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return None


def _verdict(datagram: bytes, pseudo_header: PseudoHeader | None) -> tuple[Fields, str, bool]:
    """JSON and line about one datagram, and whether it is to be dropped."""
    try:
        packet = decode(datagram, pseudo_header=pseudo_header)
    except DecodeError as error:
        return {"drop": str(error.reason), "sentence": str(error)}, f"drop {error.reason}: {error}", True
    faults = sender_faults(packet)
    fields = as_json(packet) | ({"sender_faults": faults} if faults else {})
    return fields, " ! ".join([one_line(packet), *faults]), False


def _from_hex(options: argparse.Namespace) -> Iterator[tuple[Fields, str, bool]]:
    pseudo_header = _pseudo_header(options)
    lines = sys.stdin if options.input == "-" else [options.input]
    for number, line in enumerate(lines, 1):
        datagram = _octets(line)
        if datagram is None:
            raise InputError(f"Line {number} of the input is no hex; give the octets of one datagram a line.")
        if datagram:
            yield _verdict(datagram, pseudo_header)


def _from_capture(options: argparse.Namespace) -> Iterator[tuple[Fields, str, bool]]:
    for frame in read_capture(Path(options.input), udp_port=options.udp_port, protocol=options.protocol):
        if frame.datagram is None:
            fields, line, dropped = (
                {"incomplete": frame.incomplete},
                f"not decoded: {frame.incomplete}",
                False,
            )
        else:
            fields, line, dropped = _verdict(frame.datagram, frame.pseudo_header)
        place = {
            "frame": frame.number,
            "time_ns": frame.time_ns,
            "source": frame.source,
            "destination": frame.destination,
        }
        seconds, fraction = divmod(frame.time_ns, 1_000_000_000)
        where = f"{frame.number} {seconds}.{fraction:09d} {frame.source} > {frame.destination}"
        yield place | fields, f"{where}: {line}", dropped


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status: 0, 1 if a datagram must be dropped, 2 for a wrong request."""
    options = _arguments(sys.argv[1:] if arguments is None else arguments)
    is_hex = options.input == "-" or _octets(options.input) is not None
    status = 0
    try:
        for fields, line, dropped in _from_hex(options) if is_hex else _from_capture(options):
            print(json.dumps(fields) if options.json else line)
            status = _DROPPED if dropped else status
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return _NOT_READ
    return status


if __name__ == "__main__":
    sys.exit(main())
