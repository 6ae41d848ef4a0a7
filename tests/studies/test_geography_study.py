"""The study of geodiverse paths and bearers: claims follow what comes out, and its own numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from studies.geography import plugin

from gauntlet.metrics.flow import NEVER_NS, FlowData
from gauntlet.studies import judging, ledger, study
from gauntlet.studies.decide import Verdict
from tests.studies.whole import Numbers, check_panels, summary

STUDY = study("geography")
S = 1_000_000_000


OF_BEARERS = {
    "in_time_share": 0.9,
    "at_all_share": 0.97,
    "longest_silence_s": 1.0,
    "rate_with_wifi_bps": 15e6,
    "rate_without_wifi_bps": 5e6,
}


def as_printed(experiment: str, protocol: str, factors: Mapping[str, Any]) -> Mapping[str, Any]:
    """Figure 4.17 as the text tells it: what is up carries, whoever sends over it."""
    rates = {
        "disjoint": (15e6, 10e6, 5e6, 0.0, 10e6),
        "iwpsp": (15e6, 10e6, 10e6, 5e6, 13.5e6),
    }
    if experiment not in ("paths", "paths-100m", "standby", "converging"):
        return OF_BEARERS
    before, first, second, third, overall = rates[str(factors["network.method"])]
    return {
        "rate_before_bps": before,
        "rate_first_bps": first,
        "rate_second_bps": second,
        "rate_third_bps": third,
        "throughput_bps": overall,
        "longest_silence_s": 20.0,
    }


OF_FIGURE = (
    "mptcp-degraded-at-20", "restp-degraded-at-20", "half-at-60", "mptcp-third-at-60", "zero-at-100",
    "restp-lives-at-100", "overall-30-to-40", "restp-higher", "protocols-alike-disjoint",
    "protocols-alike-geodiverse", "paths-bring-it-to-mptcp", "paths-bring-it-to-restp",
)  # fmt: skip


def test_results_as_printed_reproduce_the_figure_and_show_that_the_paths_decide() -> None:
    judged = {it.claim.id: it.decision for it in judging.judge(STUDY, summary(STUDY, as_printed))}
    for claim in OF_FIGURE:
        assert judged[claim].verdict is Verdict.REPRODUCED, (claim, judged[claim])
    # Its two readings differ: as the dissertation pairs them, and said of the protocol.
    assert judged["mptcp-cannot-survive"].verdict is Verdict.UNDECIDED


def test_a_protocol_that_outlives_the_circle_by_itself_refutes_it() -> None:
    def otherwise(experiment: str, protocol: str, factors: Mapping[str, Any]) -> Mapping[str, Any]:
        told = as_printed(experiment, protocol, factors)
        return {**told, "rate_third_bps": 5e6, "rate_first_bps": 15e6}

    judged = {it.claim.id: it.decision for it in judging.judge(STUDY, summary(STUDY, otherwise))}
    for claim in ("zero-at-100", "mptcp-cannot-survive", "mptcp-degraded-at-20", "restp-degraded-at-20"):
        assert judged[claim].verdict is Verdict.NOT_REPRODUCED, claim


UNDER_CIRCLES = dict.fromkeys(
    ("rate_before_bps", "rate_first_bps", "rate_second_bps", "rate_third_bps"), 4.7e6
)
OF_SEVERAL_PATHS = {
    "quic-quinn-migration",
    "quic-noq-cubic",
    "quic-noq-backup",
    "mptcp-cubic",
    "restp-multipath",
}


def several_paths_help(experiment: str, protocol: str, factors: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the claims on the train, on copies, on paths that are replaced and on QUIC expect."""
    in_time = 1.0 if protocol == "restp-copies" else 0.98 if protocol in OF_SEVERAL_PATHS else 0.6
    rate_bps = {"restp-copies": 3e6, "tcp-cubic": 2e6}.get(protocol, 7e6)
    told = {"in_time_share": in_time, "at_all_share": 1.0, "longest_silence_s": 0.8}
    return {**told, **UNDER_CIRCLES, "throughput_bps": rate_bps}


def several_paths_hinder(experiment: str, protocol: str, factors: Mapping[str, Any]) -> Mapping[str, Any]:
    """The contrary: what is spread or copied is late, silent and slow, and no path is replaced."""
    in_time = 0.5 if protocol in ("restp-copies", "quic-quinn-migration") else 0.6
    rate_bps = 5e6 if protocol == "tcp-cubic" else 2e6
    rates = {"rate_before_bps": 4e6, "rate_first_bps": 2e6, "rate_second_bps": 2e6, "rate_third_bps": 2e6}
    if factors.get("paths_at_once") == 3:
        rates = UNDER_CIRCLES
    told = {"in_time_share": in_time, "at_all_share": in_time, "longest_silence_s": 15.0}
    return {**told, **rates, "throughput_bps": rate_bps}


LATER = {"train", "train-messages", "copies", "replaced", "handover-quic"}
"""Experiments that the study got after it had been played."""


@pytest.mark.parametrize(
    ("numbers", "verdict"),
    [(several_paths_help, Verdict.REPRODUCED), (several_paths_hinder, Verdict.NOT_REPRODUCED)],
)
def test_claims_on_train_copies_replaced_paths_and_quic_follow_what_comes_out(
    numbers: Numbers, verdict: Verdict
) -> None:
    judged = judging.judge(STUDY, summary(STUDY, numbers))
    of_later = [it for it in judged if LATER & set(it.claim.experiments(STUDY))]
    assert len(of_later) == 18
    for it in of_later:
        assert it.decision.verdict is verdict, (it.claim.id, it.decision)


CONVERGING = (
    "converging-brings-mptcp-through", "converging-shares-what-is-up", "converging-carries-tcp",
    "converging-geodiverse-still-more",
)  # fmt: skip


def test_claims_of_a_routing_that_converges_tell_it_from_pinned_paths() -> None:
    def converging(experiment: str, protocol: str, factors: Mapping[str, Any]) -> Mapping[str, Any]:
        told = as_printed(experiment, protocol, factors)
        if experiment != "converging":
            return told
        alone = {"rate_before_bps": told["rate_second_bps"]} if protocol == "tcp-cubic" else {}
        return {**told, **alone, "rate_third_bps": 3e6}

    def doubled(experiment: str, protocol: str, factors: Mapping[str, Any]) -> Mapping[str, Any]:
        told = {**as_printed(experiment, protocol, factors), "throughput_bps": 13.5e6}
        nothing = {"rate_first_bps": 1e6, "rate_second_bps": 10e6}
        return {**told, **nothing} if experiment == "converging" else told

    for results, verdict in ((converging, Verdict.REPRODUCED), (doubled, Verdict.NOT_REPRODUCED)):
        judged = {it.claim.id: it.decision for it in judging.judge(STUDY, summary(STUDY, results))}
        for claim in CONVERGING:
            assert judged[claim].verdict is verdict, (claim, judged[claim])


def test_it_has_claims_of_each_part_and_figures_for_them() -> None:
    claims = ledger.load(STUDY.ledger)
    assert len(claims) >= 25
    known = {it.key for it in STUDY.figures}
    assert {key for claim in claims for key in claim.figures} <= known
    whole = summary(STUDY, as_printed)
    for figure in STUDY.figures:
        check_panels(figure.draw(whole))


def test_paths_on_the_map_are_those_of_docs_geography() -> None:
    down = {
        (method, moment_s): plugin.paths_down(method, moment_s)
        for method in ("disjoint", "iwpsp")
        for moment_s in (30.0, 70.0, 110.0, 90.0)
    }
    assert [down["disjoint", it] for it in (30.0, 70.0, 110.0, 90.0)] == [1, 2, 3, 0]
    assert [down["iwpsp", it] for it in (30.0, 70.0, 110.0, 90.0)] == [0, 2, 2, 0]
    assert plugin.apart_km("iwpsp") >= 50
    assert plugin.next_hops("iwpsp", "Omaha, Nashville, Houston") == 1


def flow(received_s: list[float | None], **given: Any) -> FlowData:
    """A flow from 1 s on whose messages of 1,000 bytes arrive at these instants."""
    received = [NEVER_NS if it is None else round(it * S) for it in received_s]
    return FlowData(
        run="run",
        index=0,
        record={"start_s": 1.0, "app": "cbr"},
        plan={"app_params": {"duration_s": 125.0, "interval_s": given.get("interval_s")}},
        protocol="tcp-cubic",
        run_end_s=130.0,
        sent_ns=np.zeros(len(received_s), dtype=np.int64),
        received_ns=np.array(received, dtype=np.int64),
        size_bytes=np.full(len(received_s), 1000, dtype=np.int64),
        sockets={},
        exchanges=given.get("exchanges", []),
    )


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("rate_before_bps", 10.0, 20.5),
        ("rate_first_bps", 22.0, 20.5),
        ("rate_second_bps", 70.0, 80.5),
        ("rate_third_bps", 119.0, 100.5),
        ("rate_with_wifi_bps", 45.0, 41.0),
        ("rate_without_wifi_bps", 35.0, 41.0),
    ],
)
def test_a_rate_counts_what_arrives_in_its_time(name: str, inside: float, outside: float) -> None:
    rate = plugin.MEASURES[name]
    one = rate(flow([inside, outside, None]))
    assert one is not None
    assert one > 0
    assert rate(flow([inside, inside, outside])) == 2 * one
    assert rate(flow([outside, None])) == 0


def test_a_silence_lasts_to_the_next_arrival_or_to_the_end_of_sending() -> None:
    assert plugin.longest_silence_s(flow([2.0, 20.0, 41.5, 125.9])) == pytest.approx(84.4)
    assert plugin.longest_silence_s(flow([2.0, None, 5.0])) == pytest.approx(121.0)
    assert plugin.longest_silence_s(flow([None])) is None


def test_messages_in_time_count_from_when_they_were_due_and_lost_ones_were_not() -> None:
    took_s = [0.05, 0.49, 0.6, 4.9, 5.1, None, 0.05, 0.05]
    rows = [
        {"seq": seq, "completed_ns": None if it is None else round((1 + 0.5 * seq + it) * S)}
        for seq, it in enumerate(took_s)
    ]
    periodic = flow([], exchanges=rows, interval_s=0.5)
    assert plugin.in_time_share(periodic) == 4 / 8
    assert plugin.at_all_share(periodic) == 6 / 8
    assert plugin.in_time_share(flow([2.0])) is None
