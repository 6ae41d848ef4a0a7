"""The page's numbers of hazards, and those played beside the study, are what was found when they were played.

`kept/hazards.json` is `gauntlet evidence hazards results/hazard-* --json`; the two others are the trials of
experiments that no claim rests on, counted as in a summary (`gauntlet.studies.trialled`).
"""

import json
import math
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).parent / "kept"
PAGE = (ROOT / "docs" / "en50159.md").read_text(encoding="utf-8")
STUDY = (ROOT / "docs" / "studies" / "en50159.md").read_text(encoding="utf-8")
THREATS = ("repetition", "deletion", "insertion", "re-sequencing", "corruption", "delay", "masquerade")


def kept(name: str) -> Any:
    return json.loads((KEPT / f"{name}.json").read_text(encoding="utf-8"))


def hazards() -> dict[str, dict[str, Any]]:
    """By the name that the page has for the hazard: of each transport what it met."""
    return {
        ", ".join([it["name"].removeprefix("hazard-"), *it["condition"].values()]): {
            row["protocol"]: row for row in it["rows"]
        }
        for it in kept("hazards")["hazards"]
    }


def share(of: str, threat: str, protocol: str = "udp", *, interval: bool = False) -> str:
    it = hazards()[of][protocol]["threats"][threat]["share"]
    value, low, high = (100 * it[name] for name in ("value", "low", "high"))
    digits = 0 if not value else 2 - math.floor(math.log10(value))
    told = f"{value:.{digits}f}"
    return f"{told} [{low:.{digits}f} to {high:.{digits}f}]" if interval else told


def line(begins: str) -> str:
    (found,) = (it for it in PAGE.splitlines() if it.startswith(begins))
    return found


def test_the_table_over_udp_is_what_was_played() -> None:
    for of in hazards():
        told = [share(of, threat) for threat in THREATS]
        cells = ["–" if it == "0" else f"{it}%" for it in told]
        assert line(f"{of} ").removeprefix(of).replace(" %", "%").split() == cells


@pytest.mark.parametrize(
    ("begins", "of", "threat"),
    [
        ("| Fading (1552)", "fading", "deletion"),
        ("| Electromagnetic interference (1553)", "bursts", "deletion"),
        ("| Thermal noise (1556)", "corruption", "deletion"),
        ("| Overload (1561)", "overload-constant", "deletion"),
        ("| | re-sequencing", "reordering", "re-sequencing"),
        ("| | delay | 24", "fading", "delay"),
        ("| | delay | 18", "overload", "delay"),
        ("| | delay | 18", "overload-constant", "delay"),
        ("Not ticked:", "handover, 100ms", "deletion"),
        ("Not ticked:", "duplication", "repetition"),
    ],
)
def test_table_6_has_shares_with_their_intervals(begins: str, of: str, threat: str) -> None:
    value, _, interval = share(of, threat, interval=True).partition(" ")
    assert f"{value} {interval}" in line(begins).replace(" %", "")


def test_table_8_has_what_transports_met() -> None:
    four = ("tcp-cubic", "tls-cubic", "sctp", "quic-quinn-cubic")

    def named(of: str, threat: str) -> str:
        shares = zip((share(of, threat, it) for it in four), ("TCP", "TLS", "SCTP", "QUIC"), strict=True)
        return ", ".join(" ".join(it) for it in shares)

    assert f"{named('fading', 'delay')}, as without them" in line("| Fading, delay")
    assert named("bursts", "delay") in line("| Electromagnetic interference, deletion")
    assert f"over SCTP: {share('corruption', 'delay', 'sctp')} " in line("| Thermal noise, deletion")
    assert named("overload", "delay") in line("| Overload, delay")
    beside = ", ".join(share("overload-constant", "delay", it) for it in four)
    assert f"that does not yield {beside} " in line("| Overload, delay")
    for of in ("fading", "bursts", "corruption", "overload", "overload-constant"):
        assert {share(of, "deletion", it) for it in four} == {"0"}, of


def test_rasta_never_sent_what_the_page_says() -> None:
    said = line("**RaSTA** (not in D3.5's tables)")
    for of in ("handover, 2s", "reordering", "bursts"):
        row = hazards()[of]["rasta"]
        due = sum(row["messages"].values()) + row["unsent"]
        assert f"{row['unsent']:,} of {due:,}" in said, (of, row["unsent"], due)


def test_what_was_played_beside_the_study_came_to_what_its_page_says() -> None:
    unchecked = {it["threat"]: it for it in kept("rasta-late") if not it["freshness"]}
    late, beyond = unchecked["delay-short"], unchecked["delay"]
    assert (late["verdict"], beyond["by"]) == ("delivered late unnoticed", "transport")
    assert f"handed on in silence: {late['trials']} of 50, played beside the study" in STUDY
    assert f"of 2 s T_max told in {beyond['trials']} of 50" in STUDY
    undisturbed = kept("control-reopened")
    assert {it["verdict"] for it in undisturbed} == {"undisturbed"}
    assert {it["trials"] for it in undisturbed} == {1050} and len(undisturbed) == 8
    assert (
        "of 1,050 sessions of each of 8 transports that would be opened again all were undisturbed" in STUDY
    )
