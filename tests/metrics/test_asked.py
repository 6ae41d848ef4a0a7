"""What is asked of a flow, in words and numbers: who keeps it, and what cannot be asked."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.errors import UserError
from gauntlet.metrics.asked import Asked, check
from gauntlet.metrics.observation import NEVER, Observation, State
from gauntlet.metrics.quantity import Kept, Quantity, of_distribution, of_due

DEADLINE = {"kpi": "message_delay_s", "quantile": 0.99, "at_most": 1.0}


@pytest.mark.parametrize(
    ("judge", "question", "limit", "column"),
    [
        (DEADLINE, "99 % of the messages within 1 s?", "the deadline of 1 s", "message_delay_p99_s"),
        (
            {**DEADLINE, "quantile": 0.999, "at_most": 0.2},
            "99.9 % of the messages within 200 ms?",
            "the deadline of 200 ms",
            "message_delay_p99_9_s",
        ),
        (
            {"kpi": "delay_s", "quantile": 1.0, "at_most": 60.0},
            "Every message within 1 min?",
            "the deadline of 1 min",
            "delay_max_s",
        ),
        (
            {"kpi": "throughput_bps", "at_least": 2e6},
            "Throughput at least 2 Mbit/s?",
            "the limit of at least 2 Mbit/s",
            "throughput_bps",
        ),
        (
            {"kpi": "message_loss_ratio", "at_most": 0.01},
            "Messages lost at most 1 %?",
            "the limit of 1 %",
            "message_loss_ratio",
        ),
    ],
)
def test_it_reads_as_people_ask_it(judge: dict[str, object], question: str, limit: str, column: str) -> None:
    asked = Asked.of(judge)
    assert (asked.question, asked.limit, asked.column) == (question, limit, column)


def test_a_flow_that_failed_has_not_kept_it() -> None:
    deadline, rate = Asked.of(DEADLINE), Asked.of({"kpi": "throughput_bps", "at_least": 2e6})
    assert deadline.keeps(Observation(1.0), completed=True)
    assert not deadline.keeps(Observation(1.001), completed=True)
    assert not deadline.keeps(Observation(0.1), completed=False)
    assert not deadline.keeps(Observation(0.5, State.CENSORED), completed=True)
    assert not deadline.keeps(NEVER, completed=True)
    assert rate.keeps(Observation(2e6), completed=True)
    assert not rate.keeps(Observation(1.9e6), completed=True)
    assert not rate.keeps(Observation(9e6), completed=False)


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ({"kpi": "mesage_delay_s", "at_most": 1.0}, "did you mean 'message_delay_s'"),
        ({"kpi": "throughput_bps", "quantile": 0.5, "at_least": 1.0}, "throughput_bps has no quantiles"),
        ({"kpi": "throughput_bps", "at_most": 1.0}, "more is better; give at_least"),
        ({"kpi": "delay_p99_s", "at_least": 1.0}, "less is better; give at_most"),
    ],
)
def test_what_no_flow_can_answer_is_refused(judge: dict[str, object], words: str) -> None:
    with pytest.raises(UserError, match=words):
        check(judge)
    with pytest.raises(UserError, match=words):
        Asked.of(judge)


@pytest.mark.parametrize("level", [None, 0.99])
def test_a_name_that_only_has_quantiles_is_no_answer_to_itself(level: float | None) -> None:
    judge = {"kpi": "each_message_delay_s", "quantile": level, "at_most": 1.0}
    if level is not None:
        check(judge)
        return
    with pytest.raises(UserError, match="did you mean 'message_delay"):
        check(judge)


def test_a_quantile_of_what_was_due_counts_what_never_came_as_the_latest() -> None:
    """Of 100 messages 96 came, after 1, 2, ..., 96 s: three quarters of all are there after about 75 s."""
    kept = Kept(np.linspace(0, 1, 96), np.arange(1.0, 97.0))
    assert of_due(0.75, kept, arrived=0.96) == pytest.approx(1 + 95 * 0.75 / 0.96)
    assert of_due(0.96, kept, arrived=1 - 0.04) == pytest.approx(96.0)
    assert of_due(0.97, kept, arrived=0.96) == np.inf
    assert of_due(0.5, kept, arrived=0.0) == np.inf
    assert of_due(0.5, kept, arrived=1.0) == pytest.approx(48.5)


@given(
    delays_s=st.lists(st.integers(1, 9), min_size=1, max_size=40),
    never=st.integers(0, 5),
    bound=st.integers(0, 10),
    level=st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999, 1.0]),
)
def test_of_single_messages_a_bound_is_kept_exactly_where_that_share_of_them_keeps_it(
    delays_s: list[int], never: int, bound: int, level: float
) -> None:
    due = len(delays_s) + never
    kept = Kept.of_samples(np.sort(np.array(delays_s, float)))
    in_time = Fraction(sum(it <= bound for it in delays_s), due)
    value = of_due(level, kept, arrived=len(delays_s) / due)
    assert (value <= bound) == (in_time >= Fraction(str(level)))
    late = Quantity("each_message_delay_s", between=(float(np.nextafter(bound, 99)), np.inf))
    assert of_distribution(late, *kept) == pytest.approx(sum(it > bound for it in delays_s) / len(delays_s))
