"""What a KPI is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gauntlet.metrics.flow import FlowData


@dataclass(frozen=True)
class Kpi:
    """One number a flow (`of_flow`) or one a run (`of_flows`); None where it is not defined for it.

    `name` is the column and carries the SI unit; people are shown `value * shown_factor` in `shown_unit`.
    `definition` is the sentence that the report prints.
    """

    name: str
    label: str
    shown_unit: str
    shown_factor: float
    higher_is_better: bool
    definition: str
    least: float = 0.0
    most: float = float("inf")
    """The range in which the number can lie; intervals are cut off at its ends."""
    censored: bool = False
    """Whether it is a time until something is over: a flow in which it was not over has no number, and counts
    as one that took longer than the flow was given (`gauntlet.metrics.observation`).
    """
    over: str = "finished"
    """What flows did in which it was over, for people: 7 of 10 finished."""
    of_arrived: bool = False
    """Whether it is an average over what arrived. Of a flow that failed it is one over what went well; such a
    flow counts as one that took longer than it was given, or with the worst that there is.
    """
    of_tail: bool = False
    """Whether it is of the slowest messages, which pages show side by side and not each for itself."""
    of_nothing: float | None = None
    """The number of a flow that was never established, where that is one: throughput 0, all messages lost."""
    of_flow: Callable[[FlowData], float | None] | None = None
    of_flows: Callable[[Sequence[FlowData]], float | None] | None = None
