"""What an experiment asks of a flow (`judge`): which quantity, its bound, and whether a flow keeps it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gauntlet import units
from gauntlet.errors import UserError
from gauntlet.experiment.strict import nearest
from gauntlet.metrics import tails
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.observation import Observation, State
from gauntlet.metrics.quantity import DISTRIBUTIONS, MESSAGES
from gauntlet.metrics.registry import registry


@dataclass(frozen=True)
class Asked:
    """A quantity and its bound."""

    kpi: Kpi
    """How it is shown, in a unit in which the bound is no small number."""
    bound: float
    named: str
    """The KPI as the experiment has it."""
    distribution: str | None = None
    """One of `DISTRIBUTIONS`, where a quantile is asked."""
    level: float | None = None
    """That quantile."""

    @classmethod
    def of(cls, judge: Mapping[str, Any]) -> "Asked":
        """Of a `judge` in base units. Raises UserError when it asks what no flow can answer."""
        check(judge)
        named, level = str(judge["kpi"]), judge.get("quantile")
        kpi = _known(named, level)
        bound = float(judge["at_least" if kpi.higher_is_better else "at_most"])
        return cls(_in_unit_of(kpi, bound), bound, named, None if level is None else MESSAGES[named], level)

    @property
    def column(self) -> str:
        """The column of the table of flows that is nearest to what is asked."""
        if self.level not in tails.TAILS:
            return self.named.removeprefix("each_")
        return tails.column(self.named.removeprefix("each_"), self.level)

    def keeps(self, seen: Observation, *, completed: bool) -> bool:
        """Whether a flow keeps the bound: one that failed does not, whatever it brought."""
        if not completed or seen.state != State.MEASURED:
            return False
        return seen.value >= self.bound if self.kpi.higher_is_better else seen.value <= self.bound

    @property
    def what(self) -> str:
        """The quantity in a sentence: p99; download time."""
        if self.level is not None:
            return tails.short(self.level)
        return self.kpi.label[0].lower() + self.kpi.label[1:]

    @property
    def limit(self) -> str:
        """The bound in a sentence: the deadline of 1 s; the limit of at least 2 Mbit/s."""
        value = self._bound
        if self.kpi.higher_is_better:
            return f"the limit of at least {value}"
        return f"the deadline of {value}" if self.kpi.shown_unit in ("s", "ms") else f"the limit of {value}"

    @property
    def question(self) -> str:
        """What is asked: 99 % of the messages within 1 s?"""
        value = self._bound
        if self.level == 1:
            return f"Every message within {value}?"
        if self.level is not None:
            return f"{100 * self.level:g} % of the messages within {value}?"
        return f"{self.kpi.label} {'at least' if self.kpi.higher_is_better else 'at most'} {value}?"

    @property
    def _bound(self) -> str:
        for end, form in (("_s", units.format_time), ("_bps", units.format_rate)):
            if self.named.endswith(end):
                return units.spaced(form(self.bound))
        return f"{self.bound * self.kpi.shown_factor:g} {self.kpi.shown_unit}".strip()


def check(judge: Mapping[str, Any]) -> None:
    """Whether flows can answer a `judge`, with or without bounds, of which only the names count. Raises
    UserError.
    """
    kpi = _known(str(judge["kpi"]), judge.get("quantile"))
    wanted, other = ("at_least", "at_most") if kpi.higher_is_better else ("at_most", "at_least")
    if other in judge and wanted not in judge:
        more = "more" if kpi.higher_is_better else "less"
        raise UserError(f"of {judge['kpi']} {more} is better; give {wanted}.")


def _known(named: str, level: float | None) -> Kpi:
    """Raises UserError for what there is not."""
    if level is None:
        if named not in registry():
            raise UserError(_no_kpi(named, list(registry())))
        return registry()[named]
    delays = [
        name for name in MESSAGES if name in DISTRIBUTIONS or tails.column(name, tails.TAILS[0]) in registry()
    ]
    if named in delays:
        return DISTRIBUTIONS[MESSAGES[named]][2]
    if named in registry():
        raise UserError(f"{named} has no quantiles; ask {', '.join(delays)} for them, or leave quantile out.")
    raise UserError(_no_kpi(named, delays))


def _no_kpi(named: str, known: Sequence[str]) -> str:
    """That there is none of this name, and which of the known ones is meant."""
    there = f"there is no KPI '{named}'"
    if close := nearest(named, known):
        return f"{there}; did you mean '{close}'?"
    if level := re.fullmatch(r"p(\d\d)(?:[._]?(\d))?", named):
        share = f"0.{level[1]}{level[2] or ''}"
        return f'{there}; did you mean kpi = "message_delay_s" with quantile = {share}?'
    if re.search("delay|latency|rtt|ping|deadline", named.lower()):
        return f"{there}; did you mean 'message_delay_s'?"
    return f"{there}; choose {', '.join(known)}."


def _in_unit_of(kpi: Kpi, bound: float) -> Kpi:
    """The same in seconds where the bound is some."""
    if kpi.shown_unit == "ms" and bound >= 1:
        return replace(kpi, shown_unit="s", shown_factor=1.0)
    return kpi
