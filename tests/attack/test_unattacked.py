"""What attacks are held against is not lost to what else a machine does for a moment."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from gauntlet.attack import arena, unattacked
from gauntlet.attack.run import Client, Outcome, Run
from tests.attack.factory import outcome, run


@pytest.mark.parametrize(
    ("others_of_a_core", "played"),
    [((0.1, 0.1, 0.1), 1), ((0.4, 0.1, 0.1), 2), ((0.4, 0.6, 0.1), 3), ((0.4, 0.6, 0.5), 3)],
)
def test_a_disturbed_run_is_played_again(
    monkeypatch: pytest.MonkeyPatch, others_of_a_core: Sequence[float], played: int
) -> None:
    asked: list[Run] = []

    def play(quiet: Run, folder: Path | None) -> Outcome:
        asked.append(quiet)
        return outcome(
            quiet, [0.01] * quiet.client.requests, others_of_a_core=others_of_a_core[len(asked) - 1]
        )

    monkeypatch.setattr(arena, "play", play)
    got = unattacked.play(run(client_at_s=2.0), Client(20, 0.1, 5.0), None)
    assert len(asked) == played
    assert got.others_of_a_core == others_of_a_core[played - 1], "what comes of it is the last one's"
    assert {(it.attack, it.client_at_s, it.client.requests) for it in asked} == {(None, 0.0, 20)}
