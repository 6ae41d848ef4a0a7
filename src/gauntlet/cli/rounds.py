"""How many repetitions `run` plays: those of the experiment, or with --until more and more of them."""

from collections.abc import Iterator
from pathlib import Path

from gauntlet.errors import UserError


def rounds(until: float | None, repetitions: int, at_most: int, out: Path) -> Iterator[tuple[int, int]]:
    """(look, repetitions) of each round: one of the experiment's repetitions, or with `until` those at which
    it is looked whether the means are known closely enough.

    The first look is at the experiment's repetitions, or at as many as tell protocols apart; looks that a
    folder is beyond already are passed over, and count. Raises UserError for bounds that cannot be.
    """
    if until is None:
        yield 1, repetitions
        return
    from gauntlet.experiment.schema import MAX_REPETITIONS
    from gauntlet.metrics.compare import fewest_repetitions
    from gauntlet.metrics.sequential import looks

    first, there = max(repetitions, fewest_repetitions()), _there(out)
    if until <= 0:
        raise UserError(
            "--until: no number of repetitions makes an interval vanish; give a share such as 5%."
        )
    if not max(first, there) <= at_most <= MAX_REPETITIONS:
        held = f", and {out} holds {there}" if there > first else ""
        raise UserError(
            f"--at-most: {at_most} repetitions cannot be the most: --until begins with {first}{held}; give "
            f"more, up to {MAX_REPETITIONS}."
        )
    yield from (it for it in looks(first, at_most) if it[1] >= there)


def _there(out: Path) -> int:
    """How many repetitions a results folder has begun; 0 where there is none."""
    from gauntlet.results import layout
    from gauntlet.results.reader import Results

    if not (out / layout.MANIFEST).exists():
        return 0
    return max((int(run.factors.get("repetition", 1)) for run in Results.open(out).runs()), default=0)
