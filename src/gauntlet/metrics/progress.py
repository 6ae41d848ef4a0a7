"""How far a campaign has come whose runs are not all there: repetition by repetition."""

from collections.abc import Mapping

from gauntlet.metrics.numbers import counted


def repetitions_there(there: Mapping[int, int], planned: int, repetitions: int) -> str:
    """Which repetitions are whole and what is missing, in one sentence; empty when nothing is.

    `there` are the runs that are there by repetition, `planned` all runs of the experiment and `repetitions`
    how often it plays each.
    """
    if sum(there.values()) >= planned:
        return ""
    each = planned // repetitions
    whole = sum(there.get(it, 0) >= each for it in range(1, repetitions + 1))
    begun = [(it, count) for it, count in sorted(there.items()) if 0 < count < each]
    verb = "is" if whole == 1 else "are"
    said = f"{whole} of {counted(repetitions, 'repetition')} {verb} whole"
    if len(begun) == 1:
        said += f", and of repetition {begun[0][0]} there are {begun[0][1]} of {counted(each, 'run')}"
    elif begun:
        runs = sum(count for _, count in begun)
        said += f", and of {len(begun)} others there are {runs} of {counted(each * len(begun), 'run')}"
    return f"{said}."
