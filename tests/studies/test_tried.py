"""Trials stand beside the cells of assess: in a sentence, and whole."""

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console, RenderableType

from gauntlet.defences import compare, data
from gauntlet.evidence.verdict import DROPPED, INVALID, LATE, SIGNALLED, UNDETECTED
from gauntlet.studies import tried_table
from gauntlet.studies.summary import Summary
from gauntlet.studies.tried import Cell, Outcome, cells, tried
from tests.studies.counted import part, row, summary

KNOWN = data.default()
Table = Callable[..., RenderableType]
STOPS = {"stopped": 40, "recovered": 38, "recovered_after_s": 1.16, "recovered_within_s": 1.4}
"""Of 40 trials in which a session ended."""


def test_trials_stand_beside_the_cells_that_they_are_of(tmp_path: Path) -> None:
    rows = row("prevented", 1000), row("undetected", 7, protocol="udp"), row("invalid", 2, protocol="udp")
    summary(*rows).write(tmp_path / "summary", {})
    known = data.default()
    told = tried(cells(known, tmp_path / "summary"))
    assert told["sctp", "deletion"] == "0 of 1,000 trials unnoticed (at most 0.299 %) without freshness check"
    assert told["udp", "deletion"] == "7 of 7 trials unnoticed without freshness check"
    assert set(told) == {("sctp", "deletion"), ("udp", "deletion")}
    beside = {it.row: it.tried for it in compare.threats(known, known.protocol("udp"), told)}
    assert beside["deletion"] == told["udp", "deletion"]
    assert beside["delay"] == compare.NOT_TRIED


def test_what_was_acted_on_first_is_told_beside_a_cell(tmp_path: Path) -> None:
    """Noticed afterwards is not prevented."""
    late = {**row("detected and signalled", 400, freshness=True), "by": "application"}
    summary({**late, "trials": 100, "distinct": 100}, {**late, "accepted_before": True}).write(
        tmp_path / "summary", {}
    )
    assert tried(cells(data.default(), tmp_path / "summary"))["sctp", "deletion"] == (
        "0 of 500 trials unnoticed (at most 0.597 %), acted on before anybody was told in 400, "
        "with freshness check"
    )


def test_where_both_came_to_the_same_it_is_said_once(tmp_path: Path) -> None:
    with_check = row("detected and signalled", 400, freshness=True)
    summary(row("prevented", 400), with_check).write(tmp_path / "summary", {})
    assert tried(cells(KNOWN, tmp_path / "summary"))["sctp", "deletion"] == (
        "0 of 400 trials unnoticed (at most 0.746 %) with freshness check and without"
    )
    summary(row("undetected", 400), with_check).write(tmp_path / "other", {})
    assert tried(cells(KNOWN, tmp_path / "other"))["sctp", "deletion"] == (
        "400 of 400 trials unnoticed without freshness check; "
        "0 of 400 trials unnoticed (at most 0.746 %) with freshness check"
    )


def test_what_the_transport_let_through_is_not_said_to_be_its_doing(tmp_path: Path) -> None:
    """UDP hands a stranger's message on; the application knows it by its identities."""
    found = {**row("detected and signalled", 390), "by": "application"}
    summary(found, row("prevented", 10)).write(tmp_path / "summary", {})
    assert tried(cells(KNOWN, tmp_path / "summary"))["sctp", "deletion"] == (
        "0 of 400 trials unnoticed (at most 0.746 %) without freshness check; "
        "without it form or identities told the application in 390"
    )


def test_trials_of_two_experiments_are_not_added_up(tmp_path: Path) -> None:
    """One registered seed draws both, so a trial of the second may be one of the first again."""
    both = {"threats": part(row("prevented", 1000)), "more": part(row("prevented", 400))}
    Summary("d00", both).write(tmp_path / "summary", {})
    assert tried(cells(data.default(), tmp_path / "summary"))["sctp", "deletion"] == (
        "0 of 400 trials unnoticed (at most 0.746 %) without freshness check; "
        "in another experiment 0 of 1,000 trials unnoticed (at most 0.299 %) without freshness check"
    )


def test_certificates_at_both_ends_are_another_protocol(tmp_path: Path) -> None:
    """Trials of an experiment with them stand beside its cells alone, and the others not beside these."""
    experiments = {
        "both-sides": part(row("prevented", 400, protocol="tls-cubic")),
        "threats": part(row("undetected", 300, protocol="tls-cubic")),
    }
    Summary("d00", experiments).write(tmp_path / "summary", {})
    assert tried(cells(data.default(), tmp_path / "summary")) == {
        ("tcp-mtls", "deletion"): "0 of 400 trials unnoticed (at most 0.746 %) without freshness check",
        ("tcp-tls", "deletion"): "300 of 300 trials unnoticed without freshness check",
    }


def test_early_data_are_another_protocol(tmp_path: Path) -> None:
    """Their trials stand beside the row of QUIC with 0-RTT, those of no early data beside that of QUIC."""
    over_quic = row("prevented", 400, protocol="quic-quinn-cubic")
    afterwards = {**over_quic, "threat": "repetition-afterwards", "verdict": "undetected", "distinct": 3}
    experiments = {"quic-0rtt": part(over_quic, afterwards), "threats": part({**over_quic, "distinct": 300})}
    Summary("d00", experiments).write(tmp_path / "summary", {})
    assert tried(cells(data.default(), tmp_path / "summary")) == {
        ("quic", "deletion"): "0 of 300 trials unnoticed (at most 0.994 %) without freshness check",
        ("quic-0rtt", "deletion"): "0 of 400 trials unnoticed (at most 0.746 %) without freshness check",
        ("quic-0rtt", "repetition"): (
            "once the session was over 3 of 3 trials unnoticed without freshness check"
        ),
    }


def test_copies_of_a_trial_stand_once(tmp_path: Path) -> None:
    summary(row("prevented", 1000, distinct=3)).write(tmp_path / "summary", {})
    told = tried(cells(KNOWN, tmp_path / "summary"))
    assert told["sctp", "deletion"].startswith("0 of 3 trials unnoticed (at most 63.2")


def signalled(trials: int, **changes: Any) -> dict[str, Any]:
    told = {"by": "transport", "told_after_s": 0.42, "told_in_time": trials}
    return {**row("detected and signalled", trials), **told, **changes}


def the_cell(tmp_path: Path, *rows: dict[str, Any]) -> Cell:
    summary(*rows).write(tmp_path / "summary", {})
    (cell,) = cells(KNOWN, tmp_path / "summary")["sctp", "deletion"]
    return cell


def test_a_cell_keeps_what_its_sentence_does_not_say(tmp_path: Path) -> None:
    missing = signalled(40, harms="missing", told_in_time=30, told_after_s=1.4)
    acted = signalled(5, by="application", accepted_before=True, harms="changed, missing", told_in_time=0)
    cell = the_cell(tmp_path, acted, missing, row("undetected", 2, harms="changed"), row(INVALID, 25))
    assert cell.outcomes == (
        Outcome("detected and signalled", 40, ("missing",), "transport", False, 1.4, 0.75),
        Outcome("detected and signalled", 5, ("changed", "missing"), "application", True, 0.42, 0.0),
        Outcome("undetected", 2, ("changed",), None, False, None, None),
    )
    assert (cell.trials, cell.unnoticed, cell.accepted_before, cell.invalid) == (47, 2, 5, 25)
    assert cell.most_unnoticed is None


def test_in_an_older_summary_only_what_was_acted_on_first_is_known_to_be_late(tmp_path: Path) -> None:
    old = [
        {key: it for key, it in told.items() if key != "told_in_time"}
        for told in (signalled(40), signalled(5, accepted_before=True))
    ]
    assert [it.told_in_time for it in the_cell(tmp_path, *old).outcomes] == [None, 0.0]


def printed(tmp_path: Path, *protocols: str, table: Table = tried_table.whole) -> list[str]:
    screen = StringIO()
    those = [KNOWN.protocol(name) for name in protocols]
    Console(file=screen, width=80).print(table(KNOWN, those, cells(KNOWN, tmp_path / "summary")))
    return [line.rstrip() for line in screen.getvalue().splitlines()]


def tables(tmp_path: Path, *protocols: str) -> list[str]:
    """What stands below order and legend."""
    lines = printed(tmp_path, *protocols)
    return lines[lines.index("") + 1 :]


def test_order_and_legend_stand_before_the_trials(tmp_path: Path) -> None:
    summary(row("prevented", 400)).write(tmp_path / "summary", {})
    lines = printed(tmp_path, "sctp")
    above = " ".join(lines[: lines.index("SCTP: what trials came to")])
    names = ", ".join(threat.name.lower() for threat in KNOWN.threats)
    assert f"Threats stand in the order of Table 4 of AB4Rail D3.5 ({names})" in above
    for word in ("no, yes ", "trials ", "after ", "in time ", "before ", "harms "):
        assert any(line.startswith(word) for line in lines[: lines.index("")]), word


def test_trials_that_are_not_counted_are_told_below_those_that_they_are_alike_to(tmp_path: Path) -> None:
    summary(row("prevented", 1050, distinct=1049), row("silently dropped", 3)).write(tmp_path / "summary", {})
    assert [" ".join(line.split()) for line in tables(tmp_path, "sctp")[2:6]] == [
        "deletion (threats)",
        "no prevented 1,049",
        "not counted 1",
        "silently dropped 3",
    ]
    assert "alike to one of these to the nanosecond" in " ".join(" ".join(printed(tmp_path, "sctp")).split())


def test_the_table_has_every_row_of_the_summary_and_fits_a_terminal(tmp_path: Path) -> None:
    with_check = signalled(1030, by="application", freshness=True, harms="missing", told_in_time=515)
    rows = row("silently dropped", 1050, harms="missing"), with_check, row(INVALID, 20, freshness=True)
    control = {**row("undisturbed", 100), "threat": "none"}
    manifest = part(*rows, control)
    Summary("d00", {"threats": manifest, "more": part(row("prevented", 400))}).write(tmp_path / "summary", {})
    lines = tables(tmp_path, "sctp", "udp")
    assert lines[: lines.index("UDP: what trials came to")] == [
        "SCTP: what trials came to",
        "                                trials  after in time before harms",
        "deletion (more)",
        "  no   prevented                   400",
        "deletion (threats)",
        "  no   silently dropped          1,050                       missing",
        "  yes  signalled by application  1,030 0.42 s  50.0 %        missing",
        "       invalid                      20",
        "no threat (threats)",
        "  no   undisturbed                 100",
        "",
        "not tried on the way: insertion and masquerade: the next chunk bears the next",
        "TSN, and the node adds to TCP's numbers alone.",
        "",
    ]
    assert lines[lines.index("UDP: what trials came to") + 1] == "not tried."
    assert "no safety integrity level" in " ".join(lines)


def test_the_table_names_the_experiment_of_each_control(tmp_path: Path) -> None:
    """Rows of two experiments under one heading read as one cell."""
    alone = {**row("undisturbed", 100), "threat": "none"}
    checked = {**row("undisturbed", 1049, freshness=True), "threat": "none"}
    experiments = {"control": part(alone), "control-thousand": part(checked)}
    Summary("d00", experiments).write(tmp_path / "summary", {})
    lines = tables(tmp_path, "sctp")
    assert [" ".join(line.split()) for line in lines[2 : lines.index("")]] == [
        "no threat (control)",
        "no undisturbed 100",
        "no threat (control-thousand)",
        "yes undisturbed 1,049",
    ]


def test_stops_stand_below_what_they_are_of(tmp_path: Path) -> None:
    nothing = {"stopped": 0, "recovered": 0, "recovered_after_s": None, "recovered_within_s": None}
    rows = (
        signalled(40, harms="missing", freshness=True, **STOPS),
        row("prevented", 2, freshness=True) | nothing,
    )
    summary(*rows).write(tmp_path / "summary", {})
    lines = tables(tmp_path, "sctp")
    assert [" ".join(line.split()) for line in lines[2 : lines.index("")]] == [
        "deletion (threats)",
        "yes signalled by transport 40 0.42 s 100 % missing",
        "stopped 40",
        "again 38 1.16 s within 1.40 s",
        "prevented 2",
    ]


def test_where_sessions_are_opened_again_trials_stand_in_the_whole_table_alone(tmp_path: Path) -> None:
    """What is missing then is another message than where the session before was the last one."""
    stops = part(signalled(40, harms="missing", freshness=True, **STOPS))
    experiments = {"availability": stops, "threats": part(row("prevented", 400))}
    Summary("d00", experiments).write(tmp_path / "summary", {})
    assert tried(cells(KNOWN, tmp_path / "summary")) == {
        ("sctp", "deletion"): "0 of 400 trials unnoticed (at most 0.746 %) without freshness check"
    }
    (cell, _) = cells(KNOWN, tmp_path / "summary")["sctp", "deletion"][::-1]
    assert (cell.reopens, cell.outcomes[0].stopped, cell.outcomes[0].recovered) == (True, 40, 38)


@pytest.mark.parametrize(
    ("protocol", "left"), [("rasta", ", not RaSTA's MD4"), ("restp", ", not ResTP's CRCs"), ("sctp", "")]
)
def test_which_code_an_attacker_left_as_it_is_stands_beside_his_act(
    tmp_path: Path, protocol: str, left: str
) -> None:
    mended = {
        **row("prevented", 1050),
        "threat": "corruption-repaired",
        "protocol": KNOWN.protocol(protocol).tried_as,
    }
    Summary("d00", {"threats": part(mended)}).write(tmp_path / "summary", {})
    whole = tables(tmp_path, protocol)
    assert " ".join(" ".join(whole[2:5]).split()).startswith(
        f"corruption-repaired (threats){left} no prevented"
    )
    short = printed(tmp_path, protocol, table=tried_table.in_short)
    assert f"Corruption with the checksum made right{left} 0 of 1,050" in " ".join(short[3].split())


def test_in_short_a_line_is_an_act(tmp_path: Path) -> None:
    checked = {**row("detected and signalled", 1050, freshness=True), "by": "application"}
    known = {**row("detected and signalled", 1050), "by": "application"}
    repaired = {**row("undetected", 1050), "threat": "corruption-repaired"}
    acted = {**checked, "threat": "masquerade-as-sender", "accepted_before": True}
    experiments = {
        "more": part(row("prevented", 400)), "threats": part(known, checked, repaired, acted),
    }  # fmt: skip
    Summary("d00", experiments).write(tmp_path / "summary", {})
    lines = printed(tmp_path, "sctp", "udp", table=tried_table.in_short)
    assert [" ".join(line.split()) for line in lines[:10]] == [
        "Trials that nobody noticed",
        "By trial without with",
        "SCTP",
        "Deletion (more) 0 of 400",
        "Deletion (threats) 0 of 1,050 i 0 of 1,050",
        "Corruption with the checksum made right 1,050 of 1,050",
        "Masquerade by who acts in the sender's place 0 of 1,050 !",
        "Masquerade on the way not tried",
        "UDP",
        "not tried",
    ]
    assert lines[3].startswith("  Deletion (more)") and lines[4].startswith("    Deletion (threats)")
    assert printed(tmp_path, "udp", table=tried_table.in_short) == ["By trial: not tried."]


@pytest.mark.parametrize(
    ("act", "threat", "came", "marked"),
    [
        ("deletion", "deletion", {LATE: "late"}, ["late"]),
        ("corruption-two-bits", "corruption", {DROPPED: "missing"}, ["missing"]),
        ("corruption", "corruption", {LATE: "late", DROPPED: "missing"}, ["late", "missing"]),
        ("deletion", "deletion", {DROPPED: "missing"}, []),
        ("deletion", "deletion", {LATE: "late", DROPPED: "missing"}, []),
        ("delay-as-sender", "delay", {LATE: "late"}, []),
        ("re-sequencing", "re-sequencing", {UNDETECTED: "out of order, late"}, []),
        ("corruption", "corruption", {DROPPED: "missing", UNDETECTED: "changed, missing"}, []),
        ("corruption", "corruption", {SIGNALLED: "missing"}, []),
    ],
)
def test_what_nobody_noticed_is_marked_where_it_is_not_what_the_threat_does(
    tmp_path: Path, act: str, threat: str, came: dict[str, str], marked: list[str]
) -> None:
    rows = [row(verdict, 7, harms=harms) | {"threat": act} for verdict, harms in came.items()]
    summary(*rows).write(tmp_path / "summary", {})
    found = cells(KNOWN, tmp_path / "summary")
    (cell,) = found["sctp", threat]
    assert list(cell.only) == marked
    said = " ".join(" ".join(printed(tmp_path, "sctp", table=tried_table.in_short)).split())
    words = f"only {' or '.join(marked)}"
    assert (f" of {cell.trials} {words}" in said) == ("only late, all" in said) == bool(marked)
    assert (f", {words}, without" in tried(found)["sctp", threat]) == bool(marked)
