"""What GEOGRAPHY's page and notes say in numbers is what the committed summary has."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

from gauntlet.studies import ledger, study
from gauntlet.studies.summary import VERDICTS, Summary

STUDY = study("geography")
SUMMARY = Summary.load(STUDY.summary)
PAGE = (Path(__file__).parents[2] / "docs" / "studies" / "geography.md").read_text(encoding="utf-8")
NOTES = {claim.id: claim.note for claim in ledger.load(STUDY.ledger)}
DECIDED = json.loads((STUDY.summary / VERDICTS).read_text(encoding="utf-8"))["claims"]
SETS = {"disjoint": "node-disjoint", "iwpsp": "geodiverse"}
RATES = ("rate_before_bps", "rate_first_bps", "rate_second_bps", "rate_third_bps", "throughput_bps")
UNDER_CIRCLES = (
    ("paths", "mptcp-cubic", "MPTCP"),
    ("paths", "restp-multipath", "ResTP, spreading"),
    ("standby", "restp-standby", "ResTP, standby"),
    ("standby", "mptcp-backup", "MPTCP, backups"),
)
BEARER_LOST = (
    ("tcp-cubic", "TCP"),
    ("mptcp-cubic", "MPTCP"),
    ("mptcp-backup", "MPTCP, a backup"),
    ("restp-multipath", "ResTP, spreading"),
    ("restp-standby", "ResTP, standby"),
)


def mean(experiment: str, kpi: str, **of: Any) -> float:
    """Over repetitions, of one condition."""
    table = SUMMARY.flows(experiment)
    for name, value in of.items():
        table = table.filter(pc.equal(table[name], value))
    assert table.num_rows == len(set(table["repetition"].to_pylist())) > 0, of
    return float(np.mean(table[kpi].to_numpy()))


def rates(experiment: str, protocol: str, method: str) -> list[float]:
    """Mbit/s before the circles, in each of them and over all."""
    of = {"protocol": protocol, "network.method": method}
    return [mean(experiment, kpi, **of) / 1e6 for kpi in RATES]


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def numbers(values: list[float]) -> list[str]:
    return [f"{it:.1f}" for it in values]


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


@pytest.mark.parametrize(("experiment", "protocol", "name"), UNDER_CIRCLES)
@pytest.mark.parametrize("method", SETS)
def test_the_page_has_the_rates_under_the_circles(
    experiment: str, protocol: str, name: str, method: str
) -> None:
    assert row(name, SETS[method], *numbers(rates(experiment, protocol, method))) in PAGE


def test_the_page_has_how_long_a_connection_is_silent() -> None:
    found = [
        (name, mean("handover", "longest_silence_s", protocol=protocol)) for protocol, name in BEARER_LOST
    ]
    found.append(("SCTP, two homes", mean("handover-homes", "longest_silence_s", protocol="sctp")))
    for name, silent_s in found:
        assert f"| {name} | {silent_s:.2f} |" in PAGE
