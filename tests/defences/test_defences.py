"""EN 50159 on paper: the file is whole, and what D3.5 prints stands beside it cell by cell."""

from pathlib import Path

import pytest

from gauntlet.defences import compare, data
from gauntlet.defences.compare import NOT_TRIED
from gauntlet.defences.data import Meets
from gauntlet.errors import UserError

KNOWN = data.default()
COLUMNS = ("UDP", "TCP", "TCP+TLS", "SCTP", "SCTP+TLS", "QUIC")


def cell(protocol: str, threat: str) -> compare.Cell:
    return next(it for it in compare.threats(KNOWN, KNOWN.protocol(protocol)) if it.row == threat)


def test_every_protocol_has_every_cell_with_a_source() -> None:
    assert len(KNOWN.threats) == 7
    assert len(KNOWN.defences) == 8
    for protocol in KNOWN.protocols:
        assert all(it.source and it.why for it in protocol.has.values())
        assert all(it.source and it.why for it in protocol.meets.values())


def test_all_six_columns_of_d35_are_there() -> None:
    assert {it.column for it in KNOWN.protocols if it.column} == set(COLUMNS)
    assert all(it.said is not None for name in COLUMNS for it in KNOWN.protocol(name).has.values())


def test_the_ticks_are_those_of_table_7() -> None:
    """Lines 1588 to 1594: all but UDP everywhere; UDP for insertion, corruption and masquerade."""
    every = frozenset(it.id for it in KNOWN.threats)
    for name in COLUMNS:
        wanted = {"insertion", "corruption", "masquerade"} if name == "UDP" else every
        assert KNOWN.protocol(name).ticks == wanted


def test_udps_masquerade_contradicts_the_studys_own_tables() -> None:
    udp = KNOWN.protocol("udp")
    threat = next(it for it in KNOWN.threats if it.id == "masquerade")
    assert compare.by_table_4(KNOWN, udp, threat) == []
    found = cell("udp", "masquerade")
    assert (found.said, found.answer, found.agrees, found.line) == ("X", "no", False, 1594)


@pytest.mark.parametrize(
    "protocol", ["tcp", "tcp-tls", "tcp-mtls", "sctp", "sctp-tls", "quic", "quic-mutual"]
)
def test_no_transport_without_time_stamps_tells_a_late_message(protocol: str) -> None:
    assert KNOWN.protocol(protocol).has["time-stamp"].answer == "no"
    assert cell(protocol, "delay").answer == "no"


def test_tls_on_one_side_leaves_the_client_open_and_on_both_does_not() -> None:
    assert cell("tcp-tls", "masquerade").answer == "partly"
    assert cell("quic", "masquerade").answer == "partly"
    assert cell("tcp-mtls", "masquerade").answer == cell("quic-mutual", "masquerade").answer == "attack"
    assert cell("quic-0rtt", "repetition").answer == "partly"


def test_a_threat_is_met_only_with_a_defence_that_table_4_names() -> None:
    for protocol in KNOWN.protocols:
        for threat in KNOWN.threats:
            if protocol.meets[threat.id].answer != Meets.NO:
                assert compare.by_table_4(KNOWN, protocol, threat), (protocol.id, threat.id)


def test_only_a_key_holds_against_an_attack() -> None:
    for protocol in KNOWN.protocols:
        if any(it.answer == Meets.ATTACK for it in protocol.meets.values()):
            assert protocol.has["cryptography"].answer == "yes"


def test_nothing_is_called_tried() -> None:
    cells = [it for protocol in KNOWN.protocols for it in compare.threats(KNOWN, protocol)]
    assert {it.tried for it in cells} == {NOT_TRIED}


def test_table_8_is_what_table_7_ticks_and_less_holds() -> None:
    cells = list(compare.robustness(KNOWN))
    assert len({it.hazard.name for it in cells}) == 24
    fading = {it.threat: it for it in cells if it.hazard.name == "Fading"}
    assert fading["deletion"].agrees
    assert fading["delay"].holds == ()
    tapping = next(it for it in cells if (it.hazard.name, it.threat) == ("Wire tapping", "insertion"))
    assert tapping.holds == ("TCP+TLS", "SCTP+TLS", "QUIC")


def test_a_file_that_lacks_a_cell_is_one_sentence(tmp_path: Path) -> None:
    text = Path(data.__file__).with_name(data.FILE).read_text(encoding="utf-8")
    own = tmp_path / "own.toml"
    own.write_text(
        text.replace('identification = { is = "no", why = "whoever sends', 'identity = { is = "no", why = "w')
    )
    with pytest.raises(UserError, match=r"own.toml: UDP, has: ident"):
        data.load(own)
