"""Mahimahi's traces and captures become links, and what is exported and played comes back."""

import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gauntlet.errors import UserError
from gauntlet.scenario import Scenario, Trace, export_mahimahi
from gauntlet.scenario.export import mahimahi_instants_ms
from gauntlet.scenario.measured import capture, mahimahi, packets
from gauntlet.scenario.measured.link import Assumed, Floats

from . import captures

DELAY = Assumed(0.025)
TRAIN, TRACKSIDE = "10.0.0.2", "10.0.1.2"


def lines(path: Path, *instants_ms: int) -> Path:
    path.write_text("".join(f"{ms}\n" for ms in instants_ms))
    return path


def test_a_mahimahi_trace_is_its_rate(tmp_path: Path) -> None:
    """12 Mbit/s up; down half of it, and a stop of 2 s."""
    up = lines(tmp_path / "a.up", *range(1, 4001))
    down = lines(tmp_path / "a.down", *range(2, 1001, 2), *range(3002, 4001, 2))
    found = mahimahi.read(up, down, 1.0, DELAY)
    assert found.trace.end_s == 4
    assert found.trace.column("rate_up_bps").tolist() == [12e6] * 4
    rates = found.trace.column("rate_down_bps")
    assert rates[[0, 3]].tolist() == pytest.approx([6e6, 6e6], rel=0.003)
    # One packet waits for 2 s: it is late, and not lost.
    assert rates[[1, 2]] == pytest.approx([6000, 6000], rel=0.01)
    assert found.trace.column("loss_down").max() == 0
    assert "Stops up: none." in found.notes
    assert any(note.startswith("Stops down: 1, ") and "at 1 s" in note for note in found.notes)


def test_one_mahimahi_trace_is_both_directions_and_the_longer_one_is_cut(tmp_path: Path) -> None:
    short = lines(tmp_path / "short", *range(1, 2001))
    assert mahimahi.read(short, short, 0.5, DELAY).trace.table.num_rows == 4
    # What may leave at 0 ms is of the millisecond in which the trace begins again.
    from_zero = lines(tmp_path / "zero", *range(2500))
    found = mahimahi.read(short, from_zero, 0.5, DELAY)
    assert found.trace.end_s == 2
    assert any("the longer one is cut" in note for note in found.notes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1\n2.5\n", ["line 2 is '2.5'", "whole milliseconds"]),
        ("5\n3\n", ["line 2 is '3'", "must not go back"]),
        ("0\n", ["last line must be above 0 ms"]),
        ("", ["last line must be above 0 ms"]),
        ("7\n", ["too short for windows of 1 s", "--every"]),
    ],
)
def test_what_is_wrong_in_a_mahimahi_trace_is_named(tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "cell.up"
    path.write_text(text)
    with pytest.raises(UserError) as refused:
        mahimahi.read(path, path, 1.0, DELAY)
    for word in ["cell.up", *words]:
        assert word in str(refused.value)


def test_a_file_without_delays_needs_one(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.up", *range(1, 2001))
    with pytest.raises(UserError, match=r"a\.up says no delay; .*--delay"):
        mahimahi.read(path, path, 1.0, Assumed())


def means(trace: Trace, column: str) -> Floats:
    """Of each 10 s, but for the last ones, which an import may cut."""
    return trace.means(column, np.arange(0.0, 291.0, 10.0))


def test_export_replay_and_import_give_the_rate_back(hsr: Scenario, tmp_path: Path) -> None:
    """Replayed by a sender that uses every opportunity; in all within 1 %, in each 10 s within 5 %."""
    line = hsr.trace.window(1500, 300)
    export_mahimahi(line, tmp_path / "line")
    by_traces = mahimahi.read(tmp_path / "line.up", tmp_path / "line.down", 1.0, DELAY).trace
    for column in ("rate_up_bps", "rate_down_bps"):
        assert means(by_traces, column) == pytest.approx(means(line, column), rel=0.05)
        assert by_traces.mean(column) == pytest.approx(line.mean(column), rel=0.01)
    sent = [(ms * 10**6, TRACKSIDE, TRAIN, 1500) for ms in mahimahi_instants_ms(line, "down")]
    sent += [(ms * 10**6, TRAIN, TRACKSIDE, 1500) for ms in mahimahi_instants_ms(line, "up")]
    played = captures.written(tmp_path / "played.pcap", sent)
    by_packets = capture.read(played, terminal=TRAIN, loaded="both", every_s=1.0, assumed=DELAY).trace
    for column in ("rate_up_bps", "rate_down_bps"):
        assert means(by_packets, column) == pytest.approx(means(line, column), rel=0.05)
        assert by_packets.mean(column) == pytest.approx(line.mean(column), rel=0.01)


def flow(seconds: int, *, pause: range = range(0)) -> list[captures.Packet]:
    """1000 packets of 1250 bytes a second (10 Mbit/s) down but in the pause, 50 bytes up for each two."""
    found: list[captures.Packet] = []
    for number in range(seconds * 1000 + 1):
        if number // 1000 in pause and number % 1000:
            continue
        found.append((number * 10**6, TRACKSIDE, TRAIN, 1250))
        if number % 2:
            found.append((number * 10**6, TRAIN, TRACKSIDE, 50))
    return found


def test_a_greedy_flow_is_a_lower_bound_of_the_rate(tmp_path: Path) -> None:
    path = captures.written(tmp_path / "c.pcap", flow(5))
    found = capture.read(path, terminal=TRAIN, every_s=1.0, assumed=DELAY)
    assert found.trace.column("rate_down_bps").tolist() == [10e6] * 5
    assert found.trace.column("rate_up_bps").tolist() == [10e6] * 5
    assert "lower bound" in found.notes[1]
    assert any("Only the direction down was loaded" in note for note in found.notes)
    both = capture.read(path, terminal=TRAIN, loaded="both", every_s=1.0, assumed=DELAY)
    assert both.trace.column("rate_up_bps") == pytest.approx([200e3] * 5, rel=0.01)


def test_windows_without_a_packet_are_outages_and_said(tmp_path: Path) -> None:
    path = captures.written(tmp_path / "c.pcap", flow(6, pause=range(2, 4)))
    found = capture.read(path, terminal=TRAIN, every_s=0.5, assumed=DELAY)
    # A packet of the pause lies on the edge of every second, and ends the window before it.
    assert found.trace.column("loss_down").tolist() == [0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0]
    assert any(note.startswith("Outages: 2, ") and "a sender that waits" in note for note in found.notes)


def test_a_capture_must_say_who_is_the_train(tmp_path: Path) -> None:
    path = captures.written(tmp_path / "c.pcap", flow(2))
    for terminal, words in (
        (None, "say which one is the moving end's"),
        ("10.9.9.9", "none is of 10.9.9.9"),
        ("train", "'train' is no IP address"),
    ):
        with pytest.raises(UserError, match=words):
            capture.read(path, terminal=terminal, every_s=1.0, assumed=DELAY)
    with pytest.raises(UserError, match=rf"{TRAIN}.*{TRACKSIDE}|{TRACKSIDE}.*{TRAIN}"):
        capture.read(path, terminal=None, every_s=1.0, assumed=DELAY)
    one_way = captures.written(tmp_path / "d.pcap", [row for row in flow(2) if row[1] == TRACKSIDE])
    with pytest.raises(UserError, match=r"no packets of 10\.0\.0\.2 that go up"):
        capture.read(one_way, terminal=TRAIN, loaded="up", every_s=1.0, assumed=DELAY)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [False, True])
def test_classic_captures_of_every_byte_order_and_unit(tmp_path: Path, order: str, nanoseconds: bool) -> None:
    own = captures.ip_header("2001:db8::1", "2001:db8::2", 1280)
    rows = [
        (1_700_000_000_000_001_000, captures.ethernet(own), 1294),
        (
            1_700_000_000_500_000_000,
            captures.ethernet(captures.ip_header(TRAIN, TRACKSIDE, 60), vlan=True),
            78,
        ),
        (1_700_000_000_600_000_000, bytes(12) + b"\x08\x06" + bytes(28), 42),
    ]
    path = captures.pcap(tmp_path / "c.pcap", rows, order=order, nanoseconds=nanoseconds, link=1)
    assert packets.read(path).packets == [
        packets.Packet(rows[0][0], 0, "2001:db8::1", "2001:db8::2", 1280),
        packets.Packet(rows[1][0], 0, TRAIN, TRACKSIDE, 60),
    ]
    # Who stops a capture may cut its last packet off.
    path.write_bytes(path.read_bytes()[:-1])
    assert len(packets.read(path).packets) == 2


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng_with_resolutions_names_and_several_interfaces(tmp_path: Path, order: str) -> None:
    raw = captures.ip_header(TRAIN, TRACKSIDE, 900)
    offset = struct.pack(f"{order}q", 100)
    content = (
        captures.section(order)
        + captures.interface(order, 101, (2, b"wwan0"), (9, b"\x09"), (14, offset))
        + captures.interface(order, 113)
        + captures.interface(order, 101, (9, b"\x8a"))
        + captures.block(order, 5, bytes(12))
        + captures.enhanced(order, 0, 2_000_000_000, raw, 900)
        + captures.enhanced(order, 1, 3_000_000, bytes(16) + raw, 916)
        + captures.enhanced(order, 2, 4 * 1024, raw, 900)
        + captures.section(order)
        + captures.interface(order, 101, (2, b"eth0"))
        + captures.enhanced(order, 0, 5_000_000, raw, 900)
    )
    path = tmp_path / "c.pcapng"
    path.write_bytes(content)
    found = packets.read(path)
    assert found.interfaces == ["wwan0", "interface 1", "interface 2", "eth0"]
    assert [(packet.t_ns / 1e9, packet.interface) for packet in found.packets] == [
        (102, 0), (3, 1), (4, 2), (5, 3),
    ]  # fmt: skip
    with pytest.raises(UserError, match="interfaces wwan0, interface 1, interface 2, eth0; choose one"):
        capture.read(path, terminal=TRAIN, every_s=1.0, assumed=DELAY)
    with pytest.raises(UserError, match="no such packets on 'wlan0'"):
        capture.read(path, terminal=TRAIN, interface="wlan0", every_s=1.0, assumed=DELAY)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not a capture", "neither pcap nor pcapng"),
        (b"\xd4\xc3\xb2\xa1\x02", "damaged"),
        (captures.section("<") + captures.interface("<", 101), "no IP packets"),
        (captures.section("<") + captures.block("<", 3, bytes(64)), "packets without instants"),
        (captures.section("<") + captures.enhanced("<", 0, 1, bytes(20), 20), "unknown interface"),
        (captures.section("<") + struct.pack("<III", 6, 7, 0), "a block of 7 bytes"),
        (
            captures.section("<")
            + captures.interface("<", 105)
            + captures.enhanced("<", 0, 1, bytes(20), 20),
            "link type 105",
        ),
    ],
)
def test_damaged_and_foreign_captures_are_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "bad.pcapng"
    path.write_bytes(content)
    with pytest.raises(UserError, match=words):
        packets.read(path)


@pytest.mark.skipif(shutil.which("editcap") is None, reason="Wireshark's editcap is not installed")
@pytest.mark.parametrize("form", ["pcap", "nsecpcap", "pcapng"])
def test_what_wireshark_writes_is_read(tmp_path: Path, form: str) -> None:
    own = captures.written(tmp_path / "own.pcap", flow(1))
    subprocess.run(["editcap", "-F", form, own, tmp_path / "theirs"], check=True)
    assert packets.is_capture(tmp_path / "theirs")
    assert packets.read(tmp_path / "theirs").packets == packets.read(own).packets
