"""Which share of messages was late or lost, from distributions and counts with known answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest

from gauntlet.advice.classes import Need
from gauntlet.advice.grid import Variant
from gauntlet.advice.readings import Readings
from gauntlet.advice.serves import Condition
from gauntlet.errors import NotMeasured
from gauntlet.metrics.intervals import DETERMINISTIC
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.quantity import Quantity, of_distribution, shown
from gauntlet.metrics.selected import Selected
from gauntlet.metrics.steps import Floats

NEED = Need(
    words="in time",
    experiment="x",
    kpi="each_message_delay_s",
    quantile=0.99,
    losses=[0.0],
    delays_s=[0.025],
    most=0.5,
)
LEVELS = np.linspace(0, 1, 101)


@dataclass(frozen=True)
class Told(Readings):
    """Ten repetitions with one distribution of delays, and shares of what never came."""

    delays_s: Floats
    lost: Mapping[str, float] = field(default_factory=dict)
    deterministic: bool = False

    def kpi(self, need: Need) -> Kpi:
        return shown(Quantity(need.kpi, need.quantile), {})

    def completed(self, need: Need, protocol: str, condition: Condition) -> tuple[int, int]:
        return 10, 10

    def variants(self, need: Need) -> Mapping[Variant, Need]:
        return {Variant(): need}

    def read(self, need: Need, protocol: str, condition: Condition, of: Quantity) -> Selected:
        if of.kpi == need.kpi:
            value = of_distribution(of, LEVELS, self.delays_s)
        elif of.kpi in self.lost:
            value = self.lost[of.kpi]
        else:
            raise NotMeasured("nobody counted")
        return Selected(dict.fromkeys(range(1, 11), value), deterministic=self.deterministic)


def missed(told: Told, most: float = 0.5) -> float:
    tail = told.tail(NEED, "sctp", (0.025, 0.0), most)
    assert tail is not None and tail.missed is not None
    return tail.missed.value


@pytest.mark.parametrize(
    ("lost", "share"),
    [
        ({}, 0.2),
        ({"message_loss_ratio": 0.5}, 0.6),
        ({"message_failure_ratio": 0.1, "message_loss_ratio": 0.5}, 0.28),
    ],
)
def test_what_never_came_is_late_and_a_periodic_source_counts_its_own(
    lost: Mapping[str, float], share: float
) -> None:
    """Delays from 0 to 1 s: a fifth of those that came took longer than 0.8 s."""
    assert missed(Told(np.linspace(0, 1, 101), lost), 0.8) == pytest.approx(share)


def test_a_message_that_takes_exactly_as_long_as_it_may_is_in_time() -> None:
    alike = Told(np.full(101, 0.5))
    assert missed(alike) == 0.0
    assert missed(alike, 0.499) == 1.0


@pytest.mark.parametrize(
    ("delays_s", "most", "lost", "ends"),
    [
        (np.linspace(0, 1, 101), 0.805, {}, (0.19, 0.2)),
        (np.linspace(0, 1, 101), 0.805, {"message_loss_ratio": 0.5}, (0.595, 0.6)),
        (np.linspace(0, 1, 101), 2.0, {"message_loss_ratio": 0.5}, (0.5, 0.5)),
        (np.full(101, 0.5), 0.5, {}, (0.0, 0.0)),
        (np.full(101, 0.5), 0.4, {}, (1.0, 1.0)),
    ],
)
def test_what_the_share_is_at_least_and_at_most_is_told(
    delays_s: Floats, most: float, lost: Mapping[str, float], ends: tuple[float, float]
) -> None:
    """A hundredth of the messages lies between two kept quantiles."""
    tail = Told(delays_s, lost).tail(NEED, "sctp", (0.025, 0.0), most)
    assert tail is not None
    assert tail.missed_between == pytest.approx(ends)


def test_where_nothing_is_drawn_the_share_is_one_observation() -> None:
    tail = Told(np.linspace(0, 1, 101), deterministic=True).tail(NEED, "sctp", (0.025, 0.0), 0.8)
    assert tail is not None and tail.missed is not None
    assert (tail.missed.n, tail.missed.method) == (1, DETERMINISTIC)
