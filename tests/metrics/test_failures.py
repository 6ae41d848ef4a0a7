"""Flows that failed stay in the numbers: unfinished is censored at the limit, unestablished is nothing."""

import numpy as np
import pytest

from gauntlet.metrics.ecdf import ecdf, ecdf_of_quantiles
from gauntlet.metrics.kpis.download import download_time_s
from gauntlet.metrics.kpis.fairness import jain_index
from gauntlet.metrics.kpis.loss import message_loss_ratio
from gauntlet.metrics.kpis.throughput import capacity_utilisation, throughput_bps
from gauntlet.metrics.kpis.voip import late_ratio, lost_ratio, mos
from gauntlet.metrics.observation import (
    NEVER,
    Observation,
    Partly,
    State,
    averaged,
    common_limit,
    finished,
    log_rank,
    observed,
    partly,
    restricted,
)
from gauntlet.metrics.ratios import geometric, ratio
from gauntlet.metrics.registry import registry
from gauntlet.metrics.windows import windows
from tests.metrics.flows import flow

CENSORED = State.CENSORED
DOWNLOAD, THROUGHPUT, DELAY = (
    registry()[name] for name in ("download_time_s", "throughput_bps", "delay_p95_s")
)


def test_a_flow_that_was_never_established_delivered_nothing() -> None:
    dead = flow([], [], established_s=None, outcome="failed", reason="timed out", capacity=[(0.0, 1e6)])
    assert (throughput_bps(dead), capacity_utilisation(dead), message_loss_ratio(dead)) == (0, 0, 1)
    assert (dead.observed_from_s, dead.observed_until_s) == (0.0, 10.0)
    found = windows(dead)
    assert found is not None
    assert found["throughput_bps"].tolist() == [0.0] * 10
    assert not dead.completed


def test_a_neighbour_that_was_never_established_got_nothing_of_the_link() -> None:
    dead = flow([], [], established_s=None, outcome="failed")
    assert jain_index([flow([0.0], [1.0]), dead]) == pytest.approx(0.5)
    assert jain_index([dead, dead]) is None


def test_a_call_that_never_began_is_the_worst_there_is() -> None:
    dead = flow([], [], established_s=None, outcome="failed", app="voip")
    assert (mos(dead), lost_ratio(dead), late_ratio(dead)) == (1.0, 1.0, None)


def test_a_call_that_broke_off_is_no_better_than_one_that_lasted() -> None:
    """Both brought the same packets in time; one lasted and lost the rest, one broke off and sent no more."""
    sent_s = [0.02 * number for number in range(1500)]
    brought = [instant + 0.03 for instant in sent_s[:500]]
    lasted = flow(sent_s, [*brought, *[None] * 1000], app="voip", duration_s=30.0)
    broke = flow(sent_s[:500], brought, app="voip", duration_s=30.0, outcome="failed")
    assert lost_ratio(broke) == lost_ratio(lasted) == pytest.approx(2 / 3)
    assert mos(broke) == mos(lasted) == 1.0
    late = flow(sent_s[:500], [it + 1 for it in sent_s[:500]], app="voip", duration_s=30.0, outcome="failed")
    assert late_ratio(late) == pytest.approx(1 / 3)
    heard = flow(sent_s, [it + 0.03 for it in sent_s], app="voip", duration_s=30.0)
    assert (mos(heard), lost_ratio(heard)) == (pytest.approx(4.36, abs=0.05), 0.0)


def test_a_call_of_which_nothing_was_heard_is_the_worst_there_is() -> None:
    sent_s = [0.02 * number for number in range(100)]
    silent = flow(sent_s, [None] * 100, app="voip", duration_s=2.0)
    half = flow(sent_s, [*[0.03 + it for it in sent_s[:50]], *[None] * 50], app="voip", duration_s=2.0)
    assert mos(silent) == mos(half) == 1.0


@pytest.mark.parametrize(("name", "worst"), [("voip_late_ratio", 1.0), ("voip_delay_deviation_s", 300.0)])
def test_what_a_call_that_broke_off_brought_in_time_does_not_make_it_better(name: str, worst: float) -> None:
    kpi = registry()[name]
    assert observed(kpi, 0.001, completed=True, given_s=300.0) == Observation(0.001)
    assert observed(kpi, 0.001, completed=False, given_s=300.0) == Observation(worst, CENSORED)


def test_what_its_programs_cannot_carry_was_not_tried() -> None:
    other = flow([], [], established_s=None, outcome="unsupported")
    assert throughput_bps(other) is None
    assert message_loss_ratio(other) is None
    assert windows(other) is None


def test_an_unfinished_transfer_is_censored_at_the_limit() -> None:
    cut = flow([0.0, 1.0], [1.0, None], transfer_bytes=2000, duration_s=None, outcome="failed")
    assert download_time_s(cut) is None
    assert not cut.completed
    assert cut.given_s == 20.0
    seen = observed(DOWNLOAD, None, completed=cut.completed, given_s=cut.given_s)
    assert seen == Observation(20.0, CENSORED)
    whole = flow([0.0, 1.0], [1.0, 2.0], transfer_bytes=2000, duration_s=None)
    assert whole.completed
    assert observed(DOWNLOAD, download_time_s(whole), completed=True, given_s=20.0) == Observation(2.0)


def test_a_number_that_cannot_be_is_not_the_same_as_one_that_does_not_apply() -> None:
    assert observed(DELAY, None, completed=False, given_s=20.0) == NEVER
    assert observed(DELAY, None, completed=True, given_s=20.0) is None
    assert observed(THROUGHPUT, None, completed=False, given_s=20.0) == Observation(0.0)
    assert observed(DOWNLOAD, None, completed=False, given_s=None) == NEVER


def test_flows_of_one_run_are_as_little_known_as_the_least_known() -> None:
    assert averaged([Observation(1.0), Observation(3.0)]) == Observation(2.0)
    assert averaged([Observation(1.0), Observation(3.0, CENSORED)]) == Observation(2.0, CENSORED)
    assert averaged([Observation(1.0), NEVER]) == NEVER


def test_the_restricted_mean_is_over_all_and_not_over_survivors() -> None:
    cubic = [Observation(5.0)] * 3 + [Observation(100.0, CENSORED)] * 7
    bbr = [Observation(20.0)] * 10
    limit = common_limit([*cubic, *bbr])
    assert limit == 100.0
    assert restricted(cubic, limit).mean() == pytest.approx(71.5)
    assert restricted(bbr, limit).mean() == 20.0
    assert common_limit(bbr) is None
    earlier = [Observation(60.0, CENSORED), Observation(100.0, CENSORED), Observation(80.0)]
    assert common_limit(earlier) == 60.0, "above the smallest limit not everything is known"
    assert restricted(earlier, 60.0).tolist() == [60.0] * 3


def test_the_share_that_finished_ends_below_one() -> None:
    half = finished([Observation(1.0), Observation(2.0), Observation(9.0, CENSORED), NEVER])
    assert half.share.max() == pytest.approx(0.5)
    assert half.median == 2.0
    assert finished([Observation(1.0), *[Observation(9.0, CENSORED)] * 3]).median is None
    # Given up early tells nothing of later: Kaplan and Meier's share is above the naive one.
    early = finished(
        [Observation(1.0, CENSORED), Observation(2.0), Observation(3.0), Observation(9.0, CENSORED)]
    )
    assert np.interp(3.0, early.times, early.share) == pytest.approx(2 / 3)


def test_what_was_partly_over_says_how_much_and_by_when_half_was() -> None:
    over, limit = [Observation(it) for it in (4.0, 1.0, 3.0, 2.0)], Observation(9.0, CENSORED)
    assert partly(over) is None
    assert partly([*over, limit, NEVER]) == Partly(4, 6, 3.0)
    assert partly([*over, *[limit] * 6]) == Partly(4, 10, None)
    assert partly([limit, NEVER]) == Partly(0, 2, None)


def test_log_rank_sees_that_one_group_never_ends() -> None:
    quick = [Observation(float(value)) for value in range(1, 11)]
    assert log_rank(quick, [Observation(50.0, CENSORED)] * 10) < 0.001
    assert log_rank(quick, quick) > 0.9


def test_ratios_of_equal_sides_are_one_either_way_round() -> None:
    both = ratio([1.0, 2.0], [2.0, 1.0]).mean
    assert both is not None
    assert both.value == pytest.approx(1.0)
    one, other = geometric([2.0, 8.0, 4.0]), geometric([0.5, 0.125, 0.25])
    assert one.value * other.value == pytest.approx(1.0)
    assert one.low is not None and other.high is not None
    assert one.low * other.high == pytest.approx(1.0)


def test_geometric_intervals_cover_where_arithmetic_ones_decide_wrongly() -> None:
    """Lognormal sides that do not differ: the interval leaves 1 out in about 5 %, not in a fifth."""
    rng = np.random.default_rng(21)
    wrong = arithmetic = 0
    for _ in range(400):
        x, y = np.exp(rng.normal(0, 1, (2, 10)))
        found, plain = ratio(x.tolist(), y.tolist()).mean, x / y
        assert found is not None and found.low is not None and found.high is not None
        wrong += not found.low <= 1 <= found.high
        half = 2.262 * plain.std(ddof=1) / np.sqrt(10)
        arithmetic += not plain.mean() - half <= 1 <= plain.mean() + half
    assert wrong / 400 <= 0.085
    assert arithmetic / 400 > wrong / 400


def test_zeros_are_counted_and_dropped_by_nobody() -> None:
    found = ratio([1.0, 1.0, 2.0], [0.0, 2.0, 2.0])
    assert found.mean is not None
    assert found.mean.value == pytest.approx(1.0)
    assert (found.mean.n, found.zeros_below) == (3, 1)
    assert found.words == "the second is 0 in 1 of the repetitions, so ratio of the means"
    none = ratio([1.0, 0.0], [0.0, 0.0])
    assert (none.mean, none.zeros_above, none.zeros_below) == (None, 1, 2)
    assert "there is no ratio" in none.words


def test_the_interval_of_a_ratio_of_means_covers() -> None:
    rng = np.random.default_rng(22)
    hits = 0
    for _ in range(400):
        y = rng.gamma(4, 1, 15) * (rng.random(15) < 0.9)
        x = 0.5 * rng.gamma(4, 1, 15)
        found = ratio(x.tolist(), [*y[:-1].tolist(), 0.0]).mean
        assert found is not None and found.low is not None and found.high is not None
        hits += found.low <= 0.5 * 4 / (0.9 * 4 * 14 / 15) <= found.high
    assert hits / 400 >= 0.91


def test_repetitions_in_which_nothing_arrived_hold_the_distribution_down() -> None:
    samples = [np.array([1.0, 2.0]), np.array([1.5, 2.5])]
    levels = np.array([0.0, 0.5, 1.0])
    found = (
        ecdf(samples, nothing=2),
        ecdf_of_quantiles(levels, [np.array([1.0, 2.0, 3.0])] * 2, [9, 9], nothing=2),
    )
    for one in found:
        assert one is not None
        assert one.repetitions == 4
        assert one.probability[-1] == pytest.approx(0.5)


@pytest.mark.parametrize(
    "name", ["message_delay_s", "message_delay_with_setup_s", "delay_p95_s", "delay_mean_s"]
)
def test_the_delays_of_a_flow_that_failed_are_not_those_of_what_it_brought(name: str) -> None:
    """TCP brought three of thirty messages, quickly, and was ended: their mean would make it best."""
    kpi = registry()[name]
    assert observed(kpi, 0.4, completed=True, given_s=300.0) == Observation(0.4)
    assert observed(kpi, 0.4, completed=False, given_s=300.0) == Observation(300.0, CENSORED)
    assert observed(kpi, 0.4, completed=False, given_s=None) == NEVER
    assert observed(registry()["setup_time_s"], 0.4, completed=False, given_s=300.0) == Observation(0.4)
