"""What settings change, told by an experiment that varies them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from gauntlet.advice.varied import within
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.registry import registry
from gauntlet.metrics.selected import Selected


@dataclass(frozen=True)
class Windows:
    """Transfers that take 30 s over the initial window, each repetition a little longer."""

    windows: Sequence[int]
    name: str = "windows"

    def factors(self) -> Mapping[str, Sequence[Any]]:
        return {"loss": [0.0], "initial_window_segments": self.windows}

    def label(self, factor: str, value: Any) -> str:
        return str(value)

    def transports(self) -> Sequence[str]:
        return ["tcp-cubic"]

    def judged_by(self) -> Sequence[Kpi]:
        return [registry()["download_time_s"]]

    def by_repetition(self, kpi: Kpi, protocol: str, chosen: Mapping[str, Any]) -> Selected:
        took_s = 30.0 / chosen["initial_window_segments"]
        return Selected({number: took_s + 0.01 * number for number in range(1, 7)})


@pytest.mark.parametrize(
    ("windows", "titles"),
    [
        (
            [3, 10, 30],
            [
                "Initial window 3 segments instead of 10 segments",
                "Initial window 30 segments instead of 10 segments",
            ],
        ),
        ([3, 30], ["Initial window 30 segments instead of 3 segments"]),
        ([10], []),
    ],
)
def test_other_values_are_held_against_the_usual_one(windows: list[int], titles: list[str]) -> None:
    found = list(within(Windows(windows)))
    assert [it.title for it in found] == titles
    for it in found:
        (effect,) = it.effects
        of, to = (int(text.removesuffix(" segments")) for text in (it.of, it.to))
        assert effect.ratio.value == pytest.approx(of / to, rel=0.05)
        assert it.verdict == ("better" if to > of else "worse")
