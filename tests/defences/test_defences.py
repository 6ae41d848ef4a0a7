"""EN 50159 on paper: the file is whole, and what D3.5 prints stands beside it cell by cell."""

from collections import Counter
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from gauntlet.defences import compare, data, terminal
from gauntlet.defences.compare import NOT_TRIED, Verdict
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
    assert all(it.in_short is not None for name in COLUMNS for it in KNOWN.protocol(name).has.values())


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
    assert (found.in_short, found.answer, found.verdict, found.line) == ("X", "no", Verdict.DIFFERS, 1594)


@pytest.mark.parametrize(
    ("threat", "line", "ticked"),
    [
        ("repetition", 1588, "TCP TCP+TLS SCTP SCTP+TLS QUIC"),
        ("deletion", 1589, "TCP TCP+TLS SCTP SCTP+TLS QUIC"),
        ("insertion", 1590, "TCP TCP+TLS SCTP SCTP+TLS UDP QUIC"),
        ("re-sequencing", 1591, "TCP TCP+TLS SCTP SCTP+TLS QUIC"),
        ("corruption", 1592, "TCP TCP+TLS SCTP SCTP+TLS UDP QUIC"),
        ("delay", 1593, "TCP TCP+TLS SCTP SCTP+TLS QUIC"),
        ("masquerade", 1594, "TCP TCP+TLS SCTP SCTP+TLS UDP QUIC"),
    ],
)
def test_a_row_of_table_7_is_as_d35_has_it(threat: str, line: int, ticked: str) -> None:
    cells = {name: cell(name, threat) for name in COLUMNS}
    assert {it.line for it in cells.values()} == {line}
    assert {name for name, it in cells.items() if it.in_short == "X"} == set(ticked.split())
    assert {it.in_short for it in cells.values()} <= {"X", ""}


def test_how_many_cells_differ() -> None:
    seven = [it for protocol in KNOWN.protocols for it in compare.threats(KNOWN, protocol)]
    assert Counter(it.verdict for it in seven) == {
        Verdict.AGREES: 17,
        Verdict.FAULTS_ONLY: 12,
        Verdict.DIFFERS: 13,
        None: 70,
    }
    differing = [it for it in seven if it.verdict == Verdict.DIFFERS]
    assert Counter(it.answer for it in differing) == {"no": 8, "partly": 5}
    five = [it for protocol in KNOWN.protocols for it in compare.defences(KNOWN, protocol)]
    assert sum(it.verdict == Verdict.DIFFERS for it in five) == 10


def test_the_pages_table_is_the_commands() -> None:
    screen = StringIO()
    Console(file=screen, width=80).print(terminal.matrix(KNOWN))
    printed = "\n".join(line.rstrip() for line in screen.getvalue().splitlines())
    assert printed.count("\n") == 1 + len(KNOWN.protocols), "a terminal of 80 columns folds no row of it"
    page = (Path(__file__).parents[2] / "docs" / "en50159.md").read_text(encoding="utf-8")
    assert f"```text\n{printed}\n```" in page


@pytest.mark.parametrize("protocol", ["tcp-tls", "tcp-mtls", "sctp-tls"])
def test_a_tail_that_is_cut_off_goes_unnoticed_under_tls(protocol: str) -> None:
    found = KNOWN.protocol(protocol).meets["deletion"]
    assert found.answer == "partly"
    assert found.holds_against_faults


@pytest.mark.parametrize("protocol", ["rasta", "rasta-tls"])
def test_a_fresh_stamp_hides_how_old_the_content_is(protocol: str) -> None:
    assert KNOWN.protocol(protocol).has["time-stamp"].answer == "yes"
    assert cell(protocol, "delay").answer == "partly"


@pytest.mark.parametrize(
    "protocol", ["tcp", "tcp-tls", "tcp-mtls", "sctp", "sctp-tls", "quic", "quic-mutual", "dtls"]
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
    assert len(cells) == 101
    assert sum(not it.agrees for it in cells) == 33
    judged = [it for it in cells if it.judged]
    assert len(judged) == 76
    assert sum(not it.agrees for it in judged) == 23
    assert {it.hazard.name for it in cells if not it.judged} == {
        "Systematic failure of hardware",
        "Systematic failure of software",
        "Random failures of hardware",
        "Unauthorised changes of software",
    }
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
