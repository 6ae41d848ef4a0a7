"""What an in-path node did, held against its rules: an honest log passes, and each false one is found out by
the check that is there for it. No guest is needed: the node is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.certificate.nodesim import CLIENT, MS, SERVER, MadeNode, datagram

FORGED = bytes.fromhex("4500001c0000000040110000" "0a0001010a000201" "9c4f13880008ffff")  # fmt: skip


def _rule(name: str, match: dict[str, Any], action: str, **parameters: Any) -> dict[str, Any]:
    return {"id": name, "match": match, "do": {"action": action, **parameters}}


def _to(number: int) -> dict[str, Any]:
    """The packet of this number, by its port."""
    return {"source_port": 40_000 + number}


RULES = [
    _rule("fifth", {"every": 5}, "capture", **{"as": "old"}),
    _rule("gone", _to(4), "drop"),
    _rule("hold", {"source_port": [40_002, 40_003]}, "hold", **{"as": "q"}),
    _rule("release", _to(6), "release", **{"from": "q", "order": "reversed"}),
    _rule("again", _to(7), "insert", packet="matched", set={"ttl": 9}),
    _rule("twice", _to(8), "duplicate", after_s=0.01),
    _rule("back", _to(9), "reflect", swap="nothing", keep=True),
    _rule("late", _to(11), "delay", delay_s=0.05),
    _rule("clock", {"at_s": 1.0}, "insert", packet={"hex": FORGED.hex()}, towards="server"),
    _rule("replay", _to(12), "insert", packet={"captured": "old"}),
    _rule("expire", _to(13), "hold", most_s=0.03, **{"as": "slow"}),
    _rule("bit", _to(14), "alter", within="payload", bits=1, checksums="repair"),
    _rule("ttl", _to(15), "rewrite", set={"ttl": 5}),
]
PLACE = {rule["id"]: number for number, rule in enumerate(RULES)}


def _at(number: int) -> int:
    return (100 + 20 * number) * MS


def _fate(node: MadeNode, number: int, rule: int | None) -> None:
    """What becomes of a packet itself."""
    t_ns = _at(number)
    if number in (2, 3, 4, 13):
        node.line(t_ns, "dropped" if number == 4 else "held", number, towards=1, rule=rule)
    elif number == 14:
        node.left(t_ns, number, datagram(number, flips=1), "altered")
    elif number == 15:
        node.left(t_ns, number, datagram(number, ttl=5), "altered")
    elif number != 11:
        node.left(t_ns, number, datagram(number))


def _extras(node: MadeNode, number: int, rule: int | None) -> None:
    """What leaves beside it, or before the next one comes."""
    t_ns = _at(number)
    if number == 6:
        node.left(t_ns, 3, datagram(3))
        node.left(t_ns, 2, datagram(2))
    elif number == 7:
        node.left(t_ns, 7, datagram(7, ttl=9), "inserted", rule=rule)
    elif number == 8:
        node.left(t_ns + 10 * MS, 8, datagram(8), "copied", rule=rule)
    elif number == 9:
        node.left(t_ns, 9, datagram(9), "inserted", rule=rule, towards=0)
    elif number == 12:
        node.left(t_ns, 12, datagram(9), "inserted", rule=rule)
    elif number == 13:
        node.left(_at(11) + 50 * MS, 11, datagram(11))


def _made() -> MadeNode:
    """Packets 0 to 15 and what becomes of each, as an honest node tells it; 20 ms lie between two."""
    node = MadeNode([{**rule, "match": dict(rule["match"]), "do": dict(rule["do"])} for rule in RULES])
    of = {"gone": 4, "hold": 2, "release": 6, "again": 7, "twice": 8, "back": 9, "late": 11}
    of |= {"replay": 12, "expire": 13, "bit": 14, "ttl": 15}
    for number in range(16):
        t_ns, whole = _at(number), datagram(number)
        if number == 15:
            node.left(_at(13) + 30 * MS, 13, datagram(13))
        matched = [PLACE["fifth"]] if number % 5 == 4 else []
        matched += [
            PLACE[name] for name, whom in of.items() if whom == number or (name, number) == ("hold", 3)
        ]
        node.came(t_ns, number, whole, *matched)
        rule = matched[-1] if matched else None
        _fate(node, number, rule)
        _extras(node, number, rule)
    node.line(1000 * MS, "matched", None, rule=PLACE["clock"])
    node.left(1000 * MS, None, FORGED, "inserted", rule=PLACE["clock"])
    node.count()
    return node


HONEST = _made()


def _answer(number: int) -> bytes:
    """What comes back to the sender of `datagram(number)`, with its payload."""
    sent = datagram(number)
    return sent[:12] + sent[16:20] + sent[12:16] + sent[22:24] + sent[20:22] + sent[24:]


def _replaying(replayed: int | None, folder: Path) -> tuple[dict[str, str], str]:
    """A node that remembers the answers of connections 1 and 2, and adds one of them to a packet of 2, or
    none to one of 3."""
    node = MadeNode([
        _rule("remember", {"towards": "east"}, "capture", **{"as": "old"}),
        _rule("replay", {"towards": "server"}, "insert", towards="east",
              packet={"captured": "old", "pick": "random", "same_connection": True}),
    ])  # fmt: skip
    for number in (1, 2):
        node.came(_at(number), number, _answer(number), 0, towards=0)
        node.left(_at(number), number, _answer(number), towards=0)
    asks = 3 if replayed is None else 2
    node.came(_at(3), 3, datagram(asks), 1)
    if replayed is None:
        node.line(_at(3), "unfit", 3, rule=1, towards=1)
    node.left(_at(3), 3, datagram(asks))
    if replayed is not None:
        node.left(_at(3), 3, _answer(replayed), "inserted", rule=1, towards=0)
    node.count()
    return node.judged(folder)


@pytest.mark.parametrize(("replayed", "believed"), [(2, True), (None, True), (1, False)])
def test_what_is_replayed_of_a_connection_is_of_that_one(
    tmp_path: Path, replayed: int | None, believed: bool
) -> None:
    wrong, _ = _replaying(replayed, tmp_path)
    assert (wrong == {}) is believed, wrong


def test_an_honest_node_is_believed(tmp_path: Path) -> None:
    wrong, undecided = HONEST.judged(tmp_path)
    assert wrong == {}
    # What comes behind a rule that alters packets.
    assert undecided.startswith("Whether the right packets matched was not told of mallory's 'ttl':")
    assert undecided.count("mallory") == 1


@pytest.mark.parametrize(("tap", "by_ns", "believed"), [
    (3, 20_000, True), (3, 20_001, False), (3, -5_000, True), (3, -5_001, False),
    (0, 5_000, True), (0, 5_001, False), (0, -5_001, False),
])  # fmt: skip
def test_a_packet_may_leave_some_readings_of_the_clock_after_its_line(
    tmp_path: Path, tap: int, by_ns: int, believed: bool
) -> None:
    node = HONEST.copy()
    place = node.packets.index((tap, _at(5), datagram(5)))
    node.packets[place] = (tap, _at(5) + by_ns, datagram(5))
    wrong, _ = node.judged(tmp_path)
    assert (wrong == {}) is believed, wrong


Spoil = Callable[[MadeNode], Any]


def _drop_lines(node: MadeNode, **wanted: Any) -> None:
    node.rows.remove(node.find(**wanted))
    node.count()


def _two_fates(node: MadeNode) -> None:
    node.rows.append(dict(node.find(event="emitted", packet=5), event="waiting", how=None))
    node.count()


def _second_copy(node: MadeNode) -> None:
    node.left(_at(8) + 10 * MS, 8, datagram(8), "copied", rule=PLACE["twice"])
    node.count()


def _moved(node: MadeNode, by_ns: int, **wanted: Any) -> None:
    row = node.find(**wanted)
    tap = (2 + row["towards"], row["t_ns"])
    place = next(place for place, packet in enumerate(node.packets) if packet[:2] == tap)
    node.packets[place] = (tap[0], tap[1] + by_ns, node.packets[place][2])
    row["t_ns"] += by_ns
    node.count()


def _other_side(node: MadeNode, **wanted: Any) -> None:
    row = node.find(**wanted)
    place = next(
        place for place, packet in enumerate(node.packets) if packet[:2] == (2 + row["towards"], row["t_ns"])
    )
    node.packets[place] = (3 - row["towards"], *node.packets[place][1:])
    row["towards"] = 1 - row["towards"]


def _other_bytes(node: MadeNode, number: int, whole: bytes, how: str) -> None:
    """The packet left with these bytes."""
    old = node.find(event="emitted", packet=number)
    place = node.rows.index(old)
    node.packets.remove((3, old["t_ns"], datagram(number) if how == "altered" else _bytes_of(node, old)))
    node.left(old["t_ns"], number, whole, how)
    node.rows[place] = node.rows.pop()
    node.count()


def _bytes_of(node: MadeNode, row: dict[str, Any]) -> bytes:
    return next(whole for tap, t_ns, whole in node.packets if (tap, t_ns) == (3, row["t_ns"]))


def _by_clock(node: MadeNode) -> None:
    node.left(1200 * MS, None, datagram(1), "inserted", rule=PLACE["late"])
    node.count()


def _behind_the_drop(node: MadeNode) -> None:
    place = node.rows.index(node.find(event="matched", packet=4, rule=PLACE["gone"]))
    node.rows.insert(place + 1, dict(node.rows[place], rule=PLACE["late"]))
    node.count()


def _added_by_none(node: MadeNode) -> None:
    node.left(_at(5), 5, datagram(5), "copied", rule=PLACE["twice"])
    node.count()


def _told(node: MadeNode, **values: int) -> None:
    node.told.update(values)


def _rule_told(node: MadeNode) -> None:
    node.told["rules"][1]["matched_packets"] = 99


def _unseen(node: MadeNode) -> None:
    _drop_lines(node, event="emitted", packet=5)
    _drop_lines(node, event="seen", packet=5)
    node.told["missed_packets"] = 1


def _other_every(node: MadeNode) -> None:
    place = node.rows.index(node.find(event="matched", packet=4, rule=PLACE["fifth"]))
    node.rows.pop(place)
    node.rows.insert(1, dict(node.find(event="matched"), packet=0, t_ns=_at(0), rule=PLACE["fifth"]))
    node.count()


def _other_crc(node: MadeNode) -> None:
    """The log says the same of a packet's bytes where it came and where it left, and both are wrong."""
    for event in ("seen", "emitted"):
        node.find(event=event, packet=5)["packet_crc32"] = 1


def _uncalled(node: MadeNode) -> None:
    del node.rows[-2:]
    node.packets.pop()
    node.count()


def _never_left(node: MadeNode, number: int, end_ms: int = 3_000) -> None:
    """The packet still waits at the end."""
    row = node.find(event="emitted", packet=number)
    node.packets.remove((3, row["t_ns"], datagram(number)))
    node.rows.remove(row)
    node.line(end_ms * MS, "waiting", number)
    node.count()


def _match_more(node: MadeNode, number: int, behind: str, rule: str, event: str = "matched") -> None:
    """Another line about the packet, behind the one that a rule matched it."""
    place = node.rows.index(node.find(event="matched", packet=number, rule=PLACE[behind]))
    node.rows.insert(place + 1, dict(node.rows[place], rule=PLACE[rule], event=event))
    node.count()


def _unfit(node: MadeNode, number: int, rule: str) -> None:
    """The rule is said not to have fitted."""
    _match_more(node, number, rule, rule, "unfit")


FALSE: dict[str, tuple[Spoil, str, str]] = {
    "two fates": (_two_fates, "rules", "it has 2 fates"),
    "one copy too many": (_second_copy, "rules", "added 2 packets to it instead of 1"),
    "a copy too late": (
        lambda node: _moved(node, MS, how="copied"), "rules", "'twice' added a packet at"),
    "reflected onwards": (
        lambda node: _other_side(node, packet=9, how="inserted"), "rules", "sent it on instead of back"),
    "by the clock without a rule": (_by_clock, "rules", "of which no rule of the plan speaks"),
    "back to its side": (
        lambda node: _other_side(node, event="emitted", packet=5), "rules", "from which it came"),
    "rules behind a drop": (_behind_the_drop, "rules", "rules matched behind 'gone'"),
    "added by no rule": (_added_by_none, "rules", "a packet was copied without a rule"),
    "altered by no rule": (
        lambda node: _other_bytes(node, 5, datagram(5, flips=1), "altered"), "rules", "altered by no rule"),
    "left as it was": (
        lambda node: _other_bytes(node, 14, datagram(14), "passed"), "rules", "'bit' left it as it was"),
    "a counter of the node": (
        lambda node: _told(node, late_packets=9), "rules", "The record says 9 late packets"),
    "a counter of a rule": (_rule_told, "rules", "says 99 matched packets of the rule 'gone', its log 1"),
    "other bytes than the crc": (_other_crc, "seen", "has other bytes than the log says"),
    "missed packets": (_unseen, "seen", "The node says that it missed 1 packet."),
    "another packet of every five": (_other_every, "conditions", "The rule 'fifth' matched packet 0"),
    "never called": (
        _uncalled,
        "rules", "The clock called the rule 'clock' 0 times instead of 1"),
    "by the clock, but of packets": (
        lambda node: _match_more(node, 7, "again", "clock"), "rules", "'clock' was called by a packet"),
    "not held": (
        lambda node: _drop_lines(node, event="held", packet=2), "rules", "it was not held, as its rule asks"),
    "rules behind a hold": (
        lambda node: _match_more(node, 3, "hold", "late"), "rules", "behind the one that holds it"),
    "kept by no rule": (lambda node: _never_left(node, 5), "rules", "and no rule keeps it"),
    "late for ever": (lambda node: _never_left(node, 11), "rules", "no rule keeps it beyond 0.05"),
    "held for ever": (lambda node: _never_left(node, 13), "rules", "Packet 13 was held beyond"),
    "not released": (lambda node: _never_left(node, 2), "rules", "Packet 2 was released at"),
    "nothing to release": (lambda node: _unfit(node, 6, "release"), "rules", "nothing is said to wait"),
    "a rewrite that did not fit": (
        lambda node: _unfit(node, 15, "ttl"), "rules", "'ttl' is wrong in whether its fields fit"),
    "bits that did not fit": (
        lambda node: _unfit(node, 14, "bit"), "rules", "'bit' is wrong in whether its bits fit"),
    "an insert that did not fit": (
        lambda node: _unfit(node, 7, "again"), "rules", "'again' is wrong in whether what it was to do"),
    "left before its release": (
        lambda node: _moved(node, -15 * MS, event="emitted", packet=3), "rules", "after its release"),
    "left a hold too late": (
        lambda node: _moved(node, MS, event="emitted", packet=13), "rules", "but it was held until"),
}  # fmt: skip


@pytest.mark.parametrize("name", FALSE)
def test_each_false_log_is_found_out(tmp_path: Path, name: str) -> None:
    spoil, check, words = FALSE[name]
    node = HONEST.copy()
    spoil(node)
    wrong, _ = node.judged(tmp_path)
    assert words in wrong.get(check, ""), wrong


def _flood() -> dict[str, Any]:
    set_ = {"source": CLIENT, "destination": SERVER}
    return _rule(
        "flood", {"at_s": 0.6}, "insert", times=100, towards="server", packet={"made": "udp"}, set=set_
    )


PLANS: dict[str, tuple[str, dict[str, Any]]] = {
    "at_s elsewhere": ("clock", {"match": {"at_s": 1.5}}),
    "made by the clock twice": ("clock", {"times": 2}),
    "other hex": ("clock", {"packet": {"hex": FORGED.hex()[:-2] + "00"}}),
    "hold of 1 ms": ("hold", {"most_s": 0.001}),
    "hold for longer": ("expire", {"most_s": 0.5}),
    "released as held": ("release", {"order": "as_held"}),
    "another store": ("release", {"from": "zzz"}),
    "held elsewhere": ("hold", {"as": "zzz"}),
    "another ttl": ("again", {"set": {"ttl": 200}}),
    "another payload": ("again", {"set": {"payload": "00"}}),
    "the other side": ("again", {"towards": "east"}),
    "sums left": ("again", {"checksums": "leave"}),
    "before": ("again", {"before": True}),
    "another one remembered": ("replay", {"packet": {"captured": "old", "pick": "first"}}),
    "one of its own connection": ("replay", {"packet": {"captured": "old", "same_connection": True}}),
    "nothing remembered": ("replay", {"packet": {"captured": "zzz"}}),
    "swapped": ("back", {"swap": "addresses"}),
    "more bits": ("bit", {"bits": 40}),
    "another bit": ("bit", {"at_bit": 0}),
    "bits with sums left": ("bit", {"checksums": "leave"}),
    "a burst that is none": ("bit", {"bits": 2, "burst_bits": 4}),
    "another field": ("ttl", {"set": {"source_port": 1}}),
    "bits instead of a field": ("ttl", {"action": "alter", "within": "payload", "bits": 1}),
    "a field instead of bits": ("bit", {"action": "rewrite", "set": {"ttl": 5}}),
}


@pytest.mark.parametrize("name", PLANS)
def test_what_was_done_is_not_what_another_plan_asks(tmp_path: Path, name: str) -> None:
    rule, changes = PLANS[name]
    node = HONEST.copy()
    planned = node.rules[PLACE[rule]]
    if "match" in changes:
        planned["match"] = changes["match"]
    else:
        planned["do"].update(changes)
    wrong, _ = node.judged(tmp_path)
    assert "rules" in wrong, wrong


def test_packets_that_the_clock_never_made_are_missed(tmp_path: Path) -> None:
    node = HONEST.copy()
    node.rules.append(_flood())
    node.count()
    wrong, _ = node.judged(tmp_path)
    assert "called the rule 'flood' 0 times instead of 1" in wrong["rules"]


def test_what_is_cut_is_named_and_not_doubted(tmp_path: Path) -> None:
    """Of long packets headers alone are captured: what a rule made of them is said to be untold."""
    rule = _rule("ttl", {}, "rewrite", set={"ttl": 5})
    node = MadeNode([rule])
    node.came(0, 0, datagram(0, size=200), 0)
    node.left(0, 0, datagram(0, size=200, ttl=5), "altered")
    node.count()
    wrong, undecided = node.judged(tmp_path)
    assert wrong == {}
    assert "Which bytes mallory's 'ttl' made was not told" in undecided


BITS: dict[str, tuple[dict[str, Any], int, str]] = {
    "two bits": ({"bits": 2}, 0b11, ""),
    "one bit too few": ({"bits": 3}, 0b11, "turned over 2 bits instead of 3"),
    "from a place on": ({"bits": 2, "at_bit": 158}, 0b11, ""),
    "from another place on": ({"bits": 2, "at_bit": 157}, 0b11, "other bits than 2 from 157 on"),
    "a burst": ({"bits": 2, "burst_bits": 4}, 0b1001, ""),
    "a longer burst": ({"bits": 2, "burst_bits": 4}, 0b10001, "a burst of 5 instead of 4"),
    "sums left alone": ({"bits": 2, "checksums": "leave"}, 0b11, "altered bytes outside of the payload"),
}


@pytest.mark.parametrize("name", BITS)
def test_bits_are_those_of_the_rule(tmp_path: Path, name: str) -> None:
    """The payload has 160 bits."""
    deed, flips, words = BITS[name]
    node = MadeNode([_rule("bits", {}, "alter", within="payload", **{"checksums": "repair", **deed})])
    node.came(0, 0, datagram(0), 0)
    node.left(0, 0, datagram(0, flips=flips), "altered")
    node.count()
    wrong, _ = node.judged(tmp_path)
    assert words in wrong["rules"] if words else wrong == {}


def test_sums_that_were_to_be_repaired_and_were_not(tmp_path: Path) -> None:
    node = MadeNode([_rule("bits", {}, "alter", within="payload", checksums="repair")])
    node.came(0, 0, datagram(0), 0)
    node.left(0, 0, datagram(0)[:-1] + b"\1", "altered")
    node.count()
    wrong, _ = node.judged(tmp_path)
    assert "did not repair its checksums" in wrong["rules"]


def test_a_packet_may_release_two_stores(tmp_path: Path) -> None:
    node = MadeNode(
        [
            _rule("one", _to(0), "hold", **{"as": "one"}),
            _rule("two", _to(1), "hold", **{"as": "two"}),
            _rule("first", _to(2), "release", **{"from": "two"}),
            _rule("second", _to(2), "release", **{"from": "one"}),
        ]
    )
    for number in (0, 1):
        node.came(number * MS, number, datagram(number), number)
        node.line(number * MS, "held", number, towards=1, rule=number)
    node.came(2 * MS, 2, datagram(2), 2, 3)
    for number in (2, 1, 0):
        node.left(2 * MS, number, datagram(number))
    node.count()
    assert node.judged(tmp_path)[0] == {}
    node.rules[2], node.rules[3] = node.rules[3] | {"id": "first"}, node.rules[2] | {"id": "second"}
    assert "where 0 was released" in node.judged(tmp_path)[0]["rules"]
