"""Captures of one end: which links tell what it sent and got, and that nothing stands twice."""

from pathlib import Path
from typing import Any

import pytest

from gauntlet.errors import RunError, UserError
from gauntlet.results import pcapng, tapped
from tests.results.test_pcapng import LINKS, PLAN, ip_packet, parse, write_record

OUT = ["client>west", "west>mid", "mid>east", "east>server"]
BACK = ["server>east", "east>mid", "mid>west", "west>client"]
WIRE: dict[str, Any] = {
    "network": {"preset": "wire"},
    "flows": [{"id": "f0", "from": "client", "to": "server"}],
}
OWN: dict[str, Any] = {"network": {"nodes": [], "links": []}, "flows": [{"id": "f0", "from": "a", "to": "b"}]}


def record(taps: list[str], forward: list[str] = OUT, back: list[str] = BACK) -> dict[str, Any]:
    """Paths name links with taps only."""
    onwards, backwards = ([link for link in way if link in taps] for way in (forward, back))
    return {
        "taps": [{"tap": number, "link": link, "captured_packets": 2} for number, link in enumerate(taps)],
        "paths": [{"flow": "f0", "forward": onwards, "return": backwards}],
    }


@pytest.mark.parametrize(
    ("taps", "place", "links"),
    [
        (OUT + BACK, "train", ["client>west", "west>client"]),
        (OUT + BACK, "trackside", ["east>server", "server>east"]),
        (OUT[1:3] + BACK[1:3], "train", ["west>mid", "mid>west"]),
        (OUT + BACK, "mid>east", ["mid>east"]),
    ],
)
def test_an_end_is_the_taps_nearest_to_it(taps: list[str], place: str, links: list[str]) -> None:
    assert sorted(tapped.links_of(place, record(taps), WIRE)) == sorted(links)


def test_ends_of_a_network_of_ones_own_are_its_nodes() -> None:
    own = record(["a>r", "r>b", "b>r", "r>a"], ["a>r", "r>b"], ["b>r", "r>a"])
    assert tapped.ends(OWN) == ["a", "b"]
    assert tapped.links_of("a", own, OWN) == ["a>r", "r>a"]
    with pytest.raises(UserError, match="nothing was captured at 'train'; choose a, b, a>r, r>b"):
        tapped.links_of("train", own, OWN)


def test_its_file_has_each_packet_once(tmp_path: Path) -> None:
    """The same packet passed both taps."""
    packet = ip_packet(100, 1)
    write_record(tmp_path, [(10, 3, packet), (20, 7, packet), (30, 7, ip_packet(60, 2))])
    pcapng.convert(tmp_path, PLAN, tmp_path / "c.pcapng")
    assert tapped.select(tmp_path / "c.pcapng", tmp_path / "one.pcapng", [LINKS[7]]) == 2
    names, packets = parse((tmp_path / "one.pcapng").read_bytes())
    assert names == [LINKS[7]]
    assert [(t_ns, link, size) for t_ns, link, size, _ in packets] == [
        (20, LINKS[7], 100),
        (30, LINKS[7], 60),
    ]
    assert packets[0][3] == packet


def test_of_one_instant_what_came_stands_before_what_was_sent_upon_it(tmp_path: Path) -> None:
    """The client's SYN, and at one instant the SYN-ACK that came and the ACK that it sent."""
    syn, syn_ack, ack, data = (ip_packet(100 + number, number) for number in range(4))
    write_record(tmp_path, [(10, 3, syn), (20, 3, ack), (20, 3, data), (20, 7, syn_ack), (30, 7, ack)])
    pcapng.convert(tmp_path, PLAN, tmp_path / "c.pcapng")
    own = record([LINKS[3], LINKS[7]], [LINKS[3]], [LINKS[7]])
    into = tapped.arriving_at("train", own, WIRE)
    assert (into, tapped.arriving_at("trackside", own, WIRE)) == ({LINKS[7]}, {LINKS[3]})
    assert tapped.arriving_at(LINKS[7], own, WIRE) == set()
    assert tapped.select(tmp_path / "c.pcapng", tmp_path / "one.pcapng", [LINKS[3], LINKS[7]], into) == 5
    _, packets = parse((tmp_path / "one.pcapng").read_bytes())
    assert [packet for *_, packet in packets] == [syn, syn_ack, ack, data, ack]


def test_a_damaged_capture_is_told(tmp_path: Path) -> None:
    write_record(tmp_path, [(10, 3, ip_packet(100, 1))])
    pcapng.convert(tmp_path, PLAN, tmp_path / "c.pcapng")
    whole = (tmp_path / "c.pcapng").read_bytes()
    (tmp_path / "c.pcapng").write_bytes(whole[:-6])
    with pytest.raises(RunError, match="is damaged at byte"):
        tapped.select(tmp_path / "c.pcapng", tmp_path / "one.pcapng", [LINKS[3]])
