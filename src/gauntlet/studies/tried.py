"""What the trials of the study en50159 came to, for the cells of `gauntlet assess`."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gauntlet.defences.data import Defences, Protocol
from gauntlet.errors import NotMeasured
from gauntlet.evidence.verdict import INVALID, NOT_NOTICED
from gauntlet.metrics.numbers import number
from gauntlet.studies import folders
from gauntlet.studies.rules.unnoticed import interval
from gauntlet.studies.summary import MANIFEST, Summary

STUDY = "en50159"
_ACTS = {
    "corruption": ("corruption", "corruption-two-bits", "corruption-repaired"),
    "delay": ("delay", "delay-short"),
    "insertion": ("insertion", "insertion-unseen"),
    "masquerade": ("masquerade", "masquerade-unseen"),
    "repetition": ("repetition", "repetition-afterwards"),
}
"""By threat: the acts of the study's experiments where there are several."""
_AS_SENDER = "-as-sender"
_WORDS = {
    "-two-bits": "of two bits ",
    "-afterwards": "once the session was over ",
    "-repaired": "with the checksum of TCP, UDP or SCTP made right ",
    "-short": "of 1 s ",
    "-unseen": "by who does not see the path ",
    _AS_SENDER: "by who acts in the sender's place ",
}
"""By the end of an act's name."""


def acts_of(threat: str) -> tuple[str, ...]:
    """The acts of the study's experiments that are a threat, by its id."""
    return (*_ACTS.get(threat, (threat,)), threat + _AS_SENDER)


def tried(of: Defences, summary: Path | None = None) -> dict[tuple[str, str], str]:
    """By protocol and threat, their ids: in how many trials nobody noticed. Without a summary nothing."""
    home = folders.known().get(STUDY)
    folder = summary or (home / "summary" if home else None)
    if folder is None or not (folder / MANIFEST).exists():
        return {}
    found = Summary.load(folder)
    played = [_rows(found, name) for name in found.experiments]
    told = {}
    for protocol in of.protocols:
        mine = [[row for row in rows if _is_of(row, protocol)] for rows in played]
        for threat in of.threats:
            parts = [
                words
                for act in acts_of(threat.id)
                for freshness in (False, True)
                if (words := _told(mine, act, freshness=freshness))
            ]
            if parts:
                told[protocol.id, threat.id] = "; ".join(parts)
    return told


def _rows(summary: Summary, experiment: str) -> list[dict[str, Any]]:
    """Its trials, with whether both ends showed certificates and whether early data were meant."""
    said = {"both_sides": "both-sides" in experiment, "early_data": "0rtt" in experiment}
    try:
        return [{**row, **said} for row in summary.trials(experiment).to_pylist()]
    except NotMeasured:
        return []


def _is_of(row: Mapping[str, Any], protocol: Protocol) -> bool:
    asked = protocol.tried_as, protocol.both_sides, protocol.early_data
    return (row["protocol"], row["both_sides"], row["early_data"]) == asked


def _told(experiments: Iterable[Iterable[Mapping[str, Any]]], act: str, *, freshness: bool) -> str:
    """Each experiment for itself: one registered seed draws all of them, so trials of one may be those of
    another again.
    """
    words = filter(None, (_counted(rows, act, freshness=freshness) for rows in experiments))
    return "; in another experiment ".join(words)


def _counted(rows: Iterable[Mapping[str, Any]], act: str, *, freshness: bool) -> str:
    those = [
        row
        for row in rows
        if row["threat"] == act and bool(row["freshness"]) == freshness and row["verdict"] != INVALID
    ]
    count = sum(row["distinct"] for row in those)
    if not count:
        return ""
    unnoticed = sum(row["distinct"] for row in those if row["verdict"] in NOT_NOTICED)
    bound = "" if unnoticed else f" (at most {number(100 * interval(0, count, 0.05)[1])} %)"
    acted = sum(row["distinct"] for row in those if row["accepted_before"])
    before = f", acted on before anybody was told in {acted:,}" if acted else ""
    checked = "with" if freshness else "without"
    whose = next((words for end, words in _WORDS.items() if act.endswith(end)), "")
    return f"{whose}{checked} freshness check {unnoticed:,} of {count:,} trials unnoticed{bound}{before}"
