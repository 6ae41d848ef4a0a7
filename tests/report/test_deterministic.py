"""Repetitions that are all the same are one; those that differ, or in which nothing arrived, are not."""

from collections.abc import Callable
from pathlib import Path

from gauntlet import report
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.trust import trust
from tests.report import flows
from tests.report.flows import Constructed, Did, Flow

Done = Callable[[str, int, int, float], Did]


def evaluation(folder: Path, done: Done, repetitions: int = 3, app: str = "bulk") -> Evaluation:
    made = Constructed(("tcp-cubic", "tcp-bbr"), done, repetitions, flows=(Flow(app),))
    return report.load(flows.build(folder / "r", folder / "s", made))


def alike(found: Evaluation, protocol: str = "tcp-bbr") -> bool:
    return found.deterministic(protocol, found.conditions[0])


def test_one_repetition_is_no_repeat(tmp_path: Path) -> None:
    assert not alike(evaluation(tmp_path, lambda *_: Did(20.0), repetitions=1))


def test_where_nothing_arrived_nothing_shows_that_nothing_was_drawn(tmp_path: Path) -> None:
    assert not alike(evaluation(tmp_path, lambda *_: Did(None), app="cbr"))


def test_one_number_of_the_last_repetition_is_enough_to_differ(tmp_path: Path) -> None:
    """As many bytes, completed alike; only the delay of the third repetition is another one."""

    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        slow = protocol == "tcp-bbr" and repetition == 3
        return Did(20.0, delay_s=0.051 if slow else 0.05)

    found = evaluation(tmp_path, did, app="cbr")
    assert not alike(found)
    assert alike(found, "tcp-cubic")
    (warning,) = [it for it in trust(found).warnings if it.startswith("Deterministic")]
    assert warning == (
        "Deterministic in 1 of 2 cells of the results: nothing was drawn, so all repetitions there are one."
    )


def test_what_one_repetition_completed_and_the_other_did_not_differs(tmp_path: Path) -> None:
    """The numbers are equal to the last: the flow failed after its last byte."""

    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(20.0, whole=repetition < 3)

    assert not alike(evaluation(tmp_path, did, app="cbr"))
