"""[[threat]]: which packets a threat means over each protocol, what each attacker can do, every mistake a
sentence."""

import struct
from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import guest
from gauntlet.errors import UserError
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import parse_experiment
from gauntlet.experiment.plan_schema import check_plan
from gauntlet.experiment.plans import plan_run
from gauntlet.experiment.runspec import RunSpec

EXPERIMENT = """
[experiment]
name = "threats"
repetitions = 1
[scenario]
name = "{scenario}"
[matrix]
protocols = ["{protocol}"]
threat = ["none", "it"]
[workload]
app = "safety"
kind = "{message}"
interval = "1s"
bound = "500ms"
duration = "10s"
{flow}
[[threat]]
name = "it"
{threat}
"""


def _specs(threat: str, **about: str) -> list[RunSpec]:
    usual = {"scenario": "constant", "protocol": "udp", "message": "movement-authority", "flow": ""}
    text = EXPERIMENT.format(threat=threat, **{**usual, **about})
    return expand(parse_experiment(text, "threats.toml", Path()))


def _rules(threat: str, **about: str) -> list[dict[str, Any]]:
    none, some = (plan_run(spec) for spec in _specs(threat, **about))
    check_plan(guest.plan([none, some]))
    assert "in_path" not in none
    assert none["seed"] == some["seed"]
    (node,) = some["in_path"]
    assert (node["node"], node["between"]) in (("threat", ["east", "server"]), ("threat", ["rbsb", "sb"]))
    return [*node["rules"]]


THIRD = 'kind = "{}"\nmessage = 3\n'
BY_NUMBER = {"towards": "east", "message": {"flow": "f0", "number": 3, "repetitions": False}}
OF_UDP = {"towards": "east", "message": {"flow": "f0", "number": 3}}
BY_COUNT = {
    "towards": "east",
    "source_port": 40_000,
    "destination_port": 5000,
    "length_bytes": [188, 310],
    "nth": 3,
}
BY_COUNT_OF_RECORDS = BY_COUNT | {"length_bytes": [222, 242]}
BY_COUNT_OF_DATAGRAMS = BY_COUNT | {
    "length_bytes": [210, 225],
    "bytes": [{"within": "payload", "offset": 0, "hex": "01", "mask": "01"}],
}
BY_COUNT_OF_FRAMES = BY_COUNT | {
    "length_bytes": [268, 296],
    "bytes": [{"within": "payload", "offset": 0, "hex": "17"}],
}


@pytest.mark.parametrize(
    ("protocol", "where"),
    [("udp", OF_UDP), ("tcp-cubic", BY_NUMBER), ("sctp", BY_NUMBER), ("tls-cubic", BY_COUNT_OF_RECORDS),
     ("rasta", BY_NUMBER), ("rasta-tls", BY_COUNT_OF_FRAMES),
     ("dtls", BY_COUNT_OF_DATAGRAMS), ("dtls-12", BY_COUNT_OF_DATAGRAMS),
     ("tls-sctp", BY_COUNT_OF_RECORDS), ("quic-quinn-cubic", BY_COUNT), ("restp-file", BY_COUNT)],
)  # fmt: skip
def test_one_message_is_meant_whatever_carries_it(protocol: str, where: dict[str, Any]) -> None:
    (rule,) = _rules(THIRD.format("deletion"), protocol=protocol)
    assert rule == {"id": "deletion", "match": where, "do": {"action": "drop"}}


def test_a_position_report_goes_the_other_way() -> None:
    (rule,) = _rules(THIRD.format("deletion"), message="position-report")
    assert rule["match"]["towards"] == "server"


def test_a_delay_holds_for_what_is_sent_again_and_by_count_for_all_that_follows() -> None:
    late = THIRD.format("delay") + 'by = "4s"'
    (rule,) = _rules(late)
    assert rule["match"] == {"towards": "east", "message": {"flow": "f0", "number": 3}}
    assert rule["do"] == {"action": "delay", "delay_s": 4.0}
    (rule,) = _rules(late, protocol="tls-cubic")
    assert rule["match"] == BY_COUNT_OF_RECORDS | {"nth": [3, 1_000_000]}


def test_a_message_waits_for_the_next_one_which_is_counted_first() -> None:
    release, hold = _rules(THIRD.format("re-sequencing"), protocol="quic-quinn-cubic")
    assert (release["match"]["nth"], release["do"]) == (4, {"action": "release", "from": "held"})
    assert (hold["match"]["nth"], hold["do"]) == (3, {"action": "hold", "as": "held"})


def test_bits_turn_over_in_the_message_or_in_what_hides_it() -> None:
    (rule,) = _rules(THIRD.format("corruption"))
    assert rule["do"] == {"action": "alter", "within": "message", "bits": 1, "checksums": "leave"}
    burst = THIRD.format("corruption") + 'bits = 8\nburst = 32\nchecksums = "repair"'
    (rule,) = _rules(burst, protocol="tls-cubic")
    assert rule["do"] == {
        "action": "alter", "within": "payload", "bits": 8, "burst_bits": 32, "checksums": "repair",
    }  # fmt: skip


def test_a_copy_comes_later() -> None:
    (rule,) = _rules(THIRD.format("repetition") + 'by = "2s"')
    assert rule["do"] == {"action": "duplicate", "after_s": 2.0}


EARLY = {
    "protocol": "quic-quinn-cubic",
    "flow": 'start = "2s"\nwarm_up = "1s"\nresumption = true\nearly_data = true',
}
OF_EARLY = BY_COUNT | {"from_s": 2.0, "nth": 1}


def test_behind_a_session_before_packets_count_from_the_start_of_the_flows_own() -> None:
    (rule,) = _rules('kind = "deletion"\nmessage = "first"', **EARLY)
    assert rule["match"] == OF_EARLY
    (rule,) = _rules('kind = "deletion"\nat = "5s"', **EARLY)
    assert rule["match"] == OF_EARLY | {"from_s": 5.0}


def test_of_early_data_the_whole_first_flight_comes_again() -> None:
    first, second = _rules('kind = "repetition"\nmessage = "first"\nby = "10s"', **EARLY)
    assert first["do"] == second["do"] == {"action": "duplicate", "after_s": 10.0}
    long = {"within": "payload", "offset": 0, "mask": "b0"}
    without_length = {key: it for key, it in OF_EARLY.items() if key != "length_bytes"}
    assert first["match"] == without_length | {"bytes": [long | {"hex": "80"}]}
    assert second["match"] == OF_EARLY | {"bytes": [long | {"hex": "90"}]}
    # What goes later does not go early, and neither does anything without early data.
    (rule,) = _rules('kind = "repetition"\nmessage = 2', **EARLY)
    assert rule["match"] == OF_EARLY | {"nth": 2}
    resumed = EARLY | {"flow": 'start = "2s"\nwarm_up = "1s"\nresumption = true'}
    assert len(_rules('kind = "repetition"\nmessage = "first"', **resumed)) == 1


def _set(rule: dict[str, Any]) -> dict[int, str]:
    return {change["offset"]: change["hex"] for change in rule["do"]["set"]["bytes"]}


def test_a_forged_message_bears_the_next_number_and_who_forges_it_names_himself_or_another() -> None:
    (foreign,) = _rules(THIRD.format("insertion"))
    (forged,) = _rules(THIRD.format("masquerade"), protocol="tcp-cubic")
    # What is counted as message 3 bears number 2, so the next one bears 3.
    assert _set(foreign)[0] == _set(forged)[0] == struct.pack("<I", 3).hex()
    assert (_set(foreign)[8], _set(forged)[8]) == (struct.pack("<I", 77).hex(), struct.pack("<I", 1).hex())
    assert "tcp_sequence_plus" not in foreign["do"]["set"]
    assert forged["do"]["set"]["tcp_sequence_plus"] == 160


@pytest.mark.parametrize(
    ("protocol", "flow", "behind"),
    [
        ("tls-cubic", "", {"tcp_sequence_plus": 160 + 22}),
        ("rasta-tls", "", {"tcp_sequence_plus": 160 + 22 + 46}),
        (
            "rasta-tls",
            'safety_code = "md4-full"\ncheck_code = "b"',
            {"tcp_sequence_plus": 160 + 22 + 46 + 8 + 4},
        ),
        ("restp-protected", "", {}),
        ("quic-quinn-cubic", "", {}),
    ],
)
def test_of_what_is_sealed_the_forged_packet_is_noise_behind_the_true_one(
    protocol: str, flow: str, behind: dict[str, int]
) -> None:
    noise, same = (
        _rules(THIRD.format(kind), protocol=protocol, flow=flow)[0] for kind in ("masquerade", "insertion")
    )
    made = [{"within": "payload", "offset": 80, "hex": struct.pack("<Q", 250_000_000).hex()}]
    assert noise["do"] == same["do"]
    assert noise["do"]["set"] == {**behind, "bytes": made}


def test_who_is_off_the_path_makes_the_whole_packet_from_the_timetable() -> None:
    off = 'kind = "masquerade"\nattacker = "off-path"\nat = "4.5s"'
    (rule,) = _rules(off)
    made = rule["do"]["set"]
    assert rule["match"] == {"at_s": 4.5}
    assert (made["source"], made["destination"], rule["do"]["towards"]) == ("10.0.2.1", "10.0.1.1", "east")
    payload = bytes.fromhex(made["payload"])
    assert len(payload) == 160
    # Messages are due each second from 1 s on: at 4.5 s number 4 is next.
    assert struct.unpack_from("<IBBHIIq", payload) == (4, 3, 1, 160, 1, 100, 4_500_000_000)
    (rule,) = _rules(off, message="position-report")
    assert (rule["do"]["set"]["source"], rule["do"]["towards"]) == ("10.0.1.1", "server")
    with pytest.raises(UserError, match="network 'wire' alone"):
        _specs(off, scenario="hsr")


WITH_KEYS = 'attacker = "in-path-with-keys"\n'


def _at_sender(threat: str, **about: str) -> Any:
    none, some = (plan_run(spec) for spec in _specs(threat + WITH_KEYS, **about))
    check_plan(guest.plan([none, some]))
    assert "in_path" not in some
    assert "threat" not in none["flows"][0]["app_params"]
    assert none["seed"] == some["seed"]
    return some["flows"][0]["app_params"]["threat"]


@pytest.mark.parametrize("protocol", ["tls-cubic", "quic-quinn-cubic", "restp-protected", "rasta-tls"])
def test_who_has_the_keys_of_what_is_sealed_acts_in_the_senders_place(protocol: str) -> None:
    late = _at_sender(THIRD.format("delay") + 'by = "4s"\n', protocol=protocol)
    assert late == {"kind": "delay", "message": 3, "by_s": 4.0}
    changed = THIRD.format("corruption") + 'bits = 2\nburst = 9\nchecksums = "repair"\n'
    assert _at_sender(changed, protocol=protocol) == {
        "kind": "corruption", "message": 3, "bits": 2, "burst_bits": 9,
    }  # fmt: skip
    # The first message that is due then or later.
    by_time = _at_sender('kind = "masquerade"\nat = "4.5s"\n', protocol=protocol)
    assert _at_sender('kind = "masquerade"\nmessage = "last"\n', protocol=protocol)["message"] == 10
    (forged,) = _rules('kind = "masquerade"\nat = "4.5s"\n' + WITH_KEYS)
    number = struct.unpack("<I", bytes.fromhex(_set(forged)[0]))[0]
    assert by_time == {"kind": "masquerade", "message": number}


def test_over_what_is_read_on_the_way_the_node_acts_unless_it_cannot_forge() -> None:
    assert _rules(THIRD.format("delay") + 'by = "4s"\n' + WITH_KEYS)[0]["do"]["action"] == "delay"
    assert _at_sender(THIRD.format("insertion"), protocol="rasta") == {"kind": "insertion", "message": 3}
    (rule,) = _rules(THIRD.format("deletion") + WITH_KEYS, protocol="rasta")
    assert rule["do"]["action"] == "drop"


def test_a_message_can_be_named_by_its_place_or_by_time() -> None:
    (rule,) = _rules('kind = "deletion"\nmessage = "last"')
    assert rule["match"]["message"]["number"] == 10
    (rule,) = _rules('kind = "deletion"\nat = "5s"')
    assert rule["match"] == {
        "towards": "east", "from_s": 5.0, "message": {"flow": "f0"}, "nth": 1,
    }  # fmt: skip
    (rule,) = _rules('kind = "masquerade"\nat = "5s"')
    assert _set(rule)[0] == struct.pack("<I", 5).hex()


@pytest.mark.parametrize(
    ("threat", "about", "sentence"),
    [
        ('kind = "deletion"\nmessage = 3\nattacker = "on-path"', {}, "'on-path' cannot do 'deletion'"),
        ('kind = "masquerade"\nmessage = 3\nattacker = "random-fault"', {}, "cannot do 'masquerade'"),
        ('kind = "masquerade"\nmessage = 3\nattacker = "off-path"', {}, "sees no message; say 'at'"),
        ('kind = "deletion"', {}, "either the key 'message' or the key 'at'"),
        ('kind = "delay"\nmessage = 3', {}, "needs the key 'by'"),
        ('kind = "deletion"\nmessage = 3\nby = "1s"', {}, "'by' means nothing to 'deletion'"),
        ('kind = "deletion"\nmessage = 3\nbits = 2', {}, "'bits' means nothing to 'deletion'"),
        ('kind = "deletion"\nmessage = 11', {}, "message 11 is meant, and the flow sends 10"),
        ('kind = "re-sequencing"\nmessage = "last"', {}, "no message comes after the last one"),
        (
            'kind = "corruption"\nmessage = 3\nattacker = "random-fault"\nchecksums = "repair"',
            {},
            "a fault repairs no checksum",
        ),
        (
            'kind = "corruption"\nmessage = 3\nattacker = "in-path-with-keys"\nchecksums = "leave"',
            {"protocol": "tls-cubic"},
            "what an attacker with keys changes is sealed anew",
        ),
        (
            'kind = "re-sequencing"\nmessage = "last"\nattacker = "in-path-with-keys"',
            {"protocol": "tls-cubic"},
            "no message comes after the last one",
        ),
        ('kind = "masquerade"\nmessage = 3', {"protocol": "sctp"}, "cannot make a packet of sctp"),
        ('kind = "insertion"\nmessage = 3', {"protocol": "rasta"}, "cannot make a packet of rasta"),
        ('kind = "masquerade"\nmessage = 3', {"protocol": "tls-sctp"}, "cannot make a packet of tls-sctp"),
        (
            'kind = "masquerade"\nmessage = 3',
            {"protocol": "restp-file"},
            "cannot make a packet of restp-file",
        ),
        (
            'kind = "insertion"\nat = "3s"\nattacker = "off-path"',
            {"protocol": "rasta"},
            "set attacker = 'in-path-with-keys', who does it in the sender's place",
        ),
        ('kind = "deletion"\nmessage = 3', {"protocol": "quic-aioquic-cubic"}, "programs carry 'safety'"),
        (
            'kind = "deletion"\nmessage = 3\nflow = "reports"',
            {},
            "no flow of the application 'safety' is called",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(threat: str, about: dict[str, str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        _specs(threat, **about)


def test_a_threat_that_is_not_there_is_refused_and_none_is_no_name() -> None:
    text = EXPERIMENT.format(
        scenario="constant", protocol="udp", message="movement-authority", flow="",
        threat='kind = "deletion"\nmessage = 3',
    )  # fmt: skip
    with pytest.raises(UserError, match=r"there is no \[\[threat\]\] 'that'; the names are none, it"):
        expand(parse_experiment(text.replace('"none", "it"', '"that"'), "threats.toml", Path()))
    with pytest.raises(UserError, match="choose another name"):
        parse_experiment(text.replace('name = "it"', 'name = "none"'), "threats.toml", Path())
    twice = text + '[[threat]]\nname = "it"\nkind = "deletion"\nmessage = 4\n'
    with pytest.raises(UserError, match="two are called 'it'"):
        expand(parse_experiment(twice, "threats.toml", Path()))


def test_two_nodes_do_not_stand_in_one_place() -> None:
    node = '[[in_path]]\nname = "mallory"\nplace = "trackside"'
    with pytest.raises(UserError, match="another node stands beside the trackside"):
        _specs(THIRD.format("deletion"), flow=node)
    (rule,) = plan_run(_specs(THIRD.format("deletion") + 'place = "train"', flow=node)[1])["in_path"][1][
        "rules"
    ]
    assert rule["match"]["towards"] == "client"


def test_a_kind_of_message_goes_its_own_way() -> None:
    with pytest.raises(UserError, match="a movement-authority goes down"):
        _specs(THIRD.format("deletion"), flow='direction = "up"')


def test_each_of_many_sessions_has_a_threat_of_its_own_drawn_by_the_repetition() -> None:
    about = {"flow": "sessions = 20", "protocol": "tcp-cubic"}
    rules = _rules('kind = "deletion"\nmessage = "drawn"\n', **about)
    assert [rule["match"]["message"]["flow"] for rule in rules] == [f"f{place}" for place in range(20)]
    numbers = {rule["match"]["message"]["number"] for rule in rules}
    assert len(numbers) > 3
    assert numbers <= set(range(2, 9))
    assert rules == _rules('kind = "deletion"\nmessage = "drawn"\n', **about)
    _, some = _specs('kind = "deletion"\nmessage = "drawn"\n', **about)
    starts = [flow.start_s for flow in some.flows]
    assert len(set(starts)) == 20
    assert all(1.0 <= start_s <= 2.0 for start_s in starts)


def test_who_has_the_keys_acts_in_each_session() -> None:
    about = {"flow": "sessions = 20", "protocol": "quic-quinn-cubic"}
    _, some = _specs('kind = "deletion"\nmessage = "drawn"\n' + WITH_KEYS, **about)
    armed = [flow.threat for flow in some.flows if flow.threat is not None]
    assert len(armed) == 20
    assert {it["kind"] for it in armed} == {"deletion"}
    assert len({it["message"] for it in armed}) > 3


def test_sessions_do_not_share_what_is_held() -> None:
    rules = _rules('kind = "re-sequencing"\nmessage = "drawn"\n', flow="sessions = 2")
    assert [rule["do"].get("from", rule["do"].get("as")) for rule in rules] == 2 * ["held-f0"] + 2 * [
        "held-f1"
    ]


def test_nothing_can_be_drawn_of_too_few_messages() -> None:
    text = EXPERIMENT.replace('duration = "10s"', 'duration = "4s"').format(
        threat='kind = "deletion"\nmessage = "drawn"',
        scenario="constant",
        protocol="udp",
        message="movement-authority",
        flow="",
    )
    with pytest.raises(UserError, match="at least 5"):
        expand(parse_experiment(text, "threats.toml", Path()))
