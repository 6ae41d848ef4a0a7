"""What a setting changes: what is beyond chance is told, and nothing else."""

import pytest

from gauntlet.advice.settings import SETTINGS, Change, Effect, overview, setting_of, unvaried
from gauntlet.metrics.intervals import Mean, the_same
from gauntlet.metrics.registry import registry


def ratio(value: float, low: float, high: float) -> Mean:
    return Mean(value, low, high, 10, "bootstrap")


def change(kpi: str, *effects: Effect, protocol: str = "sctp") -> Change:
    return Change(SETTINGS[0], protocol, "2 MiB", "104 KiB", "", registry()[kpi], effects, "buffers")


@pytest.mark.parametrize(
    ("mean", "sure"),
    [
        (ratio(1.2, 1.1, 1.3), True),
        (ratio(1.2, 0.9, 1.5), False),
        (ratio(1.004, 1.002, 1.006), False),
        (ratio(0.5, 0.4, 0.6), True),
        (Mean(2.0, None, None, 1, "none"), False),
        # Five repetitions tell nothing from chance, whatever their range is.
        (Mean(2.0, 1.9, 2.1, 5, "subsets"), False),
        (Mean(2.0, 1.9, 2.1, 6, "subsets"), True),
        (the_same(1.5), True),
        (the_same(1.0), False),
    ],
)
def test_a_change_is_told_when_it_is_beyond_chance_and_worth_it(mean: Mean, sure: bool) -> None:
    assert Effect("25 ms", mean).sure is sure


def test_a_change_says_where_it_is_greatest_with_its_interval() -> None:
    it = change("delay_p95_s", Effect("25 ms", ratio(2, 1.8, 2.2)), Effect("150 ms", ratio(4, 3.8, 4.2)))
    assert it.title == "Send buffer 2 MiB instead of 104 KiB"
    assert it.words == "worse under 2 of 2 conditions, most at 150 ms: 4.00 times [3.80 to 4.20] (n = 10)"
    rate = change("throughput_bps", Effect("25 ms", ratio(2, 1.8, 2.2)), Effect("150 ms", ratio(1, 0.8, 1.2)))
    assert rate.words == "better under 1 of 2 conditions, most at 25 ms: 2.00 times [1.80 to 2.20] (n = 10)"


def test_where_nothing_is_beyond_chance_that_is_said() -> None:
    it = change("throughput_bps", Effect("25 ms", ratio(1.1, 0.9, 1.3)))
    assert it.words == "no difference beyond chance (n = 10)"
    assert it.verdict == "no difference"


def test_of_too_few_repetitions_nothing_is_said_but_what_was_seen() -> None:
    it = change("delay_p95_s", Effect("25 ms", Mean(2.0, 1.9, 2.1, 2, "subsets")))
    assert (
        it.words == "2 repetitions tell nothing from chance: that takes 6 (seen: 2.00 times [1.90 to 2.10])"
    )
    assert it.verdict == "too few repetitions to tell"
    (line,) = overview([it])
    assert line.endswith(": too few repetitions to tell for SCTP.")


def test_of_one_condition_none_is_named() -> None:
    it = change("delay_p95_s", Effect("all runs", ratio(2, 1.8, 2.2)))
    assert it.words == "worse: 2.00 times [1.80 to 2.20] (n = 10)"


def test_an_overview_counts_transports_and_names_the_strongest() -> None:
    those = [
        change("throughput_bps", Effect("25 ms", ratio(value, value - 0.1, value + 0.1)), protocol=protocol)
        for protocol, value in (("sctp", 3.0), ("tcp-bbr", 2.0), ("tcp-cubic", 1.5), ("tcp-reno", 1.0))
    ]
    late = change("delay_p95_s", Effect("25 ms", ratio(4.0, 3.0, 5.0)))
    assert overview([*those, late]) == [
        "Throughput: better for 3 of 4 transports (most SCTP at 25 ms: 3.00 times [2.90 to 3.10]); "
        "no difference for TCP Reno.",
        "One-way delay, 95th percentile: worse for SCTP (most at 25 ms: 4.00 times [3.00 to 5.00]).",
    ]


def test_an_overview_says_all_where_all_are_alike() -> None:
    none = [
        change("throughput_bps", Effect("25 ms", ratio(1, 0.9, 1.1)), protocol=it)
        for it in ("sctp", "tcp-bbr", "tcp-cubic")
    ]
    assert overview(none) == ["Throughput: no difference for all 3 transports."]


def test_settings_are_known_by_their_keys_in_files_and_results() -> None:
    assert setting_of("workload.send_buffer") == setting_of("send_buffer_bytes") == SETTINGS[0]
    assert setting_of("scenario.queue_limit") == setting_of("link.queue")
    assert setting_of("link.loss") is None


def test_what_nobody_sets_reads_as_the_systems_value() -> None:
    names = ("net.sctp.rto_initial", "send_buffer", "receive_buffer")
    timer, send, receive = map(setting_of, names)
    assert timer is not None and send is not None and receive is not None
    assert (timer.value(1000), timer.value(1500), timer.value(None)) == ("1 s", "1.5 s", "3 s")
    assert timer.value(3000) == timer.unset, "what is usual is found among values that are set"
    assert send.value(None) == "the system's (TCP: up to 4 MiB, others: 208 KiB)"
    assert receive.value(None) == "the system's (TCP: up to 6 MiB, others: 208 KiB)"
    assert send.value("104KiB") == "104 KiB"


def test_settings_that_no_change_is_of_are_named() -> None:
    every = [it.words for it in SETTINGS]
    assert unvaried([]) == tuple(every)
    told = change("throughput_bps", Effect("25 ms", ratio(1.1, 0.9, 1.3)))
    assert list(unvaried([told])) == every[1:], "no difference is told as well"
