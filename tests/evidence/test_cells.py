"""Trials counted by cell: what N trials without an unnoticed one allow, and where one rules the bound out."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gauntlet.evidence import cells
from gauntlet.evidence import verdict as words
from gauntlet.evidence.trials import Trial
from gauntlet.evidence.verdict import Verdict


@dataclass
class _Trial:
    verdict: Verdict
    factors: dict[str, Any]
    threat: str = "again"
    flow: int = 0
    identity: object = None
    reopens: bool = False
    run = SimpleNamespace(spec={"flows": [{"name": "authorities"}]}, plan={"flows": [{"id": "f0"}]})


def _trials(*verdicts: str, protocol: str = "udp", **about: Any) -> list[Any]:
    found = [
        _Trial(Verdict(verdict, **about), {"protocol": protocol, "repetition": number})
        for number, verdict in enumerate(verdicts)
    ]
    return cast(list[Trial], found)


def test_repetitions_are_one_cell_and_protocols_are_not() -> None:
    found = cells([*_trials(words.PREVENTED, words.PREVENTED), *_trials(words.PREVENTED, protocol="tcp")])
    assert [(cell.factors["protocol"], cell.trials) for cell in found] == [("udp", 2), ("tcp", 1)]
    assert found[0].factors["flow"] == "authorities"


def test_none_unnoticed_in_n_trials_bounds_the_share_at_three_over_n() -> None:
    (cell,) = cells(_trials(*[words.PREVENTED] * 400, *[words.SIGNALLED] * 600))
    assert cell.bound == 0.003
    # The rule of three is the first term of 1 - 0.05^(1/N).
    assert cell.bound == pytest.approx(1 - 0.05 ** (1 / 1000), rel=5e-3)
    (few,) = cells(_trials(words.PREVENTED))
    assert few.bound == 1.0


@pytest.mark.parametrize("verdict", words.NOT_NOTICED)
def test_one_that_nobody_noticed_leaves_no_bound(verdict: str) -> None:
    (cell,) = cells(_trials(*[words.PREVENTED] * 99, verdict))
    assert (cell.not_noticed, cell.bound) == (1, None)


def test_an_invalid_trial_is_told_and_not_counted() -> None:
    (cell,) = cells(_trials(words.PREVENTED, words.INVALID))
    assert (cell.trials, cell.verdicts[words.INVALID], cell.bound) == (1, 1, 1.0)
    (nothing,) = cells(_trials(words.INVALID))
    assert nothing.bound is None


def test_the_control_has_no_bound() -> None:
    (cell,) = cells([replace(trial, threat="none") for trial in _trials(*[words.UNDISTURBED] * 60)])
    assert (cell.control, cell.trials, cell.bound) == (True, 60, None)


def test_copies_of_one_trial_have_no_bound() -> None:
    """One that differs, or has bits drawn, is a second trial, and the others are still one."""
    copies = [replace(trial, identity="alike") for trial in _trials(*[words.PREVENTED] * 60)]
    (cell,) = cells(copies)
    assert (cell.copies, cell.distinct, cell.bound) == (True, 1, None)
    for identity in ("other", None):
        (cell,) = cells([*copies[1:], replace(copies[0], identity=identity)])
        assert (cell.copies, cell.distinct, cell.bound) == (False, 2, 1.0)
    (alone,) = cells(copies[:1])
    assert (alone.copies, alone.bound) == (False, 1.0)


def test_the_bound_counts_trials_that_are_no_copies() -> None:
    """A thousand trials of which there are three are three."""
    many = _trials(*[words.PREVENTED] * 1000)
    (cell,) = cells([replace(trial, identity=place % 3) for place, trial in enumerate(many)])
    assert (cell.trials, cell.distinct, cell.bound) == (1000, 3, 1.0)
    (drawn,) = cells(many)
    assert (drawn.distinct, drawn.bound) == (1000, 0.003)
    apart = [replace(trial, identity=place) for place, trial in enumerate(many[:60])]
    (half,) = cells([*apart, *apart])
    assert (half.trials, half.distinct, half.bound) == (120, 60, 0.05)


def test_detection_delays_are_of_signalled_trials() -> None:
    told = [
        trial
        for delay in (0.1, 0.4, 0.2)
        for trial in _trials(words.SIGNALLED, delay_s=delay, by="transport")
    ]
    (cell,) = cells([*told, *_trials(words.PREVENTED)])
    assert (cell.median_delay_s, cell.by["transport"]) == (0.2, 3)
