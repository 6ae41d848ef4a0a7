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
    ("copies", "restp-copies", "ResTP, copies"),
    ("converging", "tcp-cubic", "TCP over one path, converging"),
    ("converging", "mptcp-cubic", "MPTCP, converging"),
    ("converging", "restp-multipath", "ResTP, converging"),
    ("paths-100m", "mptcp-cubic", "MPTCP, 100 Mbit/s"),
    ("paths-100m", "restp-multipath", "ResTP, 100 Mbit/s"),
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


@pytest.mark.parametrize(("at_once", "words"), [(2, "two, the third when one fails"), (3, "three")])
@pytest.mark.parametrize("method", SETS)
def test_the_page_has_what_paths_carry_that_are_replaced(at_once: int, words: str, method: str) -> None:
    of = {"network.method": method, "paths_at_once": at_once}
    found = [mean("replaced", kpi, **of) / 1e6 for kpi in RATES]
    silent_s = mean("replaced", "longest_silence_s", **of)
    assert row(words, SETS[method], *numbers(found), f"{silent_s:.1f}") in PAGE


ON_THE_TRAIN = (
    ("tcp-cubic", "TCP, the cell alone"),
    ("mptcp-cubic", "MPTCP"),
    ("mptcp-backup", "MPTCP, backups"),
    ("restp-multipath", "ResTP, spreading"),
    ("restp-standby", "ResTP, standby"),
    ("restp-copies", "ResTP, copies"),
    ("sctp-two-homes", "SCTP, two homes"),
    ("quic-quinn-migration", "QUIC that migrates"),
    ("quic-noq-cubic", "multipath QUIC"),
)


@pytest.mark.parametrize(("protocol", "name"), ON_THE_TRAIN)
def test_the_page_has_what_a_train_has_of_its_bearers(protocol: str, name: str) -> None:
    carried = mean("train", "throughput_bps", protocol=protocol) / 1e6
    silent_s = mean("train", "longest_silence_s", protocol=protocol)
    shares = [
        percent(mean("train-messages", kpi, protocol=protocol, flow=0))
        for kpi in ("in_time_share", "at_all_share")
    ]
    assert row(name, f"{carried:.1f}", f"{silent_s:.1f}", *shares) in PAGE


def test_the_page_has_how_long_a_connection_is_silent() -> None:
    found = [
        (name, mean("handover", "longest_silence_s", protocol=protocol)) for protocol, name in BEARER_LOST
    ]
    found.append(("SCTP, two homes", mean("handover-homes", "longest_silence_s", protocol="sctp")))
    for name, silent_s in found:
        assert f"| {name} | {silent_s:.2f} |" in PAGE


def test_the_page_has_which_messages_come_in_time_while_a_bearer_is_lost() -> None:
    of = [("handover-messages", protocol, name) for protocol, name in (("udp", "UDP"), *BEARER_LOST)]
    of += [
        ("handover-copies", "sctp", "SCTP, two homes"),
        ("handover-copies", "rasta", "RaSTA, two channels"),
        ("handover-quic", "restp-copies", "ResTP, copies"),
        ("handover-quic", "quic-quinn-migration", "QUIC that migrates"),
        ("handover-quic", "quic-noq-cubic", "multipath QUIC"),
        ("handover-quic", "quic-noq-backup", "multipath QUIC, a backup"),
        ("handover-quic", "quic-quinn-cubic", "QUIC, LTE alone"),
    ]
    for experiment, protocol, name in of:
        shares = [
            percent(mean(experiment, kpi, protocol=protocol)) for kpi in ("in_time_share", "at_all_share")
        ]
        assert row(name, *shares) in PAGE


@pytest.mark.parametrize(
    ("experiment", "protocol", "name"),
    [
        ("one-bearer", "udp", "one: UDP"),
        ("one-bearer", "tcp-cubic", "one: TCP"),
        ("two-bearers", "mptcp-cubic", "two: MPTCP"),
        ("two-bearers", "restp-multipath", "two: ResTP, spreading"),
        ("two-bearers", "restp-standby", "two: ResTP, standby"),
        ("two-homes", "sctp", "two: SCTP"),
        ("two-homes", "rasta", "two: RaSTA, copies"),
    ],
)
def test_the_page_has_which_messages_come_over_one_bearer_and_over_two(
    experiment: str, protocol: str, name: str
) -> None:
    shares = [
        percent(mean(experiment, kpi, protocol=protocol, channel_delay_s=delay_s, loss=loss))
        for delay_s, loss in ((0.05, 0.02), (0.35, 0.2))
        for kpi in ("in_time_share", "at_all_share")
    ]
    assert row(name, *shares) in PAGE


@pytest.mark.parametrize(
    ("protocol", "name"),
    [("mptcp-cubic", "MPTCP, CUBIC"), ("mptcp-bbr", "MPTCP, BBR"), ("restp-multipath", "ResTP, spreading")],
)
def test_the_page_has_what_is_used_of_lte_and_a_geostationary_satellite(protocol: str, name: str) -> None:
    assert row(name, f"{mean('lte-geo', 'throughput_bps', protocol=protocol) / 1e6:.1f}") in PAGE


@pytest.mark.parametrize(
    ("protocol", "name"),
    [("mptcp-cubic", "MPTCP"), ("restp-multipath", "ResTP, spreading"), ("restp-standby", "ResTP, standby")],
)
def test_the_page_has_what_is_used_of_wifi(protocol: str, name: str) -> None:
    found = [mean("wifi", f"rate_{it}_wifi_bps", protocol=protocol) / 1e6 for it in ("with", "without")]
    assert row(name, *numbers(found)) in PAGE


@pytest.mark.parametrize(
    ("protocol", "name"), [("tcp-cubic", "TCP"), ("quic-quinn-cubic", "QUIC (quinn)"), ("udp", "UDP")]
)
def test_the_page_has_what_the_tunnel_leaves(protocol: str, name: str) -> None:
    kept = [
        mean("tunnel", "throughput_bps", protocol=protocol, packet_bytes=size)
        / mean("no-tunnel", "throughput_bps", protocol=protocol, packet_bytes=size)
        for size in (160, 1400)
    ]
    assert row(name, *map(percent, kept)) in PAGE


def test_the_page_has_what_the_choice_of_paths_brings_to_each_protocol() -> None:
    of = {
        (protocol, method): rates("paths", protocol, method)[-1]
        for protocol in ("mptcp-cubic", "restp-multipath")
        for method in SETS
    }
    gain = [100 * (of[it, "iwpsp"] / of[it, "disjoint"] - 1) for it in ("mptcp-cubic", "restp-multipath")]
    both = 100 * (of["restp-multipath", "iwpsp"] / of["mptcp-cubic", "disjoint"] - 1)
    assert f"ResTP has {both:.0f} % more; MPTCP over ResTP's paths has {gain[0]:.0f} % more, too." in PAGE
    least = rates("paths-100m", "mptcp-cubic", "disjoint")[-1]
    fast = {
        protocol: rates("paths-100m", protocol, "iwpsp")[-1] / least
        for protocol in ("mptcp-cubic", "restp-multipath")
    }
    more = [100 * (fast[it] - 1) for it in ("restp-multipath", "mptcp-cubic")]
    assert f"At 100 Mbit/s it is {more[0]:.0f} %, and {more[1]:.0f} % for MPTCP." in PAGE
    assert f"They bring {gain[1]:.0f} %" in NOTES["paths-bring-it-to-restp"]
    assert f"MPTCP gains {gain[0]:.0f} %." in NOTES["paths-bring-it-to-restp"]
    alike = of["restp-multipath", "disjoint"] / of["mptcp-cubic", "disjoint"]
    assert f"ResTP has {alike:.2f} times the throughput." in NOTES["protocols-alike-disjoint"]


def test_notes_have_the_numbers_that_decide() -> None:
    for claim in ("half-at-60", "half-at-60-100m"):
        assert f"MPTCP has {DECIDED[claim]['value']:.2f} of it" in NOTES[claim]
    of = [
        rates("paths", protocol, "disjoint")[1] / rates("paths", protocol, "disjoint")[0]
        for protocol in ("restp-multipath", "mptcp-cubic")
    ]
    assert f"falls to {of[0]:.2f} of its rate, as MPTCP does to {of[1]:.2f}" in NOTES["restp-degraded-at-20"]
    third = [rates("paths", protocol, "iwpsp")[3] for protocol in ("mptcp-cubic", "restp-multipath")]
    assert f"MPTCP keeps {third[0]:.1f} Mbit/s, ResTP {third[1]:.1f}" in NOTES["mptcp-cannot-survive"]
    standby, backups = (
        [rates("standby", protocol, "iwpsp")[at] / rates("standby", protocol, "iwpsp")[0] for at in (2, 3)]
        for protocol in ("restp-standby", "mptcp-backup")
    )
    assert {f"{it:.2f}" for it in standby} == {"0.98"}
    assert NOTES["standby-keeps-its-rate"].startswith("It keeps 0.98 in either circle")
    assert f"MPTCP with backups {backups[0]:.2f} and {backups[1]:.2f}." in NOTES["standby-keeps-its-rate"]
    late = 120 * (1 - mean("handover-messages", "in_time_share", protocol="restp-standby"))
    assert round(late) == 1
    assert NOTES["spreading-beats-standby"].startswith("Each has one message of 120 that is late.")


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ("mptcp-cubic", "have it back {} to {} s after a circle of 20 s"),
        ("restp-multipath", "has all of it after {} to {} s"),
    ],
)
def test_the_page_has_when_paths_that_are_back_carry_again(protocol: str, words: str) -> None:
    """From the kept messages of examples: the first second after a circle in which nearly as much arrives as
    three paths carried before."""
    found = []
    for method, circle, end_s in (("disjoint", 1, 40.0), ("disjoint", 2, 80.0), ("iwpsp", 2, 80.0)):
        kept = SUMMARY.series("paths")
        kept = kept.filter(pc.equal(kept["run"], f"{protocol}_method-{method}_rep-001"))
        came_s = kept["received_s"].drop_null().to_numpy()
        before = float(np.sum((came_s > 5) & (came_s <= 20))) / 15
        counts, _ = np.histogram(came_s, bins=np.arange(end_s, end_s + 20.5, 1.0))
        assert counts[0] < 0.9 * before, (method, circle)
        found.append(int(np.argmax(counts > 0.9 * before)))
    assert words.format(min(found), max(found)) in PAGE, found


def test_the_page_has_what_hot_standby_carries_over_the_satellite() -> None:
    kept = SUMMARY.series("handover")
    kept = kept.filter(pc.equal(kept["run"], "restp-standby_rep-001"))
    (every,) = set(kept["every"].to_pylist())
    came_s = kept["received_s"].drop_null().to_numpy()
    rate_bps = every * 1448 * 8 * float(np.sum((came_s > 22) & (came_s <= 40))) / 18
    assert f"it has {rate_bps / 1e6:.1f} of the 2 Mbit/s" in PAGE


def test_the_page_has_what_a_routing_that_converges_makes_up_for() -> None:
    pinned, repaired = (rates(it, "mptcp-cubic", "disjoint")[-1] for it in ("paths", "converging"))
    assert f"has {repaired:.1f} Mbit/s in place of {pinned:.1f}" in PAGE
    gains = [
        rates(it, "mptcp-cubic", "iwpsp")[-1] / rates(it, "mptcp-cubic", "disjoint")[-1] - 1
        for it in ("converging", "paths")
    ]
    assert f"geodiverse paths bring it {100 * gains[0]:.0f} % more, not {100 * gains[1]:.0f} %" in PAGE
    spread = [
        rates(it, "restp-multipath", "iwpsp")[-1] / rates(it, "restp-multipath", "disjoint")[-1] - 1
        for it in ("converging", "paths")
    ]
    assert f"They bring ResTP {100 * spread[0]:.0f} %, not {100 * spread[1]:.0f} %." in PAGE
    assert gains[0] < gains[1] / 2
    assert spread[0] > spread[1] / 2
    note = NOTES["converging-geodiverse-still-more"]
    assert note.startswith(f"{DECIDED['converging-geodiverse-still-more']['value']:.2f} times.")
    third = rates("converging", "mptcp-cubic", "disjoint")[3]
    assert f"in the third circle {third:.1f} and nothing" in note
    wifi = DECIDED["train-mptcp-uses-wifi"]["value"] / 1e6
    assert NOTES["train-mptcp-uses-wifi"].startswith(f"{wifi:.1f} Mbit/s.")


def test_the_page_has_who_stays_out_of_a_full_queue_on_the_train() -> None:
    half_s = {
        protocol: mean("train-messages", "delay_median_s", protocol=protocol, flow=0)
        for protocol, _ in ON_THE_TRAIN
    }
    assert half_s.pop("restp-copies") < 0.03
    assert "half of them arrive within 0.03 s, and none is later than 0.15 s." in PAGE
    assert {round(it, 1) for it in half_s.values()} == {0.2}
    assert "Over all else half of the messages take about 0.2 s" in PAGE
    table = SUMMARY.flows("train-messages")
    slowest_s = {
        protocol: max(
            row["message_delay_max_s"]
            for row in table.to_pylist()
            if row["protocol"] == protocol and row["flow"] == 0
        )
        for protocol in ("restp-copies", "mptcp-cubic")
    }
    assert slowest_s["restp-copies"] < 0.15
    assert f"Over MPTCP none is later than {slowest_s['mptcp-cubic']:.2f} s nevertheless." in PAGE


def test_the_page_has_how_soon_a_second_bearer_carries() -> None:
    silent_s = [mean("handover", "longest_silence_s", protocol=it) for it, _ in BEARER_LOST[1:]]
    silent_s.append(mean("handover-homes", "longest_silence_s", protocol="sctp"))
    late_s = mean("handover-quic", "message_delay_max_s", protocol="quic-noq-cubic")
    assert f"Whoever has a second one goes on within 1.2 s, or {late_s:.2f} s over multipath QUIC" in PAGE
    assert max(*silent_s, mean("handover-quic", "message_delay_max_s", protocol="quic-quinn-migration")) < 1.2


def test_the_note_on_two_bearers_has_what_arrives() -> None:
    of = {"channel_delay_s": 0.35, "loss": 0.2}
    arrived = [
        mean("two-bearers", "at_all_share", protocol=it, **of) for it in ("mptcp-cubic", "restp-multipath")
    ]
    note = NOTES["two-suffice-above"]
    assert note.startswith(f"Over MPTCP {100 * arrived[0]:.0f} % arrive within 5 s,")
    assert note.endswith(f"over ResTP that spreads {percent(arrived[1])} %.")
