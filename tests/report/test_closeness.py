"""How closely a campaign knows its means, and what it says of that."""

from pathlib import Path

import pytest

from gauntlet import report
from gauntlet.metrics.sequential import closeness
from gauntlet.report.closeness import known

from .flows import Constructed, Did, build

TIMES_S = {"tcp-bbr": [10.0, 10.0, 10.0, 10.0, 10.0, 16.0], "sctp": [10.0, 11.0, 10.0, 11.0, 10.0, 11.0]}


def campaign(tmp_path: Path, did: dict[str, list[float]]) -> Path:
    made = Constructed(
        tuple(did),
        lambda protocol, _place, repetition, _loss: Did(did[protocol][repetition - 1]),
        repetitions=6,
    )
    return build(tmp_path / "results", tmp_path / "scratch", made)


def test_the_widest_is_told_first(tmp_path: Path) -> None:
    found = known(report.load(campaign(tmp_path, TIMES_S)), 0.2, look=1, repetitions=6)
    assert [(it.protocol, it.kpi) for it in found.means] == [
        ("TCP BBR", "download_time_s"),
        ("SCTP", "download_time_s"),
    ]
    assert [it.share for it in found.means] == pytest.approx(
        [closeness(TIMES_S["tcp-bbr"], 1), closeness(TIMES_S["sctp"], 1)]
    )
    assert [it.protocol for it in found.wide] == ["TCP BBR"]
    said, _, widest = found.words.partition(": the widest is ±")
    assert said == "1 of 2 means is wider than ±20 % with 6 repetitions (look 1)"
    assert widest.endswith("(TCP BBR, loss 0 %).") or widest.endswith("(TCP BBR, all runs).")
    told = found.to_json()
    assert (told["reached"], told["repetitions"], len(told["widest"])) == (False, 6, 1)


def test_a_later_look_asks_for_more(tmp_path: Path) -> None:
    evaluation = report.load(campaign(tmp_path, TIMES_S))
    share = known(evaluation, 1.0, 1, 6).means[0].share
    assert not known(evaluation, share, 1, 6).wide
    assert known(evaluation, share, 2, 6).wide
    assert known(evaluation, share, 1, 6).words.startswith("±")
    assert "is kept with 6 repetitions" in known(evaluation, share, 1, 6).words


def test_what_never_varies_needs_no_more(tmp_path: Path) -> None:
    found = known(report.load(campaign(tmp_path, {"tcp-bbr": [10.0] * 6})), 0.05, 1, 6)
    assert found.means == ()
    assert not found.wide
    assert found.words == "No mean varies, so ±5 % asks for no more than 6 repetitions."
