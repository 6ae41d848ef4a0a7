"""Windows: no byte is lost or counted twice between them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.metrics.kpis.throughput import throughput_bps
from gauntlet.metrics.steps import Steps
from gauntlet.metrics.windows import windows
from tests.metrics.flows import flow

INSTANTS = st.lists(st.floats(0, 15, allow_nan=False), min_size=1, max_size=60).map(sorted)


@given(received=INSTANTS, window_s=st.floats(0.05, 20), duration_s=st.floats(0.5, 14))
def test_windows_conserve_bytes_and_time(received: list[float], window_s: float, duration_s: float) -> None:
    some = flow([0.0] * len(received), list(received), duration_s=duration_s)
    rows = windows(some, window_s)
    assert rows is not None
    inside = sum(1000 for instant in received if round(instant * 1e9) <= round(duration_s * 1e9))
    assert rows["received_bytes"].sum() == inside
    assert rows["duration_s"].sum() == pytest.approx(duration_s)
    overall = throughput_bps(some)
    assert overall is not None
    weighted = (rows["throughput_bps"].astype(float) * rows["duration_s"].astype(float)).sum() / duration_s
    assert weighted == pytest.approx(overall, abs=8 * 1000 / duration_s * 1e-6)


def test_only_the_last_window_is_short() -> None:
    rows = windows(flow([0], [1], duration_s=2.5))
    assert rows is not None
    assert rows["duration_s"].tolist() == pytest.approx([1, 1, 0.5])


def test_losses_belong_to_the_window_in_which_they_were_sent() -> None:
    rows = windows(flow([0.5, 1.5, 1.6], [0.9, None, 2.1], duration_s=3))
    assert rows is not None
    assert rows["sent_messages"].tolist() == [1, 2, 0]
    assert rows["lost_messages"].tolist() == [0, 1, 0]
    assert rows["received_bytes"].tolist() == [1000, 0, 1000]
    assert rows["delay_max_s"].tolist() == pytest.approx([0.4, np.nan, 0.5], nan_ok=True)


@given(
    changes=st.lists(st.tuples(st.floats(0, 10), st.floats(0, 1e6)), min_size=1, max_size=8).map(sorted),
    cut=st.floats(0.1, 9.9),
)
def test_mean_of_steps_adds_up(changes: list[tuple[float, float]], cut: float) -> None:
    steps = Steps.of(changes)
    whole = steps.mean(np.array([0.0, 10.0]))[0]
    parts = steps.mean(np.array([0.0, cut, 10.0]))
    assert parts[0] * cut / 10 + parts[1] * (10 - cut) / 10 == pytest.approx(whole, rel=1e-9, abs=1e-6)
    assert steps.values.min() - 1e-6 <= whole <= steps.values.max() + 1e-6
